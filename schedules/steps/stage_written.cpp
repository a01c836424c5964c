// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "schedules/steps/stage_copy.h"

namespace hone::schedules {
namespace {

/// How the loops of a stage divide at a loop L: those inside it go to the copy's stage.
struct Division {
  const ir::Stage& s;
  size_t at;                                   ///< position of L
  std::map<std::string, std::string> renamed;  ///< loop of s inside L -> loop of the copy's stage
  std::vector<ir::Relation> relations;         ///< of the copy's stage
  std::vector<std::string> points;    ///< variables with no loop inside L: their window is a point
  std::vector<std::string> factored;  ///< reduction loops outside L
  std::string wrong;

  enum Side { kInside, kOutside, kMixed };

  const ir::Relation* derives(const std::string& node) const {
    for (const ir::Relation& r : s.relations) {
      if (r.parent == node || (r.kind == ir::Relation::kFuse && r.second == node)) return &r;
    }
    return nullptr;
  }
  Side side(const std::string& node) const {
    const ir::Relation* r = derives(node);
    if (!r) return position_of(s, node) > at ? kInside : kOutside;
    if (r->kind == ir::Relation::kFuse) return side(r->outer);
    const Side outer = side(r->outer), inner = side(r->inner);
    return outer == inner ? outer : kMixed;
  }
  /// Takes over the loops and relations below `node`, which becomes `name`.
  void take(const std::string& node, const std::string& name) {
    renamed[node] = name;
    const ir::Relation* r = derives(node);
    if (!r) return;
    ir::Relation own = *r;
    if (own.parent == node) own.parent = name;
    if (own.kind == ir::Relation::kFuse) {
      if (own.second == node) own.second = name;
      // Both parents come here; the second visit completes what the first began.
      for (ir::Relation& other : relations) {
        if (other.kind != ir::Relation::kFuse || other.outer != own.outer) continue;
        if (r->parent == node) other.parent = name;
        if (r->second == node) other.second = name;
        return;
      }
    }
    relations.push_back(own);
    take(own.outer, own.outer);
    if (own.kind == ir::Relation::kSplit) take(own.inner, own.inner);
  }
  /// The largest parts of `node` that lie wholly on `wanted`.
  void parts(const std::string& node, Side wanted, std::vector<std::string>& out) {
    const Side here = side(node);
    if (here == wanted) out.push_back(node);
    if (here != kMixed) return;
    const ir::Relation* r = derives(node);
    if (r->kind == ir::Relation::kFuse) {
      wrong = "loop " + r->outer + " is fused and its parts lie on both sides of " +
              s.loops[at].name + "; stage at another loop";
      return;
    }
    parts(r->outer, wanted, out);
    parts(r->inner, wanted, out);
  }
  void add_index(const std::string& var) {
    if (side(var) == kInside) return take(var, var);
    std::vector<std::string> inside;
    parts(var, kInside, inside);
    if (inside.empty()) {
      points.push_back(var);
    } else if (inside.size() == 1) {
      take(inside[0], var);
    } else if (wrong.empty()) {
      wrong = "what " + s.loops[at].name + " leaves of " + var + " (" + list_text(inside) +
              ") is not one piece; stage at another loop";
    }
  }
  void add_reduced(const std::string& var) {
    if (side(var) == kInside) return take(var, var);
    parts(var, kOutside, factored);
    keep_path(var);
  }
  /// Relations from a reduced variable down to the parts on either side.
  void keep_path(const std::string& node) {
    if (side(node) == kOutside) return;
    if (side(node) == kInside) return take(node, node);
    const ir::Relation* r = derives(node);
    if (!wrong.empty()) return;
    relations.push_back(*r);
    keep_path(r->outer);
    keep_path(r->inner);
  }
};

Division divide(const ir::Stage& s, size_t at) {
  Division d{s, at, {}, {}, {}, {}, {}};
  for (const ir::IndexVar& v : s.vars) d.add_index(v.name);
  for (const ir::IndexVar& v : s.rvars) d.add_reduced(v.name);
  return d;
}

/// The stage that computes the window: the definition of `s`, the loops inside L.
ir::Stage window_stage(const ir::Stage& s, const Division& d, const std::string& name) {
  ir::Stage out = s;
  out.name = out.output = name;
  out.relations = d.relations;
  out.factored = d.factored;
  out.at = {s.name, s.loops[d.at].name};
  out.store = {};
  out.loops.clear();
  out.prefetches.clear();
  for (const auto* outer : {&d.factored, &d.points}) {
    for (const std::string& loop : *outer) out.loops.push_back({loop, ir::Mark::kSerial, false});
  }
  for (size_t i = d.at + 1; i < s.loops.size(); ++i) {
    out.loops.push_back(s.loops[i]);
    out.loops.back().name = d.renamed.at(s.loops[i].name);
  }
  return out;
}

/// Turns `s` into the stage that copies the window out, adding up over the factored loops.
void become_copy(ir::Stage& s, const Division& d, const ir::Buffer& window, DType type) {
  std::vector<ir::Expr> indices = s.out_index;
  std::vector<ir::IndexVar> rvars;
  for (const std::string& loop : d.factored) {
    indices.push_back(ir::make_var(loop));
    // Factored loops count from 0, whatever range their variable runs over.
    rvars.push_back({loop, {}, extent_of(s, loop)});
  }
  std::vector<ir::Loop> loops;
  for (size_t i = 0; i < s.loops.size(); ++i) {
    if (i <= d.at || !is_reduction(s, s.loops[i].name)) loops.push_back(s.loops[i]);
  }
  // Relations of reduced variables stay only below a factored loop.
  std::vector<ir::Relation> relations;
  for (const ir::Relation& r : s.relations) {
    if (!is_reduction(s, r.parent) || d.side(r.parent) == Division::kOutside) {
      relations.push_back(r);
    }
  }
  ir::Expr value = ir::make_load(window.name, window.type, std::move(indices));
  const bool sums = !rvars.empty();
  s.value = sums || value->type == type ? value : ir::make_cast(type, value);
  if (!sums) s.reduce = ir::Reduce::kNone;
  s.where = without(s.where, s.rvars);
  s.rvars = std::move(rvars);
  s.loops = std::move(loops);
  s.relations = std::move(relations);
}

/// Stages and prefetches inside L follow the loops to the stage that took them.
void move_placements(ir::Program& p, const Division& d, ir::Stage& window) {
  const auto moved = [&](const std::string& loop) { return position_of(d.s, loop) > d.at; };
  const auto follow = [&](const ir::Place& place) {
    return moved(place.loop) ? ir::Place{window.name, d.renamed.at(place.loop)} : place;
  };
  move_places(p, d.s.name, follow);
  for (const ir::Prefetch& f : d.s.prefetches) {
    if (!moved(f.loop)) continue;
    const ir::Place outer = f.outer.stage == d.s.name ? follow(f.outer) : f.outer;
    window.prefetches.push_back({f.tensor, d.renamed.at(f.loop), f.distance, outer});
  }
}

}  // namespace

Applied copy_written(ir::Program p, const Step& step, const CopySpot& spot) {
  const ir::Stage old = p.stages[spot.owner];
  const ir::Buffer tensor = *p.buffer(old.output);
  if (!old.factored.empty()) {
    return ir::Reject{"stage " + old.name + " has factored loops; stage what reads it"};
  }
  if (reads(old, old.output)) {
    return ir::Reject{"stage " + old.name + " reads " + old.output + ", which it writes"};
  }
  if (old.from_old) {
    return ir::Reject{"stage " + old.name + " goes on from what " + old.output + " holds"};
  }
  if (std::string wrong = no_partial_results(old); !wrong.empty()) {
    return ir::Reject{std::move(wrong)};
  }
  if (std::string wrong = windowless(old); !wrong.empty()) return ir::Reject{std::move(wrong)};
  const Division d = divide(old, spot.loop);
  if (!d.wrong.empty()) return ir::Reject{d.wrong};
  std::vector<std::string> dims;
  for (const ir::Expr& e : old.out_index) dims.push_back(e->op == ir::Op::kVar ? e->name : "");
  auto axes = layout_axes(step, step.name("tensor"), dims);
  if (!axes) return axes.failure();

  ir::Buffer window;
  window.name = step.name("copy");
  window.type = old.reduce == ir::Reduce::kNone ? tensor.type : old.accumulate;
  window.shape = tensor.shape;
  for (const std::string& loop : d.factored) window.shape.push_back(extent_of(old, loop));
  window.axes = *std::move(axes);
  window.space = space_named(step.name("in"));
  window.pad = step.number("pad");
  window.swizzle = step.name("swizzle") == "on";

  ir::Stage made = window_stage(old, d, window.name);
  move_placements(p, d, made);
  ir::Stage& owner = p.stages.edit(spot.owner);
  std::erase_if(owner.prefetches,
                [&](const ir::Prefetch& f) { return position_of(old, f.loop) > spot.loop; });
  become_copy(owner, d, window, tensor.type);
  p.buffers.push_back(std::move(window));
  p.stages.insert(spot.owner, std::move(made));
  return p;
}

}  // namespace hone::schedules
