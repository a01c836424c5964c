// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "jit/ir/poly.h"
#include "schedules/space/analysis/gpu.h"
#include "schedules/space/analysis/gpu_product.h"
#include "schedules/space/rules/rule.h"
#include "schedules/steps/parts.h"
#include "schedules/steps/tensor.h"

namespace hone::schedules {
namespace {

/// Reads of each element from which a copy pays: where there are no tiles without it, and where
/// tiles only take longer.
/// Tuned on: no GPU; reckoned from an H200's times of products with and without.
constexpr int64_t kFewReads = 8, kReads = 64;
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

/// True where an index moves an operand by more than an element of one dim, as the strides of
/// convolutions do.
bool in_steps(const Access& a, const std::string& side, const std::string& k) {
  return ir::dim_along(a.indices, side) < 0 || ir::dim_along(a.indices, k) < 0;
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

/// Makes a tensor of what the stage reads of another, with a dim for each index.
bool bring_by_index(Plan& plan, const std::string& name, const std::string& tensor,
                    const std::string& side, const std::string& k) {
  const ir::Stage s = plan.stage(name);
  const std::vector<ir::Expr> loads = loads_of(s, tensor);
  const std::vector<Part> parts = parts_of(s);
  const size_t place = loads.size() == 1 ? place_of(parts, loads[0]) : parts.size();
  if (place == parts.size()) return plan.declines("several loads read " + tensor);
  std::vector<LayoutAxis> layout;
  for (const ir::IndexVar& v : variables_in(s, loads[0])) {
    if (v.name != side && v.name != k) layout.push_back({v.name});
  }
  layout.insert(layout.end(), {{side}, {k}});
  return plan.add(step::precompute(name, place, plan.fresh_stage(tensor + ".i"), layout));
}

/// Brings an operand as tiles take it: in their order, with a border of zeros where loads leave it,
/// and then without steps. False, and nothing changed, where that does not do.
bool bring(Plan& plan, const std::string& name, const Access& a, const std::string& side,
           const std::string& k, bool copied) {
  Plan::Mark before = plan.mark();
  std::string tensor = a.buffer;
  if (copied) {
    tensor = plan.fresh_stage(a.buffer + ".o");
    if (!plan.add(step::stage(a.buffer, {}, tensor, {.layout = layout_for(a, side, k)}))) {
      return false;
    }
  }
  bool done = true;
  for (const Access& now : plan.facts(name).loads) done &= now.buffer != tensor || !now.guarded;
  if (done && in_steps(a, side, k)) done = bring_by_index(plan, name, tensor, side, k);
  if (!done) plan.rewind(std::move(before));
  return done;
}

/// Elements that the copies of an operand have.
int64_t copied(const Plan& plan, const StageFacts& facts, const Access& a, bool steps) {
  const ir::Buffer& b = *plan.program().buffer(a.buffer);
  const int64_t read = facts.points(a.strides);
  const int64_t all = bytes_of(plan.program(), b) / size_of(b.type);
  return std::max<int64_t>(1, steps ? read : std::min(read, all));
}

/// The product of two sides that some rule makes tiles of: one may be short for warpgroups.
Product product_for_tiles(const Plan& plan, const std::string& name, const StageFacts& facts) {
  const Product p = product_of(plan, name, kShortestSide, true);
  const ir::Instruction* row = wgmma_instruction_for(plan.stage(name), plan.target(), true);
  if (!p.m.empty() || !row) return p;
  const Product narrow = product_of(plan, name, kVeryShortSide, true);
  if (narrow.m.empty()) return p;
  return std::max(facts.extent(narrow.m), facts.extent(narrow.n)) >= row->rows ? narrow : p;
}

bool apply_operands(Plan& plan, const std::string& name) {
  const ir::Stage s = plan.stage(name);
  if (!s.at.root()) return plan.declines("the stage is computed inside another");
  const StageFacts facts = plan.facts(name);
  const Product p = product_for_tiles(plan, name, facts);
  if (p.m.empty()) return plan.declines(p.missing);
  if (facts.extent(p.k) < kShortestSide) return plan.declines("it sums few terms along " + p.k);
  plan.declines("its operands lie as tiles take them");
  Plan::Mark before = plan.mark();
  bool any = false;
  for (const Access& a : facts.loads) {
    const bool of_m = a.stride(p.m) != 0, of_n = a.stride(p.n) != 0;
    if (of_m == of_n || a.stride(p.k) == 0) continue;
    const std::string& side = of_m ? p.m : p.n;
    const std::string why = lies_badly(plan, facts, a, side, p.k);
    const bool steps = in_steps(a, side, p.k), needed = steps || a.guarded;
    if (why.empty() && !steps) continue;
    const int64_t reads = facts.points(facts.extents) / copied(plan, facts, a, steps);
    const bool often = reads >= (needed ? kFewReads : kReads);
    const bool chosen = plan.decide(a.buffer + " in the order of tiles", 2, often ? 1 : 0) == 1;
    if (chosen && bring(plan, name, a, side, p.k, !why.empty())) {
      any = true;
    } else if (needed) {
      // Without this one there are no tiles, and the others need no copies.
      plan.rewind(std::move(before));
      return plan.declines(a.buffer +
                           " stays as it lies: " + (steps ? "it is read in steps" : why));
    }
  }
  return any;
}

}  // namespace

const Rule gpu::kOperands = {
    "operands",
    "An operand of a product that tiles cannot take as it lies is copied first: its sum's index "
    "innermost, the index of its side before that, zeros around it where loads leave it. One that "
    "is read in steps gets a dim for each index.",
    apply_operands,
};

}  // namespace hone::schedules
