// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "schedules/space/gpu.h"
#include "schedules/space/gpu_tensor.h"
#include "schedules/space/rules.h"
#include "schedules/space/shape.h"

namespace hone::schedules {
namespace {

constexpr int64_t kRows = 64;              // of an instruction
constexpr int64_t kLanes = 128;            // of a warpgroup
constexpr int64_t kMultiprocessors = 132;  // of sm_90
constexpr int64_t kBlocks = 128;           // that fill a GPU
constexpr int64_t kRowBytes = 128;         // of operands in shared memory, swizzled
constexpr int64_t kShared = 200 * 1024;    // bytes of operands that a block holds

std::string text(int64_t n) { return std::to_string(n); }

/// A product and how it is cut: numbers, of which the tuner may choose others.
struct Wide : TensorProduct {
  std::string groups;   ///< warpgroups of a block, one below the other
  std::string rows;     ///< results of a warpgroup along m
  std::string columns;  ///< results of a block along n
  std::string depth;    ///< of the sum, at a time
  std::string stages;   ///< of the pipeline
  int64_t blocks = 0;   ///< that there is work for
  bool bulk = false;    ///< operands come by the copy engine, started by threads of their own
};

/// Stages of a pipeline, of which the tuner may choose, where shared memory holds so many.
int64_t stages_for(int64_t most) {
  for (int64_t stages : {8, 6, 4, 3}) {
    if (stages <= most) return stages;
  }
  return 2;
}

/// The fewest columns of an instruction that cover `extent`, of at most `most`.
int64_t columns_for(int64_t extent, int64_t most) {
  int64_t columns = 8;
  while (columns < extent && columns < most) columns *= 2;
  return columns;
}

/// Tiles as large as leave work for the whole GPU, and as many steps ahead as shared memory holds.
void choose_sizes(Plan& plan, Wide& t) {
  const StageFacts facts = plan.facts(t.name);
  const int64_t m = facts.extent(t.m), n = facts.extent(t.n);
  struct Tile {
    int64_t groups, columns;
  };
  constexpr Tile kTiles[] = {{2, 256}, {2, 128}, {1, 128}, {1, 64}};
  Tile tile = kTiles[0];
  for (const Tile& next : kTiles) {
    tile = {next.groups, columns_for(n, next.columns)};
    const int64_t rows = kRows * tile.groups;
    t.blocks = t.count * ((m + rows - 1) / rows) * ((n + tile.columns - 1) / tile.columns);
    if (rows < 2 * m && t.blocks >= kBlocks) break;
  }
  const auto knob = [&](const char* name, std::vector<int64_t> domain, int64_t value) {
    return plan.knob(knob_name(name, t.name), std::move(domain), value);
  };
  t.rows = knob("rows", {kRows, 2 * kRows}, kRows);
  t.groups = knob("groups", {1, 2}, tile.groups);
  t.columns = knob("columns", {8, 16, 32, 64, 128, 256}, tile.columns);
  t.depth = text(kRowBytes / size_of(t.row->a));
  const int64_t bytes = (kRows * tile.groups + tile.columns) * kRowBytes;
  const int64_t at_once = std::clamp<int64_t>(t.blocks / kBlocks, 1, tile.groups > 1 ? 1 : 2);
  t.stages = knob("stages", {2, 3, 4, 6, 8}, stages_for(kShared / at_once / bytes));
}

/// Binds loops to blocks: one for each iteration, or where there are several rounds of them, as
/// many as run at a time, of which each takes its share, its copies going on between iterations.
bool bind_grid(Plan& plan, const Wide& t, const std::vector<std::string>& loops) {
  const bool rounds = t.bulk && t.blocks >= 2 * kMultiprocessors;
  if (!t.bulk || plan.decide("as many blocks as run at a time", 2, rounds ? 1 : 0) == 0) {
    return bind_blocks(plan, t.name, loops);
  }
  const std::vector<std::string> all = fuse_loops(plan, t.name, loops);
  const std::string at = t.name + "/";
  return all.size() == 1 &&
         plan.add("split " + at + all[0] + " " + text(kMultiprocessors) + " -> round block") &&
         plan.add("bind " + at + "block block.x");
}

/// Cuts the owner's loops into blocks and the warpgroups of a block.
bool cut(Plan& plan, const Wide& t) {
  const std::string at = t.name + "/", split = "split " + at;
  if (!plan.add(split + t.m + " " + t.rows + "*" + t.groups + " -> " + t.m + ".b " + t.m +
                ".i tail=pad") ||
      !plan.add(split + t.m + ".i " + Plan::again(t.rows) + " -> " + t.m + ".w " + t.m + ".r") ||
      !plan.add(split + t.n + " " + t.columns + " -> " + t.n + ".b " + t.n + ".i tail=pad")) {
    return false;
  }
  std::string order = "reorder";
  const auto next = [&](const std::string& loop) { order += " " + at + loop; };
  for (const std::string& v : t.others) next(v);
  for (const std::string& v : {t.m + ".b", t.n + ".b", t.m + ".w"}) next(v);
  for (const ir::IndexVar& v : plan.stage(t.name).rvars) next(v.name);
  for (const std::string& v : {t.m + ".r", t.n + ".i"}) next(v);
  if (!plan.add(order)) return false;
  std::vector<std::string> blocks = fuse_loops(plan, t.name, t.others);
  blocks.push_back(t.m + ".b");
  blocks.push_back(t.n + ".b");
  return bind_grid(plan, t, blocks) && plan.add("bind " + at + t.m + ".w thread.y");
}

/// Puts a factor's part of a tile into shared memory as it lies in memory: rows of 128 bytes along
/// the sum, or where its neighbours lie along `side`, pieces of that many bytes, of each as many
/// rows as the sum has.
bool share(Plan& plan, const Wide& t, const ir::Expr& factor, const std::string& side) {
  const ir::Buffer b = *plan.program().buffer(factor->name);
  const std::vector<size_t> dims = by_stride(plan, b);
  const std::string along = dim_along(factor, side), sum = dim_along(factor, t.of.k);
  const std::string last = "d" + text(static_cast<int64_t>(dims.back()));
  const bool turned = last == along;
  if (!turned && last != sum) return false;
  if (turned && size_of(b.type) != 2) return false;
  const std::string copy = b.name + ".shared";
  const std::string before = turned ? sum : along;
  std::string layout;
  std::vector<std::string> loops;
  for (size_t d : dims) {
    const std::string dim = "d" + text(static_cast<int64_t>(d));
    if (dim == along || dim == sum) continue;
    layout += "[" + dim + "]";
    loops.push_back(dim);
  }
  loops.push_back(before);
  loops.push_back(last);
  const std::string run = text(kRowBytes / size_of(b.type));
  layout += turned ? "[" + last + "/" + run + "][" + before + "][" + last + "%" + run + "]"
                   : "[" + before + "][" + last + "]";
  if (!plan.add("stage " + b.name + " at " + t.tile + "/k.o -> " + copy +
                " in=shared swizzle=on layout=" + layout)) {
    return false;
  }
  if (t.bulk) return plan.add("bulk " + copy);
  return copy_words(plan, copy, loops, Plan::again(t.groups), kLanes);
}

/// The tile's loops: steps of the sum, each of whole instructions.
bool fill(Plan& plan, const Wide& t) {
  const Product& p = t.of;
  const std::string at = t.tile + "/", split = "split " + at;
  if (!plan.add(split + p.k + " " + t.depth + " -> k.o k.i tail=pad") ||
      !plan.add(split + "k.i " + text(t.row->group) + " -> k.s k.t") ||
      !plan.add(split + p.m + " " + text(kRows) + " -> m.o m.t") ||
      !plan.add(split + p.n + " " + Plan::again(t.columns) + " -> n.o n.t")) {
    return false;
  }
  std::string order = "reorder";
  const auto next = [&](const std::string& loop) { order += " " + at + loop; };
  for (const std::string& v : p.others) next(v);
  for (const ir::IndexVar& v : plan.stage(t.tile).rvars) {
    if (v.name != p.k) next(v.name);
  }
  for (const char* loop : {"k.o", "k.s", "m.o", "n.o", "m.t", "n.t", "k.t"}) next(loop);
  if (!plan.add(order)) return false;
  const Factors f = factors_by_side(plan, t);
  if (!f || !share(plan, t, f.a, p.m) || !share(plan, t, f.b, p.n)) return false;
  return plan.add("pipeline " + at + "k.o stages=" + t.stages) &&
         (!t.bulk || plan.add("specialize " + at + "k.o")) && plan.add("unroll " + at + "k.s") &&
         plan.add("tensorize " + at + "m.t " + at + "n.t " + at + "k.t " + t.row->name);
}

bool build(Plan& plan, Wide t) {
  choose_sizes(plan, t);
  if (!cut(plan, t) || !place_tile(plan, t, t.m + ".w") || !fill(plan, t)) return false;
  const std::string at = t.name + "/";
  if (!plan.add("lanes " + at + t.m + ".r " + at + t.n + ".i 2 -> lane warps=4")) return false;
  if (plan.facts(t.name).store.stride(t.n) == 1) plan.add("vectorize " + at + t.n + ".i.w");
  plan.finish(t.name);
  plan.finish(t.product);
  return lowers(plan);
}

bool apply(Plan& plan, const std::string& name) {
  Wide t;
  static_cast<TensorProduct&>(t) = wide_product(plan, name);
  if (!t.row) return false;
  const bool large = plan.facts(name).extent(t.m) >= kRows;
  if (plan.decide("a product by warpgroups", 2, large ? 1 : 0) == 0) return false;
  const Plan::Mark before = plan.mark();
  t.bulk = plan.decide("operands by the copy engine", 2, 1) == 1;
  if (build(plan, t)) return true;
  if (!t.bulk) return false;
  plan.rewind(before);
  t.bulk = false;
  return build(plan, std::move(t));
}

}  // namespace

const Rule kGpuWide = {
    "wide",
    "A product of types that an instruction of a warpgroup takes: tiles of results in the "
    "registers "
    "of warpgroups one below the other, operands in shared memory some steps ahead, from where the "
    "instruction reads them.",
    apply,
};

}  // namespace hone::schedules
