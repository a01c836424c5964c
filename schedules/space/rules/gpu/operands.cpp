// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "schedules/space/analysis/gpu.h"
#include "schedules/space/analysis/gpu_product.h"
#include "schedules/space/rules/rule.h"

namespace hone::schedules {
namespace {

/// Reads of each element from which a copy pays.
/// Tuned on: no GPU; reckoned for an H200, whose products by tensor cores take the time of a copy
/// for about as many.
constexpr int64_t kReads = 64;
/// Bytes that rows of an operand are multiples of.
/// Fixed by: TMA.
constexpr int64_t kRowUnit = 16;

/// What moves along `var` in an operand: neighbours in memory, by one.
bool beside(const Access& a, const std::string& var) { return a.stride(var) == 1; }

/// Bytes between rows of an operand whose neighbours lie along `along`, where some are no multiple
/// of what copies take; else 0.
int64_t odd_row(const StageFacts& facts, const Access& a, const std::string& along, int64_t size) {
  for (const auto& [var, stride] : a.strides) {
    if (var != along && facts.extent(var) > 1 && stride * size % kRowUnit != 0) {
      return stride * size;
    }
  }
  return 0;
}

/// Why an operand is brought in another order; "" where it lies well.
std::string lies_badly(const Plan& plan, const StageFacts& facts, const Access& a,
                       const std::string& side, const std::string& k) {
  if (a.guarded) return "a load may leave it";
  const int64_t size = size_of(plan.program().buffer(a.buffer)->type);
  if (!beside(a, k) && (!beside(a, side) || size == 1)) return "its neighbours lie otherwise";
  const bool even = facts.extent(k) * size % kRowUnit == 0;
  if (size <= 2 && even && odd_row(facts, a, beside(a, k) ? k : side, size)) {
    return "its rows begin anywhere";
  }
  return {};
}

/// Dims of an operand, those along the side and then those along the sum last.
std::vector<LayoutAxis> layout_for(const Access& a, const std::string& side, const std::string& k) {
  std::vector<LayoutAxis> parts[3];
  for (size_t d = 0; d < a.indices.size(); ++d) {
    const auto moves = [&](const std::string& var) { return ir::mentions_var(a.indices[d], var); };
    parts[moves(k) ? 2 : moves(side) ? 1 : 0].push_back({dim_name(d)});
  }
  std::vector<LayoutAxis> out;
  for (std::vector<LayoutAxis>& part : parts) out.insert(out.end(), part.begin(), part.end());
  return out;
}

/// Copies the operand, with a border of zeros where loads leave it. False, and nothing changed,
/// where that does not do.
bool bring_in_order(Plan& plan, const std::string& name, const Access& a, const std::string& side,
                    const std::string& k) {
  Plan::Mark before = plan.mark();
  const std::string copy = plan.fresh_stage(a.buffer + ".o");
  bool done = plan.add(step::stage(a.buffer, {}, copy, {.layout = layout_for(a, side, k)}));
  if (done) {
    for (const Access& now : plan.facts(name).loads) done &= now.buffer != copy || !now.guarded;
  }
  if (!done) plan.rewind(std::move(before));
  return done;
}

bool apply_operands(Plan& plan, const std::string& name) {
  const ir::Stage s = plan.stage(name);
  if (!s.at.root()) return plan.declines("the stage is computed inside another");
  const Product p = product_of(plan, name, kShortestSide, true);
  if (p.m.empty()) return plan.declines(p.missing);
  const StageFacts facts = plan.facts(name);
  plan.declines("its operands lie as tiles take them");
  bool any = false;
  for (const Access& a : facts.loads) {
    const bool of_m = a.stride(p.m) != 0, of_n = a.stride(p.n) != 0;
    if (of_m == of_n || a.stride(p.k) == 0) continue;
    const std::string& side = of_m ? p.m : p.n;
    const std::string why = lies_badly(plan, facts, a, side, p.k);
    if (why.empty()) continue;
    const int64_t elements = facts.points(a.strides);
    const bool often = facts.points(facts.extents) / std::max<int64_t>(1, elements) >= kReads;
    if (plan.decide(a.buffer + " in the order of tiles", 2, often ? 1 : 0) == 0) {
      plan.declines(a.buffer + ": " + why + ", and it is read a few times");
      continue;
    }
    any |= bring_in_order(plan, name, a, side, p.k);
  }
  return any;
}

}  // namespace

const Rule gpu::kOperands = {
    "operands",
    "An operand of a product that tiles cannot take as it lies is copied first: its sum's index "
    "innermost, the index of its side before that, zeros around it where loads leave it.",
    apply_operands,
};

}  // namespace hone::schedules
