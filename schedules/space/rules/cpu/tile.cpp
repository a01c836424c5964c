// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "schedules/space/analysis/align.h"
#include "schedules/space/analysis/group_members.h"
#include "schedules/space/analysis/pack.h"
#include "schedules/space/analysis/read_ahead.h"
#include "schedules/space/analysis/shape.h"
#include "schedules/space/analysis/tile_axes.h"
#include "schedules/space/analysis/tile_loops.h"
#include "schedules/space/rules/rule.h"
#include "schedules/steps/edit.h"

namespace hone::schedules {
namespace {

/// Part of the cycles that counts as the same.
/// Fixed by: the estimate's own error.
constexpr double kSame = 0.97;

std::string unfusable(const Plan& plan, const ir::Stage& p, const ir::Stage& s, bool others);

/// True where the terms of the reduction `s` are sums that its own tile can compute.
bool sums_sums(const Plan& plan, const ir::Stage& s) {
  const auto& stages = plan.program().stages;
  return std::any_of(stages.begin(), stages.end(), [&](const ir::Stage& p) {
    const bool sum = p.reduce != ir::Reduce::kNone && makes_terms(p, s);
    return sum && unfusable(plan, p, s, readers_of(plan.program(), p.output).size() > 1).empty();
  });
}

/// Why the reduction `p`, which `s` and maybe `others` read, cannot be a tile inside `s`; "" where
/// it can.
std::string unfusable(const Plan& plan, const ir::Stage& p, const ir::Stage& s, bool others) {
  if (plan.finished(p.name)) return "has its steps already";
  if (!p.factored.empty()) return "keeps partial results apart";
  const ir::Buffer& result = *plan.program().buffer(p.output);
  if (result.role != ir::Role::kTemp) return "stores a result of the op";
  if (!result.axes.empty()) return "has results laid out in memory";
  if (!p.at.root() && p.at.stage != s.name) return "is computed inside another stage";
  if (others) return "has other readers";
  if (in_steps(plan, s.name) && !in_steps(plan, p.name)) return "is made for all steps at once";
  if (s.reduce == ir::Reduce::kNone && !pointwise(p, s)) return "is not read point by point";
  if (s.reduce == ir::Reduce::kNone) return sums_sums(plan, p) ? "sums up sums of its own" : "";
  if (!s.relations.empty()) return "is read in loops that are split or fused already";
  return makes_terms(p, s) ? "" : "does not make the terms one by one";
}

/// The one reduction that `s` alone reads: point by point, or as its terms where `s` reduces. Null,
/// and `plan` told why, where there is none.
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

/// Points of a tile that need no further steps of the reduction beside.
/// Tuned on: Zen 5 (AVX-512).
constexpr int64_t kManyPoints = 12;
/// The same of steps that lanes' indices depend on: terms that are known to be nothing are no code.
/// Tuned on: Zen 5 (AVX-512, AVX2).
constexpr int64_t kMostDeciding = 256;
/// Steps of a loop that decide what lanes read, where each lane is one column always. In most of
/// them few lanes read anything, and it is known which.
/// Tuned on: Zen 4 (AVX-512, AVX2).
constexpr int64_t kMostPlaces = 32;
/// Steps of a loop of the reduction that is unrolled whole.
/// Tuned on: Zen 5 (AVX-512).
constexpr int64_t kFewSteps = 4;
/// Unrolled rows times vectors, where rows are read to their ends. Then each load goes on by a
/// short step from one iteration to the next, which prefetchers of the L1 follow. Tuned on: Zen 5
/// (AVX-512).
constexpr int64_t kMostColumns = 128;

/// True where the last cache holds each tensor that a stage reads.
bool cached(const Plan& plan, const StageFacts& facts) {
  return std::all_of(facts.loads.begin(), facts.loads.end(), [&](const Access& a) {
    return bytes_of(plan.program(), *plan.program().buffer(a.buffer)) <= plan.machine().l3;
  });
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

/// True of a load with an index that moves with a loop and with lanes along `axis`.
bool meets(const Access& a, const std::string& loop, const std::string& axis) {
  return std::any_of(a.indices.begin(), a.indices.end(), [&](const ir::Expr& index) {
    return ir::mentions_var(index, axis) && ir::mentions_var(index, loop);
  });
}

/// True where steps of a loop move what lanes along `axis` read at places of their own, or which of
/// them lie inside. Unrolled, these are known.
bool decides_places(const StageFacts& facts, const std::string& loop, const std::string& axis) {
  return std::any_of(facts.loads.begin(), facts.loads.end(), [&](const Access& a) {
    const bool borders = a.guarded && meets(a, loop, axis);
    return borders || (a.chosen.contains(axis) && a.stride(loop) != 0);
  });
}

/// True where steps of a loop decide which elements lanes along `axis` read, and not how far away
/// all of them are.
bool decides_lanes(const StageFacts& facts, const std::string& loop, const std::string& axis) {
  return std::any_of(facts.loads.begin(), facts.loads.end(), [&](const Access& a) {
    return (a.guarded || a.chosen.contains(axis)) && meets(a, loop, axis);
  });
}

/// True of a loop that goes through the elements of structures: all of its steps take theirs out of
/// the same vectors along `axis`.
bool goes_through_structures(const Plan& plan, const StageFacts& facts, const std::string& loop,
                             const std::string& axis) {
  return std::any_of(facts.loads.begin(), facts.loads.end(), [&](const Access& a) {
    const auto found = a.structures.find(axis);
    return found != a.structures.end() && found->second == loop && !a.guarded &&
           vector_cost::is_spread(plan.machine(), a, axis);
  });
}

/// Results of a row of the tile.
int64_t points_of_row(const Plan& plan, const Tile& t) {
  return t.size.vectors * plan.lanes(widest_type(plan.program(), plan.stage(t.producer)));
}

/// Loops of the reduction around `innermost`, which is unrolled, that are few steps as well and
/// decide places; the outermost first. `points`: that one step of them comes to.
std::vector<std::string> few_steps_around(const Plan& plan, const ir::Stage& s,
                                          const std::string& innermost, const std::string& axis,
                                          int64_t points) {
  const StageFacts& facts = plan.facts(s.name);
  std::vector<std::string> out;
  for (size_t i = s.loops.size(); i-- > 0;) {
    const std::string& loop = s.loops[i].name;
    const ir::IndexVar* var = s.var(loop);
    if (loop == innermost || !is_reduction(s, loop)) continue;
    const int64_t trips = typical(plan.program(), extent_of(s, loop));
    points = saturating_product(points, trips);
    const bool few = trips <= kFewPlaces && points <= kMostUnrolled;
    if (!few || !var || var->lo || !decides_places(facts, loop, axis)) break;
    out.insert(out.begin(), loop);
  }
  return out;
}

/// Orders the loops of the stage that reduces, unrolls a little of its innermost reduction.
bool shape_reduction(Plan& plan, const std::string& stage, const Tile& t) {
  std::map<std::string, int64_t> together = {{t.axis.var, points_of_row(plan, t)}};
  if (!t.rows.empty()) together[t.rows] = t.size.rows;
  if (!reduce_by_memory(plan, stage, together)) return false;
  const ir::Stage s = plan.stage(stage);
  const StageFacts facts = plan.facts(stage);
  const int64_t points = t.size.rows * t.size.vectors;
  std::string unrolled, grouped;
  std::vector<std::string> around;  // unrolled as well
  if (t.dots) {
    grouped = plan.split(stage, t.dots.grouped, t.dots.row->group, ir::Tail::kPeel).inner;
    if (grouped.empty()) return false;
  }
  for (size_t i = s.loops.size(); i-- > 0 && unrolled.empty() && !t.dots;) {
    const std::string& loop = s.loops[i].name;
    if (!is_reduction(s, loop) || std::count(s.factored.begin(), s.factored.end(), loop)) continue;
    const int64_t trips = typical(plan.program(), extent_of(s, loop));
    if (trips == 1 && ir::is_const(extent_of(s, loop))) continue;
    const ir::IndexVar* var = s.var(loop);
    if (var && var->lo && !ir::is_const(var->lo)) break;
    const bool columns = t.columns && trips * points <= kMostColumns && cached(plan, facts);
    const bool decides = decides_places(facts, loop, t.axis.var);
    const bool structures = goes_through_structures(plan, facts, loop, t.axis.var);
    const bool lanes = decides_lanes(facts, loop, t.axis.var);
    const bool known = lanes && points_of_row(plan, t) >= facts.extent(t.axis.var);
    const int64_t few = structures ? trips : known ? kMostPlaces : decides ? kFewPlaces : kFewSteps;
    const int64_t most = lanes ? kMostDeciding : kMostUnrolled;
    if (columns || (trips <= few && trips * points <= most)) {
      unrolled = loop;
      if (!columns) around = few_steps_around(plan, s, loop, t.axis.var, trips * points);
    } else if (trips >= 8 && var) {
      const Number ku =
          plan.knob(knob_name("ku", t.producer), {1, 2, 4}, points >= kManyPoints ? 1 : 4);
      unrolled = plan.split(stage, loop, ku, ir::Tail::kPeel).inner;
    }
    break;
  }
  std::vector<std::string> order;
  for (const ir::Loop& l : plan.stage(stage).loops) {
    const bool last = l.name == unrolled || l.name == grouped || l.name == t.rows ||
                      l.name == t.axis.var ||
                      std::find(around.begin(), around.end(), l.name) != around.end();
    if (is_reduction(plan.stage(stage), l.name) && !last) order.push_back(l.name);
  }
  order.insert(order.end(), around.begin(), around.end());
  if (!unrolled.empty()) order.push_back(unrolled);
  if (!t.rows.empty()) order.push_back(t.rows);
  order.push_back(t.axis.var);
  if (!grouped.empty()) order.push_back(grouped);
  if (!order_loops(plan, stage, order)) return false;
  if (!grouped.empty() && !plan.add(step::tensorize({{stage, grouped}}, *t.dots.row))) {
    return false;
  }
  if (!unrolled.empty()) around.push_back(unrolled);
  if (!around.empty() && !plan.add(step::unroll(loops_of(stage, around)))) return false;
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
  for (const Access& a : std::vector(plan.facts(inner).loads)) {
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

/// True of a stage that copies `tensor`, or what is turned in registers inside it.
bool copies(const Plan& plan, const ir::Stage& s, const std::string& tensor) {
  if (s.reduce != ir::Reduce::kNone) return false;
  const auto turned = [&](const ir::Stage& t) {
    return t.at.stage == s.name && reads(s, t.output) && reads(t, tensor);
  };
  const auto& stages = plan.program().stages;
  return reads(s, tensor) || std::any_of(stages.begin(), stages.end(), turned);
}

/// The copy of `tensor` that `stage` reads.
std::string copy_of(const Plan& plan, const std::string& stage, const std::string& tensor) {
  for (const Access& a : plan.facts(stage).loads) {
    const ir::Stage* made = plan.program().producer(a.buffer);
    if (made && copies(plan, *made, tensor)) return a.buffer;
  }
  return tensor;
}

/// Packs the panels that the tile reads, and asks for them ahead.
bool pack_panels(Plan& plan, const Tile& t, const std::string& inner) {
  const std::string tensor = t.axis.packed;
  const bool constant = plan.program().buffer(tensor)->constant;
  const std::string panel = panel_loop(plan, t, inner);
  if (t.two_levels && !constant) {
    const ir::Place at{t.root, t.blocked[0]};
    if (!pack(plan, inner, tensor, t.axis.var, t.width.again(), {}, at)) return false;
  } else if (!panel.empty()) {
    if (!pack_panel(plan, inner, tensor, t.axis.var, t.root, panel)) return false;
  } else if (!pack(plan, inner, tensor, t.axis.var, t.width.again())) {
    return false;
  }
  const ir::Stage root = plan.stage(t.root);
  std::string outer = t.column_outer;
  int64_t bytes = bytes_of(plan.program(), *plan.program().buffer(tensor));
  for (const ir::Loop& l : root.loops) {
    const bool blocks = std::count(t.blocked.begin(), t.blocked.end(), l.name) != 0;
    if (!blocks && l.name != t.column_outer) continue;
    bytes /= std::max<int64_t>(1, typical(plan.program(), extent_of(root, l.name)));
    outer = l.name;
  }
  return read_ahead(plan, inner, copy_of(plan, inner, tensor), {t.root, outer}, bytes, t.size.rows);
}

/// Packs what the root reads across its columns, where it adds results of the reduction up.
bool pack_terms(Plan& plan, const Tile& t) {
  if (t.summed.empty()) return true;
  const std::string& columns = t.root_var(t.axis.var);
  for (const Access& a : std::vector(plan.facts(t.root).loads)) {
    const int64_t stride = a.stride(columns);
    const bool across = stride != 0 && stride != 1 && worth_packing(plan, t.root, a, columns);
    if (across && !pack(plan, t.root, a.buffer, columns, t.width.again())) return false;
  }
  return true;
}

/// Puts the loop over tiles of columns inside the others, to be unrolled, unless threads need it.
bool unroll_columns(Plan& plan, Tile& t) {
  const bool alone = t.outer.size() < 2 && plan.machine().threads > 1;
  if (t.two_levels || !t.blocked.empty() || alone) return true;
  std::erase(t.outer, t.column_outer);
  t.outer.push_back(t.column_outer);
  return plan.add(step::unroll({t.root, t.column_outer}));
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
  if (t.size.unrolled && !unroll_columns(plan, t)) return false;
  std::vector<std::string> order = t.outer;
  if (t.columns && !share_tiles(plan, t, order)) return false;
  order.insert(order.end(), t.summed.begin(), t.summed.end());
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
  if (!pack_terms(plan, t)) return false;
  return t.axis.packed.empty() || pack_panels(plan, t, inner);
}

bool emit_or_undo(Plan& plan, Tile& t) {
  Plan::Mark before = plan.mark();
  if (emit(plan, t)) return true;
  plan.rewind(std::move(before));
  return false;
}

/// A copy of what no near cache holds, where it is read far apart.
void pack_far(Plan& plan, Tile& t) {
  for (const Access& a : std::vector(plan.facts(t.producer).loads)) {
    if (a.buffer != t.axis.packed && worth_packing(plan, t.producer, a, t.axis.var) &&
        t.axis.packed.empty() && a.stride(t.axis.var) == 1 && pays_to_pack(plan, t.producer, a) &&
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

/// True where no loop of a stage is split or fused, but into blocks of its results.
bool in_blocks_of_results(const ir::Stage& s) {
  return std::all_of(s.relations.begin(), s.relations.end(), [&](const ir::Relation& r) {
    return r.kind == ir::Relation::kSplit && s.var(r.parent) && !s.is_reduction_var(r.parent);
  });
}

/// Makes the tile: by dot products, or along the cheapest axis.
bool make_tile(Plan& plan, Tile t) {
  const ir::Stage p = plan.stage(t.producer);
  if (p.vars.empty()) return plan.declines("the reduction has one result");
  if (!in_blocks_of_results(p)) {
    return plan.declines("the reduction's loops are split or fused already");
  }
  t.dots = dots_for(plan, t.producer, leaving_store(plan, t));
  const bool along_results =
      t.dots && std::count(t.summed.begin(), t.summed.end(), t.root_var(t.dots.columns)) == 0;
  if (along_results && plan.decide("dot products of " + t.producer, 2, 1) == 1) {
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

/// The tile of the reduction `p` inside the loops of `s`, which alone reads it.
bool tile_inside(Plan& plan, const ir::Stage& s, const ir::Stage& p) {
  Tile t;
  t.root = s.name;
  t.producer = p.name;
  t.follows = alignment(p, s);
  for (const ir::IndexVar& v : s.rvars) t.summed.push_back(v.name);
  // What repeats is stored instead: a small part of the consumer's own result.
  const bool open = p.at.root();
  // What is computed in a loop already is so over that loop's window, all else over the whole.
  const StageFacts facts = open ? facts_of(plan.program(), s) : plan.facts(t.root);
  const bool once = repeats(t.follows, s, facts) == 1;
  const bool apart = !once || best_at_bind(plan, p);
  if (open ? plan.decide("fuse " + p.name + " into " + s.name, 2, !apart) == 0 : !once) {
    return plan.declines(once ? p.name + " was decided to stay a stage of its own"
                              : "its loops would repeat the reduction " + p.name);
  }
  return make_tile(plan, std::move(t));
}

bool apply_tile(Plan& plan, const std::string& name) {
  const ir::Stage s = plan.stage(name);
  if (const ir::Stage* p = fusable(plan, s); p && tile_inside(plan, s, ir::Stage(*p))) return true;
  if (s.reduce == ir::Reduce::kNone) return false;
  Tile t;
  t.root = t.producer = name;
  for (const ir::IndexVar& v : s.vars) t.follows[v.name] = v.name;
  return make_tile(plan, std::move(t));
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
