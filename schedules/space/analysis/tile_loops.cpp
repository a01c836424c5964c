// SPDX-License-Identifier: Apache-2.0
#include "schedules/space/analysis/tile_loops.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <tuple>

#include "schedules/space/analysis/shape.h"
#include "schedules/steps/edit.h"

namespace hone::schedules {
namespace {

/// Terms of a block of a reduction: of panels that exceed a cache, and of columns read to their
/// ends. Tuned on: Zen 5 (AVX-512).
constexpr int64_t kBlockTerms = 512, kColumnTerms = 8;
/// A reduction shorter than this is not blocked: of panels, and of columns.
/// Tuned on: Zen 5 (AVX-512).
constexpr int64_t kShortestBlocked = 512, kShortestColumns = 32;
/// Bytes from row to row from which on columns are not followed by what prefetches into the L1.
/// Tuned on: Zen 5 (AVX-512).
constexpr int64_t kRowsApart = 1024;
/// Parts of the last cache and of the second level that blocks of the factors take.
/// Tuned on: Zen 4 (AVX-512).
constexpr int64_t kPartOfLast = 8, kPartOfSecond = 4;

/// What a loop around the tile moves along: `far` what a near cache does not hold.
struct Moves {
  std::set<std::string> far;
  int64_t far_bytes = 0, near_bytes = 0;
  int64_t stride = 0;  ///< of a step along what is far, in elements

