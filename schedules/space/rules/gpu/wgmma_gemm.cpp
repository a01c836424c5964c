// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "schedules/space/analysis/gpu.h"
#include "schedules/space/analysis/gpu_gemm.h"
#include "schedules/space/analysis/shape.h"
#include "schedules/space/rules/rule.h"
#include "schedules/steps/edit.h"

namespace hone::schedules {
namespace {

/// Rows of an instruction, threads of a warpgroup, and bytes of a swizzled row of an operand.
/// Fixed by: wgmma.
constexpr int64_t kWgmmaRows = 64, kGroupThreads = 128, kRowBytes = 128;
/// Blocks that fill a large GPU, and those of a cluster.
/// Tuned on: no GPU; reckoned for an H100.
constexpr int64_t kWgmmaBlocks = 128, kCluster = 2;
/// Columns of a tile up to which several blocks share a multiprocessor's registers.
/// Tuned on: no GPU; reckoned for an H100.
constexpr int64_t kNarrow = 64;

/// A product and how it is cut. The tuner may choose other numbers.
struct WgmmaTile : Gemm {
  Number groups;                            ///< warpgroups of a block, one below the other
  Number rows;                              ///< results of a warpgroup along m
  Number columns;                           ///< results of a block along n
  int64_t terms = 0;                        ///< of the sum, at a time
  std::string step;                         ///< the loop over these parts of the sum
  int64_t depth = 2;                        ///< of the pipeline
  int64_t blocks = 0;                       ///< that there is work for
  int64_t at_once = 1;                      ///< of them on a multiprocessor
  int64_t tile_rows = 0, tile_columns = 0;  ///< of a block
  int64_t below = 0;                        ///< tiles one below the other
  int64_t beside = 0;                       ///< and side by side
  int64_t group = 1;       ///< rows of tiles whose columns come before the next rows'
  bool tma = false;        ///< operands come by TMA, started by threads of their own
  bool shared = false;     ///< neighbouring blocks may bring one another what both multiply by
  bool clustered = false;  ///< and do
};

/// The depth of a pipeline, one that its knob offers; shared memory holds `most` iterations.
int64_t depth_for(int64_t most) {
  for (int64_t depth : {8, 6, 4, 3}) {
    if (depth <= most) return depth;
  }
  return 2;
}

/// Columns of an instruction, at most `most`: as many as leave fewest of them past `extent`.
int64_t columns_for(int64_t extent, int64_t most) {
  int64_t best = 0, fewest = 0;
  for (const int64_t columns : ir::side_by_side()) {
    if (columns > most || 2 * columns <= std::min(extent, most)) continue;
    const int64_t all = (extent + columns - 1) / columns * columns;
    if (best == 0 || all <= fewest) best = columns, fewest = all;
    if (columns >= extent) break;
  }
  return best;
}

/// Tiles as large as leave work for the whole GPU, and as many steps ahead as shared memory holds.
void choose_wgmma_sizes(Plan& plan, WgmmaTile& t) {
  const StageFacts facts = plan.facts(t.name);
  const int64_t m = facts.extent(t.m), n = facts.extent(t.n);
  struct Tile {
    int64_t groups, columns;
  };
  constexpr Tile kTiles[] = {{2, 256}, {2, 128}, {1, 128}, {1, 64}};
  Tile tile = kTiles[0];
  for (const Tile& next : kTiles) {
    tile = {next.groups, columns_for(n, next.columns)};
    const int64_t rows = kWgmmaRows * tile.groups;
    t.tile_rows = rows;
    t.tile_columns = tile.columns;
    t.below = (m + rows - 1) / rows;
    t.beside = (n + tile.columns - 1) / tile.columns;
    t.blocks = t.count * t.below * t.beside;
    if (rows < 2 * m && t.blocks >= filling(plan, kWgmmaBlocks)) break;
  }
  const auto knob = [&](const char* name, std::vector<int64_t> domain, int64_t value) {
    return plan.knob(knob_name(name, t.name), std::move(domain), value);
  };
  t.rows = knob("rows", {kWgmmaRows, 2 * kWgmmaRows}, kWgmmaRows);
  t.groups = knob("groups", {1, 2}, tile.groups);
  std::vector<int64_t> widths = {8, 16, 32, 64, 128, 256};
  if (std::find(widths.begin(), widths.end(), tile.columns) == widths.end()) {
    widths.insert(std::lower_bound(widths.begin(), widths.end(), tile.columns), tile.columns);
  }
  t.columns = knob("columns", std::move(widths), tile.columns);
  t.terms = kRowBytes / size_of(t.row->a);
  const int64_t bytes = (kWgmmaRows * tile.groups + tile.columns) * kRowBytes;
  // What the registers of as many blocks hold.
  const int64_t most = tile.groups > 1 ? 1 : tile.columns > kNarrow ? 2 : 4;
  t.at_once = std::clamp<int64_t>(t.blocks / filling(plan, kWgmmaBlocks), 1, most);
  t.depth = depth_for(operand_bytes(plan) / t.at_once / bytes);
}

/// Whether it is known before the call how many tiles are one below the other.
bool known_below(const Plan& plan, const WgmmaTile& t) {
  return ir::is_const(extent_of(plan.stage(t.name), t.m + ".b"));
}

/// Heights that a group of tiles may have, in rows of tiles. They keep the operands that blocks
/// read at a time small, and divide all rows, because groups are alike.
std::vector<int64_t> groups_of(const Plan& plan, const WgmmaTile& t) {
  std::vector<int64_t> out;
  if (!known_below(plan, t)) return out;
  for (int64_t rows : {2, 4, 8, 16}) {
    if (t.below % rows == 0) out.push_back(rows);
  }
  return out;
}

/// Runs neighbouring blocks, whose tiles lie one below the other or side by side, as clusters,
/// which share the operand that both multiply by.
bool share_operands(Plan& plan, WgmmaTile& t, bool below, const std::string& blocks) {
  const int64_t tiles = below ? t.below : t.beside;
  if (!t.shared || tiles % kCluster != 0) return true;
  for (const Access& a : std::vector(plan.facts(t.name).loads)) {
    if (a.gathers) return true;  // a launch that stops at bad data has no clusters
  }
  const int64_t both = below ? t.tile_columns : t.tile_rows;
  const bool many =
      t.blocks >= filling(plan, kWgmmaBlocks) && 4 * both >= t.tile_rows + t.tile_columns;
  if (plan.decide("neighbouring blocks bring one another operands", 2, many ? 1 : 0) == 0) {
    return true;
  }
  t.clustered = true;
  return plan.add(step::cluster({t.name, blocks}, kCluster));
}

/// A block for each tile.
bool bind_tiles(Plan& plan, WgmmaTile& t, std::vector<std::string> loops) {
  loops = fuse_loops(plan, t.name, loops);
  loops.insert(loops.end(), {t.m + ".b", t.n + ".b"});
  const bool below = known_below(plan, t) && t.below % kCluster == 0;
  return bind_blocks(plan, t.name, loops) &&
         share_operands(plan, t, below, loops[loops.size() - (below ? 2 : 1)]);
}

/// A persistent grid: as many blocks as run at a time. Each takes its share of the tiles, and its
/// copies go on between them.
bool bind_rounds(Plan& plan, WgmmaTile& t, std::vector<std::string> loops) {
  const std::vector<std::string> all = fuse_loops(plan, t.name, std::move(loops));
  const std::string block = "block";
  if (all.size() != 1) return plan.declines("loops over tiles do not fuse into one of rounds");
  return plan.add(
             step::split({t.name, all[0]}, t.at_once * multiprocessors(plan), "round", block)) &&
         plan.add(step::bind({t.name, block}, ir::Mark::kBlockX)) &&
         share_operands(plan, t, t.group > 1, block);
}

/// Steps of a tile's sum.
int64_t steps_of(const Plan& plan, const WgmmaTile& t) {
  const StageFacts& facts = plan.facts(t.product);
  const int64_t terms = kRowBytes / size_of(t.row->a);
  int64_t steps = 1;
  for (const ir::IndexVar& v : plan.stage(t.product).rvars) {
    const int64_t extent = std::max<int64_t>(1, facts.extent(v.name));
    steps = saturating_product(steps, v.name == t.of.k ? (extent + terms - 1) / terms : extent);
  }
  return steps;
}

/// Cuts the owner's loops into blocks and the warpgroups of a block.
bool cut_wgmma(Plan& plan, WgmmaTile& t) {
  const std::string &m = t.m, &n = t.n;
  if (!plan.add(step::split({t.name, m}, t.rows * t.groups, m + ".b", m + ".i", ir::Tail::kPad)) ||
      !plan.add(step::split({t.name, m + ".i"}, t.rows.again(), m + ".w", m + ".r")) ||
      !plan.add(step::split({t.name, n}, t.columns, n + ".b", n + ".i", ir::Tail::kPad))) {
    return false;
  }
  const bool many = t.blocks >= 2 * t.at_once * multiprocessors(plan) && steps_of(plan, t) > 1;
  const bool rounds = t.tma && plan.decide("as many blocks as run at a time", 2, many ? 1 : 0);
  std::vector<std::string> tiles = {m + ".b", n + ".b"};
  const std::vector<int64_t> groups = rounds ? groups_of(plan, t) : std::vector<int64_t>();
  if (!groups.empty()) {
    t.group = groups.back();
    const Number group = plan.knob(knob_name("group", t.name), groups, t.group);
    if (!plan.add(step::split({t.name, m + ".b"}, group, m + ".g", m + ".c"))) return false;
    tiles = {m + ".g", n + ".b", m + ".c"};
  }
  std::vector<std::string> blocks = t.others;
  blocks.insert(blocks.end(), tiles.begin(), tiles.end());
  std::vector<std::string> outer = blocks;
  outer.push_back(m + ".w");
  return order_loops(plan, t.name, outer, {m + ".r", n + ".i"}) &&
         (rounds ? bind_rounds(plan, t, blocks) : bind_tiles(plan, t, t.others)) &&
         plan.add(step::bind({t.name, m + ".w"}, ir::Mark::kThreadY));
}

/// Puts a factor's part of a tile into shared memory, in the order of memory. Rows of 128 bytes run
/// along the sum, or along `side` where the factor's neighbours lie along that.
bool share_wgmma(Plan& plan, const WgmmaTile& t, const ir::Expr& factor, const std::string& side) {
  const ir::Buffer b = *plan.program().buffer(factor->name);
  const std::vector<size_t> dims = by_stride(plan, b);
  const std::string along = dim_along(factor, side), sum = dim_along(factor, t.of.k);
  const std::string last = dim_name(dims.back());
  const bool transposed = last == along;
  if (!transposed && last != sum) {
    return plan.declines("neighbours of " + b.name + " lie along neither " + side + " nor " +
                         t.of.k);
  }
  if (transposed && size_of(b.type) != 2) {
    return plan.declines("wgmma takes " + b.name + " along " + side + " by elements of two bytes");
  }
  const std::string copy = b.name + ".shared";
  const std::string before = transposed ? sum : along;
  CopyOptions options{ir::Space::kSharedMemory, 0, true, {}};
  std::vector<LayoutAxis>& layout = options.layout;
  std::vector<std::string> loops;
  for (size_t d : dims) {
    const std::string dim = dim_name(d);
    if (dim == along || dim == sum) continue;
    layout.push_back({dim});
    loops.push_back(dim);
  }
  loops.push_back(before);
  loops.push_back(last);
  const int64_t run = kRowBytes / size_of(b.type);
  if (transposed) {
    layout.insert(layout.end(), {{last, run, {}}, {before}, {last, 1, run}});
  } else {
    layout.insert(layout.end(), {{before}, {last}});
  }
  if (!plan.add(step::stage(b.name, {t.tile, t.step}, copy, std::move(options)))) return false;
  if (t.tma) return plan.add(step::tma(copy));
  return copy_words(plan, copy, loops, t.groups.again(), kGroupThreads);
}

/// The tile's loops: steps of the sum, over all that it runs over, each of whole instructions.
bool fill_wgmma(Plan& plan, WgmmaTile& t) {
  const Product& p = t.of;
  const auto at = [&](const std::string& loop) { return ir::Place{t.tile, loop}; };
  if (!plan.add(step::split(at(p.k), t.terms, "k.o", "k.i", ir::Tail::kPad)) ||
      !plan.add(step::split(at("k.i"), t.row->group, "k.s", "k.t")) ||
      !plan.add(step::split(at(p.m), kWgmmaRows, "m.o", "m.t")) ||
      !plan.add(step::split(at(p.n), t.columns.again(), "n.o", "n.t"))) {
    return false;
  }
  if (!order_loops(plan, t.tile, p.others, {"k.o", "k.s", "m.o", "n.o", "m.t", "n.t", "k.t"},
                   p.k)) {
    return false;
  }
  std::vector<std::string> steps;
  for (const ir::IndexVar& v : plan.stage(t.tile).rvars) {
    if (v.name != p.k) steps.push_back(v.name);
  }
  steps.push_back("k.o");
  t.step = fuse_loops(plan, t.tile, steps).back();
  const Factors f = factors_by_side(plan, t);
  if (!f) return plan.declines(no_factors(plan, t));
  if (!share_wgmma(plan, t, f.a, p.m) || !share_wgmma(plan, t, f.b, p.n)) return false;
  const Number depth = plan.knob(knob_name("stages", t.name), {2, 3, 4, 6, 8}, t.depth);
  return plan.add(step::pipeline(at(t.step), depth)) &&
         (!t.tma || plan.add(step::specialize(at(t.step)))) && plan.add(step::unroll(at("k.s"))) &&
         plan.add(step::tensorize({at("m.t"), at("n.t"), at("k.t")}, *t.row));
}

bool build(Plan& plan, WgmmaTile& t) {
  choose_wgmma_sizes(plan, t);
  if (!cut_wgmma(plan, t) || !place_tile(plan, t, t.m + ".w") || !fill_wgmma(plan, t)) return false;
  if (!plan.add(step::lanes({t.name, t.m + ".r"}, {t.name, t.n + ".i"}, 2, "lane", 4))) {
    return false;
  }
  if (plan.facts(t.name).store.stride(t.n) == 1) {
    plan.add(step::vectorize({t.name, t.n + ".i.w"}));
  }
  plan.finish(t.name);
  plan.finish(t.product);
  return lowers(plan);
}

bool apply_wgmma(Plan& plan, const std::string& name) {
  WgmmaTile t;
  static_cast<Gemm&>(t) = wgmma_product(plan, name);
  if (!t.row) return plan.declines(t.of.missing);
  const bool large = plan.facts(name).extent(t.m) >= kWgmmaRows;
  if (plan.decide("a product by warpgroups", 2, large ? 1 : 0) == 0) {
    return plan.declines(large ? "it was decided to take no warpgroups"
                               : "index " + t.m + " is shorter than the rows of an instruction");
  }
  const Plan::Mark before = plan.mark();
  t.tma = t.shared = plan.decide("operands by TMA", 2, 1) == 1;
  while (true) {
    WgmmaTile built = t;
    if (build(plan, built)) return true;
    if (!t.tma) return false;
    plan.rewind(before);
    if (!built.clustered) t.tma = false;
    t.shared = false;
  }
}

}  // namespace

const Rule gpu::kWgmmaGemm = {
    "wgmma_gemm",
    "A product of types that an instruction of a warpgroup takes: tiles of results in the "
    "registers of warpgroups one below the other, operands in shared memory some steps ahead, from "
    "where the "
    "instruction reads them.",
    apply_wgmma,
};

}  // namespace hone::schedules
