// SPDX-License-Identifier: Apache-2.0
#include "ops/params.h"

#include "ops/syntax.h"

namespace hone::ops {
namespace {

Role role_of(const Argument& a) {
  if (a.scalar) return Role::kScalar;
  if (a.role == ir::Role::kOutput) return Role::kOutput;
  return a.role == ir::Role::kInOut ? Role::kInOut : Role::kInput;
}

}  // namespace

std::vector<hone::Param> params_of(const Op& op) {
  std::vector<hone::Param> params;
  for (const Argument& a : op.definition->args) {
    hone::Param p;
    p.name = a.name;
    p.role = role_of(a);
    if (const ops::Param* type = op.definition->param(a.type)) {
      p.type = type->type;
      p.type_param = type->name;
    } else {
      p.type = dtype_named(a.type).value_or(DType::kF32);
    }
    for (const Term& extent : a.shape) p.shape.push_back({print(extent), -1});
    params.push_back(std::move(p));
  }
  return params;
}

}  // namespace hone::ops
