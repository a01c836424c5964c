// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <map>
#include <utility>

#include "schedules/space/analysis/align.h"
#include "schedules/space/analysis/axis.h"
#include "schedules/space/analysis/results_tile.h"
#include "schedules/space/analysis/shape.h"
#include "schedules/space/rules/rule.h"
#include "schedules/steps/edit.h"
#include "schedules/steps/narrow_sum.h"

namespace hone::schedules {
namespace {

/// Accumulators, a vector each, that hide the latency of an add.
/// Tuned on: Zen 5 (AVX-512).
constexpr int64_t kAccumulators = 4;

/// Makes all the loops but those named serial and in front, then vectorizes the last.
bool vector_last(Plan& plan, const std::string& stage, const std::string& loop) {
  return move_innermost(plan, stage, loop) && plan.add(step::vectorize({stage, loop}));
}

/// Terms of a reduction to one value that is one block, and of a block at most.
/// Tuned on: Zen 5 (AVX-512).
constexpr int64_t kOneBlock = 1 << 14, kMostBlock = 1 << 16;

/// Lanes of the partial results, `usual` unless the sums of lanes are narrower. `most`: the terms
/// for which they are.
struct PartialLanes {
  int64_t lanes, most;
};
PartialLanes partial_lanes(const Plan& plan, const std::string& name, int64_t extent,
                           int64_t usual) {
  const ir::Stage& s = plan.stage(name);
  const int64_t at_once = s.vars.empty() ? std::min(extent, kOneBlock / 2) : extent;
  for (const DType type : kNarrowSums) {
    const int64_t lanes = plan.lanes(type);
    const int64_t most =
        saturating_product(terms_in(type, plan.program(), s), lanes * kAccumulators);
    if (at_once <= most) return {lanes, most};
  }
  return {usual, kMostBlock};
}

/// A reduction to one value gives no loop to hold partial results in: blocks of it do, of up to
/// `most` terms.
std::string cut_in_blocks(Plan& plan, const std::string& name, const std::string& var,
                          int64_t width, int64_t most) {
  const int64_t extent = plan.facts(name).extent(var);
  int64_t block = extent;
  if (extent > std::min(kOneBlock, most)) {
    block = std::min({std::max(extent / 8, width), kMostBlock, most}) / width * width;
    // Blocks that divide spare the loops inside them a rest.
    for (int64_t b = block; b >= block / 4; b -= width) {
      if (extent % b == 0) {
        block = b;
        break;
      }
    }
  }
  const auto h = plan.split(name, var, block, ir::Tail::kPeel);
  if (h.outer.empty()) return {};
  const std::string partial = plan.fresh_stage(name + ".b");
  if (!plan.add(step::rfactor({name, h.outer}, partial))) return {};
  plan.finish(name);
  return partial;
}

/// The innermost loop over results that is not one of `inside`: the stage's partial results live in
/// it. The root: there is none.
ir::Place home_loop(const ir::Stage& s, const std::vector<std::string>& inside) {
  ir::Place loop;
  for (const ir::Loop& l : s.loops) {
    const bool in = std::find(inside.begin(), inside.end(), l.name) != inside.end();
    if (!in && !is_reduction(s, l.name)) loop = {s.name, l.name};
  }
  return loop;
}

/// Bytes that move along `var`.
int64_t bytes_along(const Plan& plan, const StageFacts& facts, const std::string& var) {
  int64_t bytes = 0;
  for (const Access& a : facts.loads) {
    if (a.stride(var) != 0) bytes += bytes_of(plan.program(), *plan.program().buffer(a.buffer));
  }
  return bytes;
}

/// Of the largest tensor that moves along `var`: its bytes, and those of a step.
std::pair<int64_t, int64_t> largest_along(const Plan& plan, const StageFacts& facts,
                                          const std::string& var) {
  std::pair<int64_t, int64_t> largest;
  for (const Access& a : facts.loads) {
    if (a.stride(var) == 0) continue;
    const ir::Buffer& b = *plan.program().buffer(a.buffer);
    const int64_t step = saturating_product(std::abs(a.stride(var)), size_of(b.type));
    largest = std::max(largest, {bytes_of(plan.program(), b), step});
  }
  return largest;
}

/// Splits the loops over results into tiles, and puts the loops of a tile inside the others. What
/// is read least often, since it is larger, moves along the outer ones, and is read in the order of
/// memory. The loops of a tile; none where a split is refused. `together`: steps of the reduction
/// that each iteration takes.
std::vector<std::string> cut_in_tiles(Plan& plan, const std::string& name,
                                      const std::vector<TileSide>& tile,
                                      std::map<std::string, int64_t> together) {
  const bool free = plan.stage(name).at.root() && !hosts_stages(plan, name);
  if (tile.empty() && !free) return {};
  const StageFacts facts = plan.facts(name);
  std::vector<std::string> outer, inner;
  for (const ir::IndexVar& v : plan.stage(name).vars) outer.push_back(v.name);
  const auto rank = [&](const std::string& var) {
    return std::pair(largest_along(plan, facts, var), bytes_along(plan, facts, var));
  };
  std::stable_sort(outer.begin(), outer.end(),
                   [&](const std::string& a, const std::string& b) { return rank(a) > rank(b); });
  for (const TileSide& side : tile) {
    const auto h = plan.split(name, side.var, side.results, ir::Tail::kPeel);
    if (h.outer.empty()) return {};
    std::replace(outer.begin(), outer.end(), side.var, h.outer);
    inner.push_back(h.inner);
  }
  std::vector<std::string> order = outer;
  order.insert(order.end(), inner.begin(), inner.end());
  for (const TileSide& side : tile) together[side.var] = side.results;
  for (std::string& loop : reduction_by_memory(plan, name, std::move(together))) {
    order.push_back(std::move(loop));
  }
  return order_loops(plan, name, order) ? inner : std::vector<std::string>();
}

/// The loops of a tile, those of partial results and those that add them up, are unrolled.
bool unroll_tile(Plan& plan, const std::vector<std::string>& stages,
                 const std::vector<std::string>& tile) {
  std::vector<ir::Place> loops;
  for (const std::string& stage : stages) {
    for (const std::string& loop : tile) loops.push_back({stage, loop});
  }
  return loops.empty() || plan.add(step::unroll(loops));
}

/// Iterations of a reduction loop that are all unrolled, where they share loads.
/// Tuned on: Zen 5 (AVX-512).
constexpr int64_t kFewSteps = 4;

/// A short loop of another reduced variable than `var`, along which some operand stays where it is.
/// Bytes with several elements do. "": there is none.
std::string sharing_loop(const Plan& plan, const std::string& stage, const std::string& var) {
  const ir::Stage& s = plan.stage(stage);
  const StageFacts& facts = plan.facts(stage);
  for (const ir::IndexVar& r : s.rvars) {
    const bool few = !r.lo && ir::is_const(r.hi) && facts.extent(r.name) <= kFewSteps;
    const bool stays = std::any_of(facts.loads.begin(), facts.loads.end(),
                                   [&](const Access& a) { return a.stride(r.name) == 0; });
    if (r.name != var && few && stays && plan.loop_of(stage, r.name) == r.name) return r.name;
  }
  return {};
}

bool factor_lanes(Plan& plan, const std::string& name, const std::string& var, int64_t usual) {
  const int64_t extent = plan.facts(name).extent(var);
  const PartialLanes partial = partial_lanes(plan, name, extent, usual);
  int64_t lanes = partial.lanes;
  // Lanes that no term reaches would only be added up in the end.
  while (lanes > 2 && lanes / 2 >= extent) lanes /= 2;
  std::vector<TileSide> tile = results_tile(plan, name).sides;
  // A row may be too short for as many accumulators.
  const int64_t vectors = std::max<int64_t>(extent / lanes, 1);
  if (tile.empty()) tile = side_by_side(plan, name, kAccumulators / vectors);
  int64_t results = 1;
  for (const TileSide& side : tile) results *= side.results;
  const int64_t accumulators = (kAccumulators + results - 1) / results;
  const int64_t width = lanes * std::min(accumulators, vectors);
  ir::Tail tail = ir::Tail::kPeel;
  std::string stage = name;
  if (plan.stage(name).vars.empty()) {
    stage = cut_in_blocks(plan, name, var, width, partial.most);
    if (stage.empty()) return false;
    const ir::Relation& blocks = plan.stage(stage).relations.back();
    if (extent % blocks.factor) tail = ir::Tail::kMask;
  }
  // Whether any is true is kept as a mask. A tile would hold bytes, made masks and back each time.
  if (plan.stage(stage).accumulate == DType::kBool) {
    if (!vector_last(plan, stage, plan.loop_of(stage, var))) return false;
    plan.finish(stage);
    return true;
  }
  const std::vector<std::string> inner = cut_in_tiles(plan, stage, tile, {{var, width}});
  if (inner.size() != tile.size()) return false;
  const auto h = plan.split(
      stage, var, plan.knob(knob_name("w", name), {lanes, 2 * lanes, 4 * lanes, 8 * lanes}, width),
      tail);
  if (h.outer.empty()) return false;
  const std::string sums = plan.fresh_stage(name + ".p");
  if (!plan.add(step::rfactor({stage, h.inner}, sums))) return false;
  if (!vector_last(plan, stage, h.inner)) return false;
  std::vector<std::string> inside = inner;
  inside.push_back(h.inner);
  const ir::Place home = home_loop(plan.stage(stage), inside);
  if (home.root()) return plan.declines("no loop over results is there to hold partial ones");
  if (!plan.add(step::compute({sums}, home, ir::Space::kRegisters))) return false;
  plan.finish(stage);
  plan.finish(sums);
  if (const std::string shared = sharing_loop(plan, sums, h.outer); !shared.empty()) {
    inside.insert(inside.begin(), shared);
    if (!plan.add(step::unroll({sums, shared}))) return false;
  }
  if (!order_loops(plan, sums, inside)) return false;
  return vector_last(plan, sums, h.inner) && unroll_tile(plan, {sums, stage}, inner);
}

/// Vectors of a row that are added up one by one, each on its own, rather than in a loop.
/// Tuned on: Zen 5 (AVX-512).
constexpr int64_t kStraight = 16;
/// Instructions that this may come to.
/// Tuned on: Zen 5 (AVX-512).
constexpr int64_t kLanesCode = 256;

/// True where the value of `s` depends on `var` other than by where it reads.
bool tests_var(const ir::Stage& s, const std::string& var) {
  const auto tests = [&](const auto& self, const ir::Expr& e) -> bool {
    if (e->op == ir::Op::kVar) return e->name == var;
    return e->op != ir::Op::kLoad && std::any_of(e->args.begin(), e->args.end(),
                                                 [&](const auto& a) { return self(self, a); });
  };
  return tests(tests, s.value);
}

/// The loop over `var` and the reduction loops around it that go on where it ends in every tensor,
/// as one loop, and its iterations.
std::string run_on(Plan& plan, const std::string& name, const std::string& var, int64_t& extent) {
  const StageFacts facts = plan.facts(name);
  std::string loop = var;
  extent = facts.extent(var);
  const ir::Stage s = plan.stage(name);
  for (const std::string& outer : run_of(s, facts, var)) {
    // Conditions on parts of one loop divide in each lane, which full vectors are not worth.
    const bool full = extent >= plan.lanes(widest_type(plan.program(), s));
    if (full && (tests_var(s, outer) || tests_var(s, loop))) break;
    const std::string fused = outer + "." + loop;
    if (!plan.add(step::fuse({name, outer}, {name, loop}, fused))) break;
    loop = fused;
    extent = saturating_product(extent, facts.extent(outer));
  }
  return loop;
}

/// True when the range of `var` ends within a vector at a place that only the call or the row
/// knows. Partial results in registers then cannot tell which lanes take part. Masks can tell where
/// a condition of the loops does.
bool ends_anywhere(const Plan& plan, const ir::Stage& s, const std::string& var) {
  const ir::IndexVar& v = *s.var(var);
  const bool data = ir::mentions_load(v.lo) || ir::mentions_load(v.hi);
  bool tested = false;
  ir::visit(s.where, [&](const ir::Expr& n) { tested |= n->op == ir::Op::kVar && n->name == var; });
  return data || (tested && !plan.target().has(ir::Isa::kAvx512));
}

bool apply_lanes(Plan& plan, const std::string& name) {
  const ir::Stage s = plan.stage(name);
  if (s.reduce == ir::Reduce::kNone) return plan.declines("the stage does not reduce");
  if (!s.relations.empty()) return plan.declines("its loops are split or fused already");
  const VectorAxis axis = vector_axis(plan, name, plan.facts(name).store, false);
  if (axis.var.empty()) return plan.declines("it has no index to run as vectors");
  if (!axis.reduction) {
    return plan.declines("vectors along " + axis.var + ", which is not reduced, cost less");
  }
  const int64_t lanes = plan.lanes(widest_type(plan.program(), s));
  const int64_t operations = plan.facts(name).operations + 1;
  const bool anywhere = ends_anywhere(plan, s, axis.var);
  int64_t extent = 0;
  const std::string loop = run_on(plan, name, axis.var, extent);
  const int64_t vectors = (extent + lanes - 1) / lanes;
  const bool few = vectors <= kAccumulators ||
                   (vectors <= kStraight && vectors * operations <= kLanesCode && !s.vars.empty());
  const bool alone = plan.stage(name).loops.size() == plan.stage(name).vars.size() + 1;
  const bool tiles = vectors > 1 && !results_tile(plan, name).sides.empty();
  if (loop != axis.var || anywhere || (few && alone && !tiles)) {
    if (!vector_last(plan, name, loop)) return false;
    plan.finish(name);
    return true;
  }
  return factor_lanes(plan, name, axis.var, lanes);
}

}  // namespace

const Rule cpu::kLanes = {
    "lanes",
    "A reduction along a contiguous axis keeps partial results in the lanes of a few vectors, "
    "which are added up at the end; axes that run on in memory are one.",
    apply_lanes,
};

}  // namespace hone::schedules
