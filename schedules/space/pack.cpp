// SPDX-License-Identifier: Apache-2.0
#include "schedules/space/pack.h"

#include <algorithm>

#include "schedules/space/shape.h"
#include "schedules/steps/edit.h"

namespace hone::schedules {
namespace {

/// Schedules the copy: one panel after another, its contiguous axis as vectors.
bool shape_copy(Plan& plan, const std::string& copy, size_t dim, const std::string& width) {
  const std::string var = "d" + std::to_string(dim);
  const auto h = plan.split(copy, var, width, "peel");
  if (h.outer.empty()) return false;
  std::vector<std::string> order{h.outer};
  for (const ir::IndexVar& v : plan.stage(copy).vars) {
    if (v.name != var) order.push_back(v.name);
  }
  order.push_back(h.inner);
  if (!order_loops(plan, copy, order)) return false;
  if (!plan.add("vectorize " + copy + "/" + h.inner)) return false;
  plan.finish(copy);
  return true;
}

}  // namespace

bool pays_to_pack(const Plan& plan, const std::string& stage, const Access& a) {
  const ir::Buffer& b = *plan.program().buffer(a.buffer);
  if (b.constant) return true;
  // A tensor that a near cache holds is read as fast where it lies.
  if (bytes_of(plan.program(), b) <= plan.target().l2 / 4) return false;
  int64_t step = 0;
  const StageFacts facts = plan.facts(stage);
  for (const auto& [var, stride] : a.strides) {
    if (plan.stage(stage).is_reduction_var(var)) step = std::max(step, stride);
  }
  constexpr int64_t kFar = 2048;
  return step * size_of(b.type) >= kFar;
}

bool pack(Plan& plan, const std::string& stage, const std::string& tensor, const std::string& var,
          const std::string& width) {
  const ir::Stage& s = plan.stage(stage);
  const std::vector<ir::Expr> loads = loads_of(s, tensor);
  if (loads.empty()) return false;
  std::string batch, reduced;
  size_t dim = loads[0]->args.size();
  for (size_t d = 0; d < loads[0]->args.size(); ++d) {
    const std::string index = plain_var(loads[0]->args[d]);
    const std::string name = "d" + std::to_string(d);
    if (index == var) {
      dim = d;
    } else {
      (s.is_reduction_var(index) ? reduced : batch) += "[" + name + "]";
    }
  }
  if (dim == loads[0]->args.size()) return false;
  std::string copy = tensor + ".p";
  while (!taken_stage(plan.program(), copy).empty()) copy += "p";
  const std::string d = "d" + std::to_string(dim);
  const std::string layout =
      batch + "[" + d + "/" + width + "]" + reduced + "[" + d + "%" + width + "]";
  if (!plan.add("stage " + tensor + " at root -> " + copy + " layout=" + layout)) return false;
  return shape_copy(plan, copy, dim, width);
}

}  // namespace hone::schedules
