// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "jit/ir/poly.h"
#include "schedules/space/analysis/gpu.h"
#include "schedules/space/analysis/gpu_product.h"
#include "schedules/space/analysis/shape.h"
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

/// Columns of a tile up to which its time does not fall with them.
/// Fixed by: wgmma, which reads the rows' operand for each.
constexpr double kShortTile = 64;
/// Products of results by which an element's copy, written and read, is paid.
/// Tuned on: H200.
constexpr double kCopied = 400;

/// Time of tiles along a side of `extent`, as a multiple of the least: where no columns are idle.
double tile_time(int64_t extent) {
  const double columns = static_cast<double>((extent + 7) / 8 * 8);
  return std::max(columns, kShortTile) / static_cast<double>(extent);
}

/// True where windows move over the operand along `side`, which is short for tiles, and a copy with
/// a dim for each index pays. There, another index may go on where the side ends.
bool windows_over_short(const StageFacts& facts, const Access& a, const std::string& side) {
  const int d = ir::dim_along(a.indices, side);
  if (d < 0 || !plain_var(a.indices[static_cast<size_t>(d)]).empty()) return false;
  const int64_t extent = facts.extent(side);
  int64_t longest = extent;
  for (const auto& [var, stride] : a.strides) {
    const bool goes_on =
        var != side && facts.store.stride(var) != 0 && runs_on(facts.store, var, side, extent);
    if (goes_on) longest = std::max(longest, saturating_product(extent, facts.extent(var)));
  }
  const auto products = static_cast<double>(facts.points(facts.extents) / facts.points(a.strides));
  return products * (tile_time(extent) - tile_time(longest)) >= kCopied;
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

/// Makes a tensor of what the stage reads of another, with a dim for each index. Those that are
/// summed over come last: `k` after the others, or if it is "" in their order.
bool bring_by_index(Plan& plan, const std::string& name, const std::string& tensor,
                    const std::string& side, const std::string& k) {
  const ir::Stage s = plan.stage(name);
  const std::vector<ir::Expr> loads = loads_of(s, tensor);
  const std::vector<Part> parts = parts_of(s);
  const size_t place = loads.size() == 1 ? place_of(parts, loads[0]) : parts.size();
  if (place == parts.size()) return plan.declines("several loads read " + tensor);
  std::vector<LayoutAxis> layout;
  for (const ir::IndexVar& v : s.vars) {
    if (v.name != side && ir::mentions_var(loads[0], v.name)) layout.push_back({v.name});
  }
  layout.push_back({side});
  for (const ir::IndexVar& v : s.rvars) {
    if (v.name != k && ir::mentions_var(loads[0], v.name)) layout.push_back({v.name});
  }
  if (!k.empty()) layout.push_back({k});
  return plan.add(step::precompute(name, place, plan.fresh_stage(tensor + ".i"), layout));
}

/// Brings an operand as tiles take it: in their order, with a border of zeros where loads leave it.
/// `by_index`: then with a dim for each. False, and nothing changed, where that does not do.
bool bring(Plan& plan, const std::string& name, const Access& a, const std::string& side,
           const std::string& k, bool copied, bool by_index) {
  Plan::Mark before = plan.mark();
  std::string tensor = a.buffer;
  if (copied) {
    tensor = plan.fresh_stage(a.buffer + ".o");
    if (!plan.add(step::stage(a.buffer, {}, tensor, {.layout = layout_for(a, side, k)}))) {
      return false;
    }
  }
  bool done = true;
  for (const Access& now : std::vector(plan.facts(name).loads))
    done &= now.buffer != tensor || !now.guarded;
  if (done && by_index) done = bring_by_index(plan, name, tensor, side, k);
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
  if (const ir::Instruction* row = wgmma_instruction_for(plan.stage(name), plan.target(), true)) {
    const Product p = product_before_copies(plan, name, kVeryShortSide);
    if (!p.m.empty() && std::max(facts.extent(p.m), facts.extent(p.n)) >= row->rows) return p;
  }
  return product_before_copies(plan, name, kShortestSide);
}

/// Terms of a sum, over all of its indices.
int64_t terms_of(const ir::Stage& s, const StageFacts& facts) { return facts.points(s.rvars); }

/// For a sum without a long index: brings what windows or steps read with a dim for each index.
/// They lie in the sum's order, so that they may become one.
bool bring_short_sums(Plan& plan, const std::string& name, const Product& p) {
  const StageFacts facts = plan.facts(name);
  const ir::Stage s = plan.stage(name);
  bool any = false;
  for (const Access& a : facts.loads) {
    const auto one_dim_each = [&](const ir::IndexVar& v) {
      if (a.stride(v.name) == 0) return true;
      const int d = ir::dim_along(a.indices, v.name);
      return d >= 0 && plain_var(a.indices[static_cast<size_t>(d)]) == v.name;
    };
    if (std::all_of(s.rvars.begin(), s.rvars.end(), one_dim_each)) continue;
    const bool of_m = a.stride(p.m) != 0, of_n = a.stride(p.n) != 0;
    if (of_m == of_n) return plan.declines(a.buffer + " lies along both sides");
    const int64_t reads = facts.points(facts.extents) / copied(plan, facts, a, true);
    const bool often = reads >= kFewReads && terms_of(s, facts) >= kShortestSide;
    if (plan.decide(a.buffer + " by index", 2, often ? 1 : 0) == 0) {
      return plan.declines("it sums few terms along " + p.k);
    }
    if (!bring_by_index(plan, name, a.buffer, of_m ? p.m : p.n, "")) return false;
    any = true;
  }
  return any || plan.declines("it sums few terms along " + p.k);
}

bool apply_operands(Plan& plan, const std::string& name) {
  const ir::Stage s = plan.stage(name);
  if (!s.at.root()) return plan.declines("the stage is computed inside another");
  const StageFacts facts = plan.facts(name);
  const Product p = product_for_tiles(plan, name, facts);
  if (p.m.empty()) return plan.declines(p.missing);
  if (facts.extent(p.k) < kShortestSide) return bring_short_sums(plan, name, p);
  const bool tensor = instruction_for(s, plan.target(), true) != nullptr;
  plan.declines("its operands lie as tiles take them");
  Plan::Mark before = plan.mark();
  bool any = false;
  for (const Access& a : facts.loads) {
    const bool of_m = a.stride(p.m) != 0, of_n = a.stride(p.n) != 0;
    if (of_m == of_n || a.stride(p.k) == 0) continue;
    const std::string& side = of_m ? p.m : p.n;
    const std::string why = lies_badly(plan, facts, a, side, p.k);
    const bool steps = in_steps(a, side, p.k), needed = steps || a.guarded;
    const bool by_index =
        steps || (plan.decide(a.buffer + " by index", 2,
                              tensor && windows_over_short(facts, a, side) ? 1 : 0) == 1);
    if (why.empty() && !by_index) continue;
    const int64_t reads = facts.points(facts.extents) / copied(plan, facts, a, by_index);
    const bool alone = !beside(a, p.k) && !beside(a, side);  // tensor instructions take none such
    const bool often = reads >= (needed || alone ? kFewReads : kReads);
    const bool chosen = plan.decide(a.buffer + " in the order of tiles", 2, often ? 1 : 0) == 1;
    if (chosen && bring(plan, name, a, side, p.k, !why.empty(), by_index)) {
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
    "is read in steps, or by windows along a short side, gets a dim for each index.",
    apply_operands,
};

}  // namespace hone::schedules
