// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <tuple>

#include "schedules/space/analysis/align.h"
#include "schedules/space/analysis/pack.h"
#include "schedules/space/analysis/shape.h"
#include "schedules/space/analysis/tile_axes.h"
#include "schedules/space/rules/rule.h"
#include "schedules/steps/edit.h"

namespace hone::schedules {
namespace {

/// A reduction's register tile, and the loops that it makes.
struct Tile : TiledReduction, TileAxes {
  Dots dots;             ///< the instruction that does its products, if any
  bool columns = false;  ///< a few rows of a tensor are read to their ends before the next
  Number height, width;  ///< knobs
  std::vector<std::string> blocked;     ///< loops over blocks of the reduction
  bool two_levels = false;              ///< tiles are visited by blocks of columns and rows
  std::string column_block, row_block;  ///< loops over these blocks
  std::vector<std::string> outer;       ///< loops of the root around the tile, outermost first
  std::string row_inner, column_inner;  ///< loops of the root inside the tile

  void take(const TileAxes& axes) { static_cast<TileAxes&>(*this) = axes; }
};

/// Part of the cycles that counts as the same.
/// Fixed by: the estimate's own error.
constexpr double kSame = 0.97;

/// Why the reduction `p`, which `s` and maybe `others` read, cannot be a tile inside `s`; "" where
/// it can.
std::string unfusable(const Plan& plan, const ir::Stage& p, const ir::Stage& s, bool others) {
  if (plan.finished(p.name)) return "has its steps already";
  if (!p.factored.empty()) return "keeps partial results apart";
  if (plan.program().buffer(p.output)->role != ir::Role::kTemp) return "stores a result of the op";
  if (!p.at.root() && p.at.stage != s.name) return "is computed inside another stage";
  if (others) return "has other readers";
  return pointwise(p, s) ? "" : "is not read point by point";
}

/// The one reduction that `s` reads point by point and nobody else reads; null, and `plan` told
/// why, where there is none.
const ir::Stage* fusable(Plan& plan, const ir::Stage& s) {
  const ir::Stage* found = nullptr;
  int64_t most = 0;
  plan.declines("it neither reduces nor reads a reduction");
  for (const ir::Stage& p : plan.program().stages) {
    if (p.reduce == ir::Reduce::kNone) continue;
    if (!reads(s, p.output)) continue;
    const std::vector<size_t> readers = readers_of(plan.program(), p.output);
    if (const std::string why = unfusable(plan, p, s, readers.size() > 1); !why.empty()) {
      plan.declines("the reduction " + p.name + ", which it reads, " + why);
      continue;
    }
    const StageFacts facts = plan.facts(p.name);
    const int64_t points = facts.points(facts.extents);
    if (points <= most) continue;
    most = points;
    found = &p;
  }
  return found;
}

/// Terms of a block of a reduction: of panels that exceed a cache, and of columns read to their
/// ends. Tuned on: Zen 5 (AVX-512).
constexpr int64_t kBlockTerms = 512, kColumnTerms = 8;
/// A reduction shorter than this is not blocked.
/// Tuned on: Zen 5 (AVX-512).
constexpr int64_t kShortestBlocked = 512;
/// Points of a tile, times steps, that are all unrolled; those that need no further steps.
/// Tuned on: Zen 5 (AVX-512).
constexpr int64_t kMostUnrolled = 96, kManyPoints = 12;
/// Parts of the last cache and of the second level that blocks of the factors take.
/// Tuned on: Zen 4 (AVX-512).
constexpr int64_t kPartOfLast = 8, kPartOfSecond = 4;
/// What a loop around the tile moves along: `far` what half the nearest cache does not hold.
struct Moves {
  std::set<std::string> far;
  int64_t far_bytes = 0, near_bytes = 0;
  int64_t stride = 0;  ///< of a step along what is far, in elements
};
Moves moves_of(const Plan& plan, const Tile& t, const std::string& loop) {
  const std::vector<std::string> vars = roots_of(plan.stage(t.root), loop);
  Moves out;
  for (const Access& a : plan.facts(t.producer).loads) {
    int64_t stride = 0;
    for (const auto& [own, theirs] : t.follows) {
      const bool ours = std::find(vars.begin(), vars.end(), theirs) != vars.end();
      if (ours) stride = std::max(stride, std::abs(a.stride(own)));
    }
    if (stride == 0) continue;
    const int64_t bytes = bytes_of(plan.program(), *plan.program().buffer(a.buffer));
    const bool far = bytes > plan.machine().l1d / 2;
    (far ? out.far_bytes : out.near_bytes) += bytes;
    if (!far) continue;
    out.far.insert(a.buffer);
    out.stride = std::max(out.stride, stride);
  }
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
  for (const std::string& loop : t.outer) moves[loop] = moves_of(plan, t, loop);
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

/// True when a tile reads its tensors once, a few lines of every row, and rows are pages apart. No
/// hardware prefetches along a column, so a few rows at a time are read to their ends.
bool reads_columns(const Plan& plan, const Tile& t, const std::string& reduced) {
  if (!t.rows.empty() || plan.stage(t.root).vars.size() != 1) return false;
  for (const Access& a : plan.facts(t.producer).loads) {
    const int64_t size = size_of(plan.program().buffer(a.buffer)->type);
    const bool far = !a.gathers && a.stride(reduced) * size >= plan.machine().page_bytes;
    if (far && a.stride(t.axis.var) == 1) return true;
  }
  return false;
}

/// Cuts the longest reduction loop outside the tiles, where the panel of a tile exceeds a cache.
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
  if (extent < kShortestBlocked || p.var(longest)->lo) return {};
  const int lanes = plan.lanes(widest_type(plan.program(), p));
  const DType element = t.dots ? t.dots.row->a : p.accumulate;
  const int64_t panel = extent * t.size.vectors * lanes * size_of(element);
  const bool columns = reads_columns(plan, t, longest);
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

/// Whether tiles are visited by blocks, so that a block of each factor stays in a near cache while
/// the reduction runs over it. It is worth the loops where no near cache holds either factor, and
/// the last one not both beside the rest.
bool pays_two_levels(Plan& plan, const Tile& t) {
  if (t.blocked.empty() || t.columns || t.rows.empty() || t.fused() || !hosts_none(plan, t))
    return false;
  const int64_t by_columns = moves_of(plan, t, t.root_var(t.axis.var)).far_bytes;
  const int64_t by_rows = moves_of(plan, t, t.root_var(t.rows)).far_bytes;
  const bool far = std::min(by_columns, by_rows) > plan.machine().l2 &&
                   by_columns + by_rows > plan.machine().l3 / 2;
  return plan.decide("two levels of blocks of " + t.producer, 2, far && !t.dots) == 1;
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

/// Splits the root's loops into tiles and finds the order of the loops around them.
bool make_tiles(Plan& plan, Tile& t) {
  const StageFacts facts = plan.facts(t.producer);
  const int lanes = plan.lanes(widest_type(plan.program(), plan.stage(t.producer)));
  const int64_t vectors = t.size.vectors;
  std::vector<int64_t> widths;
  for (int64_t n = 1; n <= 6; ++n) {
    if ((n - 1) * lanes < facts.extent(t.axis.var)) widths.push_back(n * lanes);
  }
  t.width = plan.knob(knob_name("nr", t.producer), widths, vectors * lanes);
  if (t.two_levels && !make_blocks(plan, t)) return false;
  const auto columns = plan.split(t.root, t.root_var(t.axis.var), t.width, ir::Tail::kPeel);
  if (columns.outer.empty()) return false;
  t.column_inner = columns.inner;
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

/// Brings a loop that gives every thread work to the front of those around the tile.
void spread_outer(const Plan& plan, Tile& t) {
  const ir::Stage root = plan.stage(t.root);
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

/// A thread's part of the tiles, around the blocks of a reduction that all tiles of it share.
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

/// Orders the loops of a short reduction and unrolls them all, so that values shared by
/// neighbouring rows stay in registers.
bool shape_sliding(Plan& plan, const std::string& stage, const Tile& t) {
  const ir::Stage s = plan.stage(stage);
  std::vector<std::string> order;
  for (const ir::Loop& l : s.loops) {
    if (is_reduction(s, l.name) && l.name != t.slide) order.push_back(l.name);
  }
  order.push_back(t.slide);
  order.push_back(t.rows);
  const std::vector<ir::Place> unrolled = loops_of(stage, order);
  order.push_back(t.axis.var);
  if (!order_loops(plan, stage, order) || !plan.add(step::unroll(unrolled))) return false;
  if (!plan.add(step::unroll({t.root, t.row_inner}))) return false;
  return plan.add(step::vectorize({{stage, t.axis.var}, {t.root, t.column_inner}}));
}

/// Orders the loops of the stage that reduces, unrolls a little of its innermost reduction.
bool shape_reduction(Plan& plan, const std::string& stage, const Tile& t) {
  const ir::Stage s = plan.stage(stage);
  const StageFacts facts = plan.facts(stage);
  const int64_t points = t.size.rows * t.size.vectors;
  std::string unrolled, grouped;
  if (t.dots) {
    grouped = plan.split(stage, t.dots.grouped, t.dots.row->group, ir::Tail::kPeel).inner;
    if (grouped.empty()) return false;
  }
  for (size_t i = s.loops.size(); i-- > 0 && unrolled.empty() && !t.dots;) {
    const std::string& loop = s.loops[i].name;
    if (!is_reduction(s, loop) || std::count(s.factored.begin(), s.factored.end(), loop)) continue;
    const int64_t trips = typical(plan.program(), extent_of(s, loop));
    const ir::IndexVar* var = s.var(loop);
    if (var && var->lo && !ir::is_const(var->lo)) break;
    if (trips <= 4 && trips * points <= kMostUnrolled) {
      unrolled = loop;
    } else if (trips >= 8 && var) {
      const Number ku =
          plan.knob(knob_name("ku", t.producer), {1, 2, 4}, points >= kManyPoints ? 1 : 4);
      unrolled = plan.split(stage, loop, ku, ir::Tail::kPeel).inner;
    }
    break;
  }
  std::vector<std::string> order;
  for (const ir::Loop& l : plan.stage(stage).loops) {
    const bool last =
        l.name == unrolled || l.name == grouped || l.name == t.rows || l.name == t.axis.var;
    if (is_reduction(plan.stage(stage), l.name) && !last) order.push_back(l.name);
  }
  if (!unrolled.empty()) order.push_back(unrolled);
  if (!t.rows.empty()) order.push_back(t.rows);
  order.push_back(t.axis.var);
  if (!grouped.empty()) order.push_back(grouped);
  if (!order_loops(plan, stage, order)) return false;
  if (!grouped.empty() && !plan.add(step::tensorize({{stage, grouped}}, *t.dots.row))) {
    return false;
  }
  if (!unrolled.empty() && !plan.add(step::unroll({stage, unrolled}))) return false;
  const std::string& unrolled_outside = t.transposed ? t.column_inner : t.row_inner;
  const std::string& vector_outside = t.transposed ? t.row_inner : t.column_inner;
  if (!t.rows.empty() && !plan.add(step::unroll({{stage, t.rows}, {t.root, unrolled_outside}}))) {
    return false;
  }
  return plan.add(step::vectorize({{stage, t.axis.var}, {t.root, vector_outside}}));
}

/// Lays out the factors as the instruction takes them.
bool pack_dots(Plan& plan, const std::string& inner, const Tile& t) {
  const Groups groups{t.dots.grouped, t.dots.row->group};
  for (const std::string& tensor : t.dots.packed) {
    if (!pack(plan, inner, tensor, t.axis.var, t.width.again(), groups)) return false;
  }
  for (const std::string& tensor : t.dots.regrouped) {
    if (!pack_groups(plan, inner, tensor, groups)) return false;
  }
  return true;
}

/// The loop in which panels are packed: the outermost over tiles, if one of its iterations has all
/// readers of a panel. For long panels it is a blocked reduction right inside that. Packed there, a
/// panel is still copied once, and is read from a near cache. A copy of a whole large tensor would
/// go through memory. "": pack at the root.
std::string panel_loop(Plan& plan, const Tile& t, const std::string& inner) {
  const ir::Buffer b = *plan.program().buffer(t.axis.packed);
  const int64_t all = bytes_of(plan.program(), b);
  if (t.fused() || b.constant || b.shape.size() != 2 || all <= plan.machine().l2) return {};
  for (const Access& a : plan.facts(inner).loads) {
    if (a.buffer == b.name && a.stride(t.axis.var) != 1) return {};
  }
  const ir::Stage root = plan.stage(t.root);
  const std::string& outermost = t.outer[0];
  const std::vector<std::string> vars = roots_of(root, outermost);
  if (vars.size() != 1 || vars[0] != t.axis.var) return {};
  const auto trips = [&](const std::string& loop) {
    return std::max<int64_t>(1, typical(plan.program(), extent_of(root, loop)));
  };
  if (trips(outermost) < 2 * plan.machine().threads) return {};
  const int64_t panel = all / trips(outermost), near = plan.machine().l2 / 2;
  const bool in_blocks = panel > near && !t.blocked.empty() && t.outer[1] == t.blocked[0];
  if (panel / (in_blocks ? trips(t.blocked[0]) : 1) > near) return {};
  if (plan.decide("panels of " + b.name, 2, 1) == 0) return {};
  return in_blocks ? t.blocked[0] : outermost;
}

/// Tiles of the root, the reduction in registers inside them.
bool emit(Plan& plan, Tile& t) {
  t.blocked = block_reduction(plan, t);
  t.two_levels = pays_two_levels(plan, t);
  if (!make_tiles(plan, t)) return false;
  if (!t.two_levels) {
    spread_outer(plan, t);
    // A blocked reduction goes around the innermost loop over tiles.
    const bool around = t.outer.size() > 1 || t.columns;
    t.outer.insert(t.outer.end() - (around ? 1 : 0), t.blocked.begin(), t.blocked.end());
  }
  std::vector<std::string> order = t.outer;
  if (t.columns && !share_tiles(plan, t, order)) return false;
  const std::string at = order.back();
  const ir::Stage root = plan.stage(t.root);
  for (const ir::Loop& l : root.loops) {
    const bool placed = std::find(order.begin(), order.end(), l.name) != order.end();
    if (!placed && is_reduction(root, l.name)) order.push_back(l.name);
  }
  if (!t.rows.empty()) order.push_back(t.row_inner);
  order.push_back(t.column_inner);
  if (t.transposed) std::iter_swap(order.end() - 1, order.end() - 2);
  if (!order_loops(plan, t.root, order)) return false;
  const ir::Place place{t.root, at};
  std::string inner = t.producer;
  if (t.fused()) {
    if (!plan.add(step::compute({t.producer}, place, ir::Space::kRegisters))) return false;
  } else {
    inner = plan.fresh_stage(t.producer + ".t");
    const std::string& output = plan.stage(t.root).output;
    if (!plan.add(step::stage(output, place, inner, {ir::Space::kRegisters}))) return false;
  }
  const bool slides = !t.slide.empty() && !t.rows.empty();
  if (!(slides ? shape_sliding : shape_reduction)(plan, inner, t)) return false;
  plan.finish(t.root);
  plan.finish(inner);
  if (t.dots) return pack_dots(plan, inner, t);
  if (t.axis.packed.empty()) return true;
  const bool bound = plan.program().buffer(t.axis.packed)->constant;
  if (t.two_levels && !bound) {
    const ir::Place at{t.root, t.blocked[0]};
    return pack(plan, inner, t.axis.packed, t.axis.var, t.width.again(), {}, at);
  }
  const std::string panel = panel_loop(plan, t, inner);
  if (!panel.empty()) return pack_panel(plan, inner, t.axis.packed, t.axis.var, t.root, panel);
  return pack(plan, inner, t.axis.packed, t.axis.var, t.width.again());
}

bool emit_or_undo(Plan& plan, Tile& t) {
  Plan::Mark before = plan.mark();
  if (emit(plan, t)) return true;
  plan.rewind(std::move(before));
  return false;
}

/// A copy of what no near cache holds, where it is read far apart.
void pack_far(Plan& plan, Tile& t) {
  for (const Access& a : plan.facts(t.producer).loads) {
    if (a.buffer != t.axis.packed && worth_packing(plan, t.producer, a) && t.axis.packed.empty() &&
        a.stride(t.axis.var) == 1 && pays_to_pack(plan, t.producer, a) &&
        plan.decide("pack " + a.buffer, 2, 1) == 1) {
      t.axis.packed = a.buffer;
    }
  }
}

/// Why there is no axis for the vectors of a tile.
std::string no_tile(const Plan& plan, const Tile& t) {
  const VectorAxis axis = vector_axis(plan, t.producer, leaving_store(plan, t), true);
  if (axis.var.empty()) return "the reduction has no index to run as vectors";
  return "vectors along " + axis.var + ", which is reduced, cost less than along results";
}

bool cheaper(const TileAxes& a, const TileAxes& b) { return a.cycles < kSame * b.cycles; }

bool apply_tile(Plan& plan, const std::string& name) {
  Tile t;
  t.root = t.producer = name;
  const ir::Stage s = plan.stage(name);
  if (s.reduce == ir::Reduce::kNone) {
    const ir::Stage* p = fusable(plan, s);
    if (!p) return false;
    t.producer = p->name;
    t.follows = alignment(*p, s);
    // What repeats is stored instead: a small part of the consumer's own result.
    const bool once = repeats(t.follows, s, plan.facts(t.root)) == 1;
    const bool open = p->at.root();
    const bool apart = !once || best_at_bind(plan, *p);
    if (open ? plan.decide("fuse " + p->name + " into " + name, 2, !apart) == 0 : !once) {
      return plan.declines(once ? p->name + " was decided to stay a stage of its own"
                                : "its loops would repeat the reduction " + p->name);
    }
  } else {
    for (const ir::IndexVar& v : s.vars) t.follows[v.name] = v.name;
  }
  const ir::Stage p = plan.stage(t.producer);
  if (p.vars.empty()) return plan.declines("the reduction has one result");
  if (!p.relations.empty())
    return plan.declines("the reduction's loops are split or fused already");
  t.dots = dots_for(plan, t.producer, leaving_store(plan, t));
  if (t.dots && plan.decide("dot products of " + t.producer, 2, 1) == 1) {
    Tile dots = t;
    dots.take(tile_along(plan, t, {t.dots.columns, false, "", 0}, t.dots));
    if (emit_or_undo(plan, dots)) return true;
  }
  t.dots = {};
  std::vector<TileAxes> tiles = tiles_for(plan, t);
  if (tiles.empty()) return plan.declines(no_tile(plan, t));
  const auto cheapest = std::min_element(tiles.begin(), tiles.end(), cheaper);
  const int chosen = plan.decide("vector axis of " + t.producer, static_cast<int>(tiles.size()),
                                 static_cast<int>(cheapest - tiles.begin()));
  // Another axis than the plain one may ask for steps that do not apply.
  for (const int option : {chosen, 0}) {
    Tile tile = t;
    tile.take(tiles[static_cast<size_t>(option)]);
    pack_far(plan, tile);
    if (emit_or_undo(plan, tile)) return true;
  }
  return false;
}

}  // namespace

const Rule cpu::kTile = {
    "tile",
    "A reduction whose results lie along a vector is tiled in registers over two axes, the tile "
    "computed inside the loops of its consumer or, without one, of its own; tensors read across "
    "lines are laid out by tiles first.",
    apply_tile,
};

}  // namespace hone::schedules
