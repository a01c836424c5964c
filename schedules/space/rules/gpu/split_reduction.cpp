// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "jit/ir/device_limits.h"
#include "schedules/space/analysis/align.h"
#include "schedules/space/analysis/gpu.h"
#include "schedules/space/analysis/gpu_product.h"
#include "schedules/space/analysis/gpu_reduce.h"
#include "schedules/space/analysis/shape.h"
#include "schedules/space/rules/rule.h"

namespace hone::schedules {
namespace {

/// Blocks with which a large GPU is busy, unless they are tiles of a product.
/// Tuned on: no GPU; reckoned for an H100.
constexpr int64_t kSplitBlocks = 1024;
/// Terms along a contiguous axis, and rows across it, that are worth a block.
/// Tuned on: no GPU; reckoned for an H100.
constexpr int64_t kSplitFewestTerms = 4096;
constexpr int64_t kFewestRows = 64;
/// Results up to which a reduction has a launch of its own, though rows are made from them.
/// Tuned on: no GPU; reckoned for an H100.
constexpr int64_t kFewBeside = 8;
/// Threads of a block along neighbouring columns.
/// Fixed by: a warp.
constexpr int64_t kSplitColumns = ir::DeviceLimits::kWarp;

/// Results of a tile of a product along each side, and terms of a part of it.
/// Tuned on: no GPU; reckoned for an H100.
constexpr int64_t kSplitSide = 64;
constexpr int64_t kFewestDeep = 128;
/// Bytes of a factor along the sum that a product takes at a time.
/// Fixed by: a swizzled row.
constexpr int64_t kDepthBytes = 128;

/// Terms of each of about `parts` parts of `extent`, whole units: a divisor of it if one is near.
int64_t terms_of(int64_t extent, int64_t parts, int64_t fewest, int64_t unit) {
  const int64_t least = std::max(fewest, (extent + parts - 1) / parts);
  const int64_t first = (least + unit - 1) / unit * unit;
  for (int64_t t = first; t < 2 * first; t += unit) {
    if (extent % t == 0) return t;
  }
  return first;
}

/// Tiles of the results of a product.
int64_t tiles_of(const Plan& plan, const std::string& name) {
  std::string stage;
  const Product p = product_at(plan, name, stage);
  const StageFacts& facts = plan.facts(name);
  int64_t tiles = 1;
  for (const ir::IndexVar& v : plan.stage(name).vars) {
    const bool side = v.name == p.m || v.name == p.n;
    const int64_t extent = std::max<int64_t>(1, facts.extent(v.name));
    tiles = saturating_product(tiles, side ? (extent + kSplitSide - 1) / kSplitSide : extent);
  }
  return tiles;
}

/// The reduced variable to cut, and the blocks that there would be without.
struct Cut {
  std::string var;
  int64_t blocks = 0;
  int64_t fewest = 0;    ///< of its values in a part
  int64_t unit = 1;      ///< that parts are multiples of, but for the last
  int64_t busy = 0;      ///< blocks that are wanted
  bool product = false;  ///< whose tiles are as many blocks
  bool rows = false;     ///< results are reduced from rows, not from columns
};

Cut cut_of(const Plan& plan, const std::string& name) {
  const ir::Stage& s = plan.stage(name);
  const StageFacts& facts = plan.facts(name);
  const int64_t results = facts.points(s.vars), terms = facts.points(s.rvars);
  Cut cut;
  cut.busy = filling(plan, kSplitBlocks);
  for (const ir::IndexVar& v : s.rvars) {
    if (cut.var.empty() || facts.extent(v.name) > facts.extent(cut.var)) cut.var = v.name;
  }
  if (cut.var.empty()) return cut;
  if (is_product(plan, name)) {
    cut.blocks = tiles_of(plan, name);
    cut.fewest = kFewestDeep;
    for (const Access& a : facts.loads) {
      cut.unit = std::max(cut.unit, kDepthBytes / size_of(plan.program().buffer(a.buffer)->type));
    }
    cut.busy = multiprocessors(plan);
    cut.product = true;
    return cut;
  }
  const int64_t others = terms / std::max<int64_t>(1, facts.extent(cut.var));
  if (!reduced_along(plan, name).loops.empty()) {
    cut.rows = true;
    cut.blocks = results;
    cut.fewest = std::max<int64_t>(1, kSplitFewestTerms / std::max<int64_t>(1, others));
    return cut;
  }
  const std::string last = contiguous_var(plan, name);
  const int64_t each = last.empty() ? 1 : vector_width(plan, name, {last}, {s.output});
  const int64_t columns = last.empty() ? 1 : facts.extent(last);
  cut.blocks = std::max<int64_t>(1, results / std::min(kSplitColumns * each, columns));
  const int64_t rows = kFewestRows * kSplitColumns / std::clamp<int64_t>(columns, 1, kSplitColumns);
  cut.fewest = std::max<int64_t>(1, rows / std::max<int64_t>(1, others));
  if (last.empty() || columns < 2) cut.var.clear();
  return cut;
}

/// Whether what is reduced is for rows that one launch could make from it.
bool for_rows(const Plan& plan, const std::string& name) {
  const ir::Stage& s = plan.stage(name);
  if (plan.program().buffer(s.output)->role != ir::Role::kTemp || s.vars.empty()) return false;
  for (size_t r : readers_of(plan.program(), s.output)) {
    if (alignment(s, plan.program().stages[r]).size() == s.vars.size()) return true;
  }
  return false;
}

bool apply_split_reduction(Plan& plan, const std::string& name) {
  const ir::Stage s = plan.stage(name);
  if (!s.at.root()) return plan.declines("the stage is computed inside another");
  if (s.reduce == ir::Reduce::kNone) return plan.declines("the stage does not reduce");
  if (s.where) return plan.declines("the stage has a `where`");
  const StageFacts facts = plan.facts(name);
  for (const Access& a : facts.loads) {
    if (a.gathers) return plan.declines("data choose where it reads " + a.buffer);
    if (a.guarded) return plan.declines("a load of " + a.buffer + " may leave it");
  }
  const Cut cut = cut_of(plan, name);
  if (cut.var.empty()) {
    return plan.declines(s.rvars.empty() ? "it reduces over no index"
                                         : "its terms do not lie along memory, nor do two results");
  }
  if (!facts.bounds.empty()) {
    return plan.declines("index " + *facts.bounds.begin() + " bounds what is reduced");
  }
  const int64_t extent = facts.extent(cut.var);
  const bool beside = cut.rows && for_rows(plan, name);
  const int64_t most = cut.busy / (cut.product ? 3 : 4);
  const bool few = cut.blocks <= (beside ? kFewBeside : most) && extent >= 4 * cut.fewest;
  if (plan.decide("a reduction with few results in parts", 2, few ? 1 : 0) == 0) {
    return plan.declines(few ? "it was decided to stay whole"
                         : extent < 4 * cut.fewest
                             ? "index " + cut.var + " has too few terms for parts of them"
                             : "its results are enough for the blocks of the GPU");
  }
  const int64_t parts = std::max<int64_t>(2, cut.busy / std::max<int64_t>(1, cut.blocks));
  const int64_t terms = terms_of(extent, parts, few ? cut.fewest : extent / parts + 1, cut.unit);
  return plan.add(step::split_reduction({name, cut.var}, terms, name + ".p")) && lowers(plan);
}

}  // namespace

const Rule gpu::kSplitReduction = {
    "split_reduction",
    "A reduction of many terms with few results is cut into parts, which blocks reduce each for "
    "itself; a second launch reduces what they came to.",
    apply_split_reduction,
};

}  // namespace hone::schedules
