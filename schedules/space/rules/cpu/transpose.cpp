// SPDX-License-Identifier: Apache-2.0
#include "schedules/space/analysis/crossing.h"
#include "schedules/space/analysis/shape.h"
#include "schedules/space/rules/rule.h"

namespace hone::schedules {
namespace {

/// Sides of squares from which panels of four squares pay in caches.
/// Tuned on: Zen 5 (AVX-512).
constexpr int64_t kSquare = 16;

bool apply_transpose(Plan& plan, const std::string& name) {
  const ir::Stage s = plan.stage(name);
  if (s.reduce != ir::Reduce::kNone) return plan.declines("the stage reduces");
  if (s.vars.size() < 2) return plan.declines("the stage has fewer than two indices");
  if (s.where) return plan.declines("the stage has a `where`");
  const std::string v = contiguous_var(plan, name);
  const StageFacts facts = plan.facts(name);
  if (v.empty() || facts.store.stride(v) != 1) {
    return plan.declines("no index runs along memory in the result");
  }
  const std::optional<Crossing> crossing = crossing_of(plan, name, v);
  if (!crossing) return false;
  const std::string& tensor = crossing->tensor;
  const int64_t side = crossing->side;
  if (plan.decide("transpose " + tensor + " in registers", 2, 1) == 0) {
    return plan.declines(tensor + " was decided to be read as it lies");
  }
  std::vector<std::string> panels;
  const int64_t bytes = bytes_of(plan.program(), *plan.program().buffer(tensor));
  const bool large = bytes > plan.machine().l3 / 4;
  const bool pays = large || (bytes > plan.machine().l1d && side >= kSquare);
  if (plan.decide("transpose " + tensor + " by panels", 2, pays ? 1 : 0) == 1) {
    // A panel's lines stay in the L1; of large tensors its pages, of either, fit the TLB.
    const int64_t panel = (large ? 8 : 2) * side;
    for (const auto& [var, knob] : {std::pair{crossing->read, "pt"}, std::pair{v, "pv"}}) {
      const auto h = plan.split(
          name, var,
          plan.knob(knob_name(knob, name), {2 * side, 4 * side, 8 * side, 16 * side}, panel),
          ir::Tail::kPeel);
      if (h.outer.empty()) return false;
      panels.push_back(h.outer);
    }
  }
  return transpose_in_registers(plan, name, *crossing, panels);
}

}  // namespace

const Rule cpu::kTranspose = {
    "transpose",
    "A tensor read along another axis than the store's is transposed in registers, block by block.",
    apply_transpose,
};

}  // namespace hone::schedules
