// SPDX-License-Identifier: Apache-2.0
#include "schedules/space/analysis/shape.h"
#include "schedules/space/analysis/transposed_parts.h"
#include "schedules/space/rules/rule.h"

namespace hone::schedules {
namespace {

bool apply_transpose_parts(Plan& plan, const std::string& name) {
  const ir::Stage s = plan.stage(name);
  if (s.reduce != ir::Reduce::kNone) return plan.declines("the stage reduces");
  if (s.vars.size() < 2) return plan.declines("the stage has fewer than two indices");
  const std::string v = contiguous_var(plan, name);
  if (v.empty() || plan.facts(name).store.stride(v) != 1) {
    return plan.declines("no index runs along memory in the result");
  }
  if (!s.loop(v)) return plan.declines("loop " + v + " is split or fused already");
  const TransposedParts parts = transposed_parts(plan, name, v);
  if (parts.values.empty()) return false;
  if (plan.decide("transpose parts of " + name, 2, 1) == 0) {
    return plan.declines("its loads were decided to be read lane by lane");
  }
  return transpose_parts(plan, name, parts);
}

}  // namespace

const Rule cpu::kTransposeParts = {
    "transpose_parts",
    "Parts of a value whose loads run along another axis than the store's are computed along "
    "theirs, square by square, and transposed in registers.",
    apply_transpose_parts,
};

}  // namespace hone::schedules