  /// `near`: bytes that the cache holds. `times`: how often a tile reads what others read once.
  void add(const Plan& plan, const std::string& buffer, int64_t by, int64_t near,
           int64_t times = 1) {
    if (by == 0) return;
    const int64_t bytes = bytes_of(plan.program(), *plan.program().buffer(buffer));
    (bytes > near ? far_bytes : near_bytes) += saturating_product(bytes, times);
    if (bytes <= near) return;
    far.insert(buffer);
    stride = std::max(stride, by);
  }
};

/// What the reduction reads.
Moves factors_moved(const Plan& plan, const Tile& t, const std::string& loop, int64_t near) {
  const std::vector<std::string> vars = roots_of(plan.stage(t.root), loop);
  Moves out;
  for (const Access& a : plan.facts(t.producer).loads) {
    int64_t stride = 0;
    for (const auto& [own, theirs] : t.follows) {
      const bool ours = std::find(vars.begin(), vars.end(), theirs) != vars.end();
      if (ours) stride = std::max(stride, std::abs(a.stride(own)));
    }
    // Of what moves along both axes of a tile each of its rows reads vectors.
    const bool by_row = a.stride(t.axis.var) != 0 && !t.rows.empty() && a.stride(t.rows) != 0;
    out.add(plan, a.buffer, stride, near, by_row ? t.size.rows : 1);
  }
  return out;
}

/// True of results whose rows begin in few sets of the nearest cache: columns of them push each
/// other out of it.
bool results_collide(const Plan& plan, const Tile& t) {
  // Sets of a cache by pages, and those that are few. Fixed by: x86; tuned on: Zen 5.
  const int64_t sets = plan.machine().page_bytes / plan.machine().line_bytes, few = sets / 8;
  if (t.rows.empty()) return false;
  const Access& store = plan.facts(t.root).store;
  const int64_t step =
      store.stride(t.root_var(t.rows)) * size_of(plan.program().buffer(store.buffer)->type);
  std::set<int64_t> begin;
  for (int64_t row = 0; row < sets; ++row) {
    begin.insert(row * step / plan.machine().line_bytes % sets);
  }
  return static_cast<int64_t>(begin.size()) <= few;
}

/// What a loop around the tile moves along. Terms of a short reduction are read again in less time
/// than colliding results take.
Moves moves_of(const Plan& plan, const Tile& t, const std::string& loop, bool collide) {
  // Terms that are few. Tuned on: Zen 5 (AVX-512).
  constexpr int64_t kFewTerms = 64;
  const int64_t terms = plan.facts(t.producer).points(plan.stage(t.producer).rvars);
  const int64_t near = collide && terms <= kFewTerms ? plan.machine().l2 : plan.machine().l1d;
  Moves out = factors_moved(plan, t, loop, near / 2);
  if (!collide) return out;
  const StageFacts& facts = plan.facts(t.root);
  int64_t stride = 0;
  for (const std::string& var : roots_of(plan.stage(t.root), loop)) {
    stride = std::max(stride, std::abs(facts.store.stride(var)));
  }
  out.add(plan, facts.store.buffer, stride, near / 2);
  return out;
}

/// True when the loops of the root are computed in by no stage but the tile's.
bool hosts_none(const Plan& plan, const Tile& t) {
  for (const ir::Stage& s : plan.program().stages) {
    if (s.at.stage == t.root && s.name != t.producer) return false;
  }
  return true;
}

/// Orders the loops around the tile. What an inner loop does not move along is read again from near
/// caches, so those that move along most are outside. Of those that move along the same, the one
/// with the longest steps is: memory is read in its order.
void order_outer(Plan& plan, Tile& t, const std::string& columns, const std::string& rows) {
  t.outer.push_back(columns);
  if (!rows.empty()) t.outer.push_back(rows);
  const auto first = t.outer.end() - (hosts_none(plan, t) ? t.outer.size() : rows.empty() ? 1 : 2);
  std::map<std::string, Moves> moves;
  const bool collide = results_collide(plan, t);
  for (const std::string& loop : t.outer) moves[loop] = moves_of(plan, t, loop, collide);
  const auto rank = [&](const std::string& loop) {
    const Moves& m = moves.at(loop);
    const auto alike = std::find_if(t.outer.begin(), t.outer.end(), [&](const std::string& other) {
      return moves.at(other).far == m.far;
    });
    return std::tuple(-m.far_bytes, alike - t.outer.begin(), -m.stride, -m.near_bytes);
  };
  std::map<std::string, decltype(rank(columns))> ranks;
  for (const std::string& loop : t.outer) ranks[loop] = rank(loop);
  std::stable_sort(first, t.outer.end(), [&](const std::string& a, const std::string& b) {
    return ranks.at(a) < ranks.at(b);
  });
  if (!rows.empty() && plan.decide("loop order of " + t.producer, 2, 0) == 1) {
    std::iter_swap(std::find(t.outer.begin(), t.outer.end(), columns),
                   std::find(t.outer.begin(), t.outer.end(), rows));
  }
}

/// True when a tile reads its tensors once, a few lines of every row, and rows lie apart. No
/// hardware prefetches along a column, so a few rows at a time are read to their ends.
bool reads_columns(const Plan& plan, const Tile& t, const std::string& reduced) {
  if (!t.rows.empty() || plan.stage(t.root).vars.size() != 1) return false;
  for (const Access& a : plan.facts(t.producer).loads) {
    const ir::Buffer& b = *plan.program().buffer(a.buffer);
    const bool far = !a.gathers && a.stride(reduced) * size_of(b.type) >= kRowsApart &&
                     bytes_of(plan.program(), b) > plan.machine().l1d;
    if (far && a.stride(t.axis.var) == 1) return true;
  }
  return false;
}

/// Cuts the root's loop over tiles of `size` along `var` into blocks of `tiles`; "" where it
/// cannot.
std::string cut_blocks(Plan& plan, const Tile& t, const std::string& var, const Number& size,
                       const std::string& knob, int64_t tiles) {
  const Number number = plan.knob(knob, {4, 8, 16, 32, 64}, tiles);
  return plan.split(t.root, var, size * number, ir::Tail::kPeel).outer;
}

/// The knob of the rows of a tile.
void take_height(Plan& plan, Tile& t) {
  t.height =
      plan.knob(knob_name("mr", t.producer), {1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14}, t.size.rows);
}

/// Blocks of columns whose panels take a part of the last cache, and of rows that the second level
/// holds beside a panel.
bool make_blocks(Plan& plan, Tile& t) {
  const StageFacts facts = plan.facts(t.producer);
  const ir::Stage p = plan.stage(t.producer);
  const int64_t width = t.size.vectors * plan.lanes(widest_type(plan.program(), p));
  const int64_t term = kBlockTerms * size_of(p.accumulate);
  const int64_t all = (facts.extent(t.axis.var) + width - 1) / width;
  const int64_t share = std::max<int64_t>(1, all / (2 * plan.machine().threads));
  const int64_t columns =
      std::clamp<int64_t>(plan.machine().l3 / kPartOfLast / (term * width), 1, share);
  const int64_t rows =
      std::max<int64_t>(1, plan.machine().l2 / kPartOfSecond / (term * t.size.rows));
  t.column_block =
      cut_blocks(plan, t, t.root_var(t.axis.var), t.width, knob_name("nb", t.producer), columns);
  t.width = t.width.again();
  if (t.column_block.empty()) return false;
  take_height(plan, t);
  t.row_block =
      cut_blocks(plan, t, t.root_var(t.rows), t.height, knob_name("mb", t.producer), rows);
  t.height = t.height.again();
  return !t.row_block.empty();
}

}  // namespace

std::vector<std::string> block_reduction(Plan& plan, Tile& t) {
  const ir::Stage p = plan.stage(t.producer);
  const StageFacts facts = plan.facts(t.producer);
  const ir::Buffer out = *plan.program().buffer(p.output);
  if (t.fused() || out.type != p.accumulate || p.rvars.empty()) return {};
  const std::string longest = std::max_element(p.rvars.begin(), p.rvars.end(),
                                               [&](const ir::IndexVar& a, const ir::IndexVar& b) {
                                                 return facts.extent(a.name) < facts.extent(b.name);
                                               })
                                  ->name;
  const int64_t extent = facts.extent(longest);
  if (extent < kShortestColumns || p.var(longest)->lo) return {};
  const int lanes = plan.lanes(widest_type(plan.program(), p));
  const DType element = t.dots ? t.dots.row->a : p.accumulate;
  const int64_t panel = extent * t.size.vectors * lanes * size_of(element);
  const int64_t wide = t.size.vectors * lanes;
  const bool columns = facts.extent(t.axis.var) > wide && reads_columns(plan, t, longest);
  if (!columns && extent < kShortestBlocked) return {};
  const bool exceeds = panel > plan.machine().l2 / 3;
  if (plan.decide("block " + longest + " of " + t.producer, 2, columns || exceeds) == 0) return {};
  const std::string name = knob_name("kc", t.producer);
  const auto h = plan.split(t.producer, longest,
                            columns ? plan.knob(name, {4, 8, 16, 32, 64}, kColumnTerms)
                                    : plan.knob(name, {128, 256, 384, 512, 768, 1024}, kBlockTerms),
                            ir::Tail::kPeel);
  if (h.outer.empty()) return {};
  t.columns = columns;
  return {h.outer};
}

bool pays_two_levels(Plan& plan, const Tile& t) {
  if (t.blocked.empty() || t.columns || t.rows.empty() || t.fused() || !hosts_none(plan, t))
    return false;
  const int64_t near = plan.machine().l1d / 2;
  const int64_t by_columns = factors_moved(plan, t, t.root_var(t.axis.var), near).far_bytes;
  const int64_t by_rows = factors_moved(plan, t, t.root_var(t.rows), near).far_bytes;
  const bool far = std::min(by_columns, by_rows) > plan.machine().l2 &&
                   by_columns + by_rows > plan.machine().l3 / 2;
  return plan.decide("two levels of blocks of " + t.producer, 2, far && !t.dots) == 1;
}

bool make_tiles(Plan& plan, Tile& t) {
  const StageFacts facts = plan.facts(t.producer);
  const int lanes = plan.lanes(widest_type(plan.program(), plan.stage(t.producer)));
  std::vector<int64_t> widths;
  for (const int64_t n : {1, 2, 3, 4, 5, 6, 8, 16}) {
    if (n > 6 && !t.rows.empty()) break;
    if ((n - 1) * lanes < facts.extent(t.axis.var)) widths.push_back(n * lanes);
  }
  const int64_t width = t.size.vectors * lanes;
  t.width = plan.knob(knob_name("nr", t.producer), widths, width);
  if (t.two_levels && !make_blocks(plan, t)) return false;
  Plan::Halves columns;
  // Blocks of a reduction would add to what lies in two tiles twice.
  if (t.reaches_back && t.blocked.empty() && t.axis.packed.empty()) {
    columns = plan.split(t.root, t.root_var(t.axis.var), t.width, ir::Tail::kOverlap);
    // A step that does not apply takes its knob along.
    if (columns.outer.empty()) t.width = plan.knob(knob_name("nr", t.producer), widths, width);
  }
  if (columns.outer.empty()) {
    columns = plan.split(t.root, t.root_var(t.axis.var), t.width, ir::Tail::kPeel);
  }
  if (columns.outer.empty()) return false;
  t.column_inner = columns.inner;
  t.column_outer = columns.outer;
  Plan::Halves rows;
  if (!t.rows.empty()) {
    if (!t.two_levels) take_height(plan, t);
    rows = plan.split(t.root, t.root_var(t.rows), t.height, ir::Tail::kPeel);
    if (rows.outer.empty()) return false;
    t.row_inner = rows.inner;
  }
  const ir::Stage root = plan.stage(t.root);
  const std::string ours[] = {columns.outer, columns.inner,  rows.outer,
                              rows.inner,    t.column_block, t.row_block};
  for (const ir::Loop& l : root.loops) {
    const bool placed = std::find(std::begin(ours), std::end(ours), l.name) != std::end(ours);
    if (!placed && !is_reduction(root, l.name)) t.outer.push_back(l.name);
  }
  if (!t.two_levels) {
    order_outer(plan, t, columns.outer, rows.outer);
    return true;
  }
  t.outer.push_back(t.column_block);
  t.outer.insert(t.outer.end(), t.blocked.begin(), t.blocked.end());
  t.outer.insert(t.outer.end(), {t.row_block, columns.outer, rows.outer});
  return true;
}

void spread_outer(const Plan& plan, Tile& t) {
  const ir::Stage& root = plan.stage(t.root);
  if (!root.at.root() || !hosts_none(plan, t)) return;
  const auto trips = [&](const std::string& loop) {
    return typical(plan.program(), extent_of(root, loop));
  };
  size_t best = 0;
  for (size_t i = 1; i < t.outer.size(); ++i) {
    if (trips(t.outer[best]) >= 2 * plan.machine().threads) break;
    if (trips(t.outer[i]) > trips(t.outer[best])) best = i;
  }
  std::rotate(t.outer.begin(), t.outer.begin() + static_cast<long>(best),
              t.outer.begin() + static_cast<long>(best) + 1);
}

bool share_tiles(Plan& plan, const Tile& t, std::vector<std::string>& order) {
  const std::string tiles = order.back();
  const int64_t trips = typical(plan.program(), extent_of(plan.stage(t.root), tiles));
  const int64_t threads = plan.machine().threads;
  if (threads < 2 || trips < 2) return true;
  const int64_t part = (trips + threads - 1) / threads;
  if (!plan.add(step::split({t.root, tiles}, part, tiles + ".c", tiles + ".e", ir::Tail::kPeel))) {
    return false;
  }
  order.insert(order.begin(), tiles + ".c");
  order.back() = tiles + ".e";
  return true;
}

}  // namespace hone::schedules
