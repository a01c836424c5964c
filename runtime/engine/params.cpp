// SPDX-License-Identifier: Apache-2.0
#include "runtime/engine/params.h"

#include <algorithm>

#include "ops/params.h"

namespace hone::runtime {
namespace {

/// The value of an expression of dims; -1 where they are known at the call.
int64_t known(const ir::Expr& e) {
  int64_t value = -1;
  return ir::is_const(e, &value) ? value : -1;
}

void fill_tensor(const ParamPlan& plan, Param* p) {
  p->type = plan.type;
  p->align = plan.align;
  p->constant = plan.constant;
  p->cold = plan.cold;
  for (size_t i = 0; i < p->shape.size(); ++i) {
    p->shape[i].value = known(plan.extents[i]);
    p->strides.push_back(known(plan.strides[i]));
  }
}

template <class List>
auto named(const List& list, const std::string& name) {
  return std::find_if(list.begin(), list.end(), [&](const auto& x) { return x.name == name; });
}

}  // namespace

std::vector<Param> params_of(const ops::Problem& problem, const CallPlan& plan) {
  std::vector<Param> params = ops::params_of(problem.op);
  for (Param& p : params) {
    if (const auto scalar = named(plan.scalars, p.name); scalar != plan.scalars.end()) {
      p.type = scalar->type;
      p.align = size_of(p.type);
    }
    if (const auto tensor = named(plan.params, p.name); tensor != plan.params.end()) {
      fill_tensor(*tensor, &p);
    }
  }
  return params;
}

}  // namespace hone::runtime
