// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "schedules/space/analysis/gpu.h"
#include "schedules/space/analysis/gpu_gemm.h"
#include "schedules/space/analysis/shape.h"
#include "schedules/space/rules/rule.h"

namespace hone::schedules {
namespace {

/// Threads of a block along each axis of its tile, and blocks that fill a large GPU.
/// Tuned on: no GPU; reckoned for an H100.
constexpr int64_t kSimtSide = 16, kSimtBlocks = 128;
/// Terms of the sum at a time, and steps of them under way: of small tiles, and of those that take
/// most registers.
/// Tuned on: H200.
constexpr int64_t kDepth = 16, kStages = 3, kLargeDepth = 8, kLargeStages = 4;

/// A sum of products and the results of a thread along each side.
struct SimtTile : Gemm {
  int64_t rows = 4, columns = 4;
  bool large() const { return rows * columns > 16; }
};

/// Results of a thread along a side: fewer where the side is short.
int64_t each_along(int64_t extent, int64_t most) {
  while (most > 1 && kSimtSide * most >= 2 * extent) most /= 2;
  return most;
}

/// Copies an operand's part of a tile, with neighbours in memory as neighbours. A side is cut where
/// a thread's accesses end, so that neighbouring threads read neighbouring words at a time. Rows
/// along the sum stand by the thread that reads them, padded against bank conflicts.
bool share_simt(Plan& plan, const SimtTile& t, const ir::Expr& factor, const std::string& side) {
  const ir::Buffer b = *plan.program().buffer(factor->name);
  const std::string along = dim_along(factor, side), sum = dim_along(factor, t.of.k);
  std::vector<std::string> loops;
  std::string last;
  CopyOptions options{ir::Space::kSharedMemory};
  std::vector<LayoutAxis>& layout = options.layout;
  for (size_t d : by_stride(plan, b)) {
    last = dim_name(d);
    if (last == along || last == sum) continue;
    loops.push_back(last);
    layout.push_back({last});
  }
  if (last != along && last != sum) {
    return plan.declines("neighbours of " + b.name + " lie along neither " + side + " nor " +
                         t.of.k);
  }
  const std::string before = last == along ? sum : along, copy = b.name + ".shared";
  loops.insert(loops.end(), {before, last});
  const int64_t words = kLongestAccess / size_of(b.type);
  const int64_t each = side == t.of.m ? t.rows : t.columns;
  if (last == sum) {
    layout.insert(layout.end(), {{along, 1, each}, {along, each, {}}, {sum}});
    options.pad = words;
  } else if (each > words) {
    layout.insert(layout.end(),
                  {{sum}, {along, words, each / words}, {along, each, {}}, {along, 1, words}});
  } else {
    layout.insert(layout.end(), {{sum}, {along}});
  }
  return plan.add(step::stage(b.name, {t.tile, "k.o"}, copy, std::move(options))) &&
         copy_words(plan, copy, loops, kSimtSide, kSimtSide);
}

/// Cuts the owner's loops into blocks, threads and what a thread computes.
bool cut_simt(Plan& plan, const SimtTile& t) {
  for (const auto& [v, each] : {std::pair(t.m, t.rows), std::pair(t.n, t.columns)}) {
    const std::string block = v + ".b", inside = v + ".i";
    if (!plan.add(step::split({t.name, v}, kSimtSide * each, block, inside, ir::Tail::kPad)) ||
        !plan.add(step::split({t.name, inside}, each, v + ".t", v + ".r"))) {
      return false;
    }
  }
  std::vector<std::string> outer = t.others;
  outer.insert(outer.end(), {t.m + ".b", t.n + ".b", t.m + ".t", t.n + ".t"});
  if (!order_loops(plan, t.name, outer, {t.m + ".r", t.n + ".r"})) return false;
  std::vector<std::string> blocks = fuse_loops(plan, t.name, t.others);
  blocks.push_back(t.m + ".b");
  blocks.push_back(t.n + ".b");
  return bind_blocks(plan, t.name, blocks) &&
         plan.add(step::bind({t.name, t.m + ".t"}, ir::Mark::kThreadY)) &&
         plan.add(step::bind({t.name, t.n + ".t"}, ir::Mark::kThreadX));
}

/// Sums the tile in registers, some iterations after operands are loaded. All terms at hand are
/// unrolled, so that loads from shared memory come before what uses them.
bool fill_simt(Plan& plan, const SimtTile& t) {
  const Product& p = t.of;
  const Number unrolled = plan.knob(knob_name("unrolled", t.name), {2, 4}, t.large() ? 2 : 4);
  const auto at = [&](const std::string& loop) { return ir::Place{t.tile, loop}; };
  if (!plan.add(
          step::split(at(p.k), t.large() ? kLargeDepth : kDepth, "k.o", "k.i", ir::Tail::kPad)) ||
      !plan.add(step::split(at("k.i"), unrolled, "k.s", "k.v"))) {
    return false;
  }
  if (!order_loops(plan, t.tile, p.others, {"k.o", "k.s", "k.v", p.m, p.n}, p.k)) return false;
  const Factors f = factors_by_side(plan, t);
  if (!f) return plan.declines(no_factors(plan, t));
  return share_simt(plan, t, f.a, p.m) && share_simt(plan, t, f.b, p.n) &&
         plan.add(step::pipeline(at("k.o"), plan.knob(knob_name("stages", t.name), {2, 3, 4},
                                                      t.large() ? kLargeStages : kStages))) &&
         plan.add(step::unroll({at("k.s"), at("k.v"), at(p.m), at(p.n)}));
}

bool apply_simt(Plan& plan, const std::string& name) {
  SimtTile t;
  static_cast<Gemm&>(t) = simt_product(plan, name);
  if (t.of.m.empty()) return plan.declines(t.of.missing);
  const StageFacts facts = plan.facts(name);
  const auto blocks = [&](int64_t side) {
    return t.count * ((facts.extent(t.m) + side - 1) / side) *
           ((facts.extent(t.n) + side - 1) / side);
  };
  if (plan.decide("a product's operands some steps ahead", 2, 1) == 0) {
    return plan.declines("its operands were decided not to come ahead");
  }
  const bool large = blocks(8 * kSimtSide) >= filling(plan, kSimtBlocks);
  const int64_t most = plan.decide("8 by 8 results to a thread", 2, large ? 1 : 0) == 1 ? 8 : 4;
  t.rows = each_along(facts.extent(t.m), most);
  t.columns = each_along(facts.extent(t.n), most);
  if (!cut_simt(plan, t) || !place_tile(plan, t, t.n + ".t", ir::Space::kRegisters) ||
      !fill_simt(plan, t))
    return false;
  const std::vector<ir::Place> columns = {{name, t.n + ".r"}};
  plan.add(step::unroll({name, t.m + ".r"}));
  plan.add(facts.store.stride(t.n) == 1 ? step::vectorize(columns) : step::unroll(columns));
  plan.finish(name);
  plan.finish(t.product);
  return lowers(plan);
}

}  // namespace

const Rule gpu::kSimtGemm = {
    "simt_gemm",
    "A sum of products of two tensors, each used again along one side: a tile of results in the "
    "registers of each thread, operands in shared memory some steps ahead, in words of 16 bytes on "
    "both ways.",
    apply_simt,
};

}  // namespace hone::schedules
