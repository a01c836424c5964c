// SPDX-License-Identifier: Apache-2.0
#include "jit/passes/lower/loop_values.h"

#include <algorithm>
#include <utility>

#include "jit/passes/lower/accesses.h"
#include "jit/passes/reject.h"

namespace hone::jit {

using namespace ir;

namespace {

/// The first and the last place in the order of loops of what splits and fuses made of `node`.
std::pair<ptrdiff_t, ptrdiff_t> places_of(const StageLoops& loops, int node) {
  const LoopNode& n = loops.nodes[static_cast<size_t>(node)];
  if (n.fused_by >= 0) return places_of(loops, loops.outer[static_cast<size_t>(n.fused_by)]);
  if (n.split_into >= 0) {
    const auto r = static_cast<size_t>(n.split_into);
    const auto outer = places_of(loops, loops.outer[r]), inner = places_of(loops, loops.inner[r]);
    return {std::min(outer.first, inner.first), std::max(outer.second, inner.second)};
  }
  const auto at = std::find(loops.order.begin(), loops.order.end(), node) - loops.order.begin();
  return {at, at};
}

}  // namespace

/// Checks splits whose parts are fused. Where the factor does not divide the loop, a part has fewer
/// iterations beside some of the other part. Fused, it has the same number everywhere. So the outer
/// part must stand outside the inner one as a whole.
void LoopValues::check_fused_splits(Instance& in, int fuse) {
  const StageLoops& loops = *in.loops;
  const auto r = static_cast<size_t>(fuse);
  for (int part : {loops.parent[r], loops.second[r]}) {
    while (loops.nodes[static_cast<size_t>(part)].made_by >= 0) {
      const auto made = static_cast<size_t>(loops.nodes[static_cast<size_t>(part)].made_by);
      const Relation& split = in.stage().relations[made];
      part = loops.parent[made];
      if (split.kind != Relation::kSplit) break;
      const auto outer = places_of(loops, loops.outer[made]);
      const auto inner = places_of(loops, loops.inner[made]);
      if (outer.second < inner.first) continue;
      if (floor_mod(extent_of(in, part), split.factor, &facts_) == Poly()) continue;
      const Relation& rel = in.stage().relations[r];
      reject("fuse " + rel.parent + " " + rel.second + ": split " + split.parent + " " +
             std::to_string(split.factor) + " does not divide its loop, and " + split.outer +
             " does not stand outside " + split.inner + " as a whole");
    }
  }
}

Poly LoopValues::extent_of(Instance& in, int node) {
  auto& known = in.extent[static_cast<size_t>(node)];
  if (known) return *known;
  const LoopNode& n = in.loops->nodes[static_cast<size_t>(node)];
  const size_t vars = in.stage().vars.size();
  if (n.var >= 0) {
    const auto v = static_cast<size_t>(n.var);
    return v < vars ? in.window[v].extent : accesses_.reduction_span(in, v - vars).extent;
  }
  const auto r = static_cast<size_t>(n.made_by);
  const Relation& rel = in.stage().relations[r];
  if (rel.kind == Relation::kFuse) {
    const int second = in.loops->second[r];
    const Poly inner = extent_of(in, second);
    if (!inner.is_constant()) {
      reject("fuse " + rel.parent + " " + rel.second + ": the extent of " + rel.second +
             " is not constant; fuse loops of fixed extent");
    }
    in.trips[r] = std::max<int64_t>(1, inner.constant());
    if (inner.constant() <= 0) return Poly();  // two ranges that end before they begin are none
    check_fused_splits(in, static_cast<int>(r));
    return extent_of(in, in.loops->parent[r]) * inner;
  }
  const Poly whole = extent_of(in, in.loops->parent[r]);
  if (rel.tail == Tail::kPad)
    return n.inner ? Poly(rel.factor) : ceil_div(whole, rel.factor, &facts_);
  const bool even = floor_mod(whole, rel.factor, &facts_) == Poly();
  const int other = n.inner ? in.loops->outer[r] : in.loops->inner[r];
  if (!even && !any_open(in, node) && any_open(in, other) && !value_of(in, other)) {
    const std::string& apart = n.inner ? rel.outer : rel.inner;
    reject("split " + rel.parent + " " + std::to_string(rel.factor) + ": loop " + n.name +
           " stands between the loops of " + apart + ", and " + std::to_string(rel.factor) +
           " does not divide " + print(whole.expr()) + "; reorder it out of them or into them");
  }
  if (!n.inner) {
    // An inner loop that is open already fixes how many blocks there are, unless all are whole.
    const auto open = even ? std::nullopt : value_of(in, in.loops->inner[r]);
    return ceil_div(open ? whole - *open : whole, rel.factor, &facts_);
  }
  // Where the outer loop is itself split and open, what is left of the loop around both.
  const auto base = base_of(in, in.loops->parent[r]);
  return min(rel.factor, base ? whole - *base : whole, &facts_);
}

/// Where the inner loop of the split of `node` starts, once its outer loop is open.
std::optional<Poly> LoopValues::base_of(Instance& in, int node) {
  if (in.base[static_cast<size_t>(node)]) return in.base[static_cast<size_t>(node)];
  const int made = in.loops->nodes[static_cast<size_t>(node)].split_into;
  if (made < 0) return std::nullopt;
  const auto outer = value_of(in, in.loops->outer[static_cast<size_t>(made)]);
  if (!outer) return std::nullopt;
  return *outer * Poly(in.stage().relations[static_cast<size_t>(made)].factor);
}

void LoopValues::place(Instance& in, int node, const Poly& value, const Piece& piece) {
  const LoopNode& n = in.loops->nodes[static_cast<size_t>(node)];
  in.value[static_cast<size_t>(node)] = value;
  if (n.made_by < 0 || n.inner) return;
  const auto r = static_cast<size_t>(n.made_by);
  const Relation& rel = in.stage().relations[r];
  const int from = in.loops->parent[r];
  if (rel.kind == Relation::kFuse) {
    // A loop that never runs is placed all the same: no division by its extent of zero.
    // As when the fused loop's extent was found: what is open by now may hide that it is constant.
    if (in.trips[r] == 0) extent_of(in, node);
    const int64_t k = std::max<int64_t>(1, in.trips[r]);
    const Poly first = floor_div(value, k, &facts_);
    place(in, from, first, Piece{0, 0});
    place(in, in.loops->second[r], value - first * Poly(k), Piece{0, 0});
    return;
  }
  if (n.factored >= 0 && piece.base) reject("a factored loop cannot be peeled");
  const Poly whole = extent_of(in, from);
  Poly base = piece.base ? *piece.base : value * Poly(rel.factor);
  if (piece.line) base = base + *piece.line;
  if (rel.tail == Tail::kOverlap && piece.inner)
    base = max(0, min(base, whole - *piece.inner, &facts_), &facts_);
  const auto inner = static_cast<size_t>(in.loops->inner[r]);
  if (!value_of(in, in.loops->inner[r])) {
    in.extent[inner] = piece.inner              ? *piece.inner
                       : rel.tail == Tail::kPad ? Poly(rel.factor)
                                                : min(rel.factor, whole - base, &facts_);
  }
  in.base[static_cast<size_t>(from)] = std::move(base);
}

void LoopValues::unplace(Instance& in, int node) {
  const LoopNode& n = in.loops->nodes[static_cast<size_t>(node)];
  in.value[static_cast<size_t>(node)].reset();
  if (n.made_by < 0 || n.inner) return;
  const auto r = static_cast<size_t>(n.made_by);
  if (in.stage().relations[r].kind == Relation::kFuse) {
    unplace(in, in.loops->parent[r]);
    unplace(in, in.loops->second[r]);
    return;
  }
  in.base[static_cast<size_t>(in.loops->parent[r])].reset();
  if (!in.value[static_cast<size_t>(in.loops->inner[r])]) {
    in.extent[static_cast<size_t>(in.loops->inner[r])].reset();
  }
}

bool LoopValues::any_open(const Instance& in, int node) const {
  if (in.value[static_cast<size_t>(node)]) return true;
  const int r = in.loops->nodes[static_cast<size_t>(node)].split_into;
  if (r < 0) return false;
  return any_open(in, in.loops->outer[static_cast<size_t>(r)]) ||
         any_open(in, in.loops->inner[static_cast<size_t>(r)]);
}

std::optional<Poly> LoopValues::value_of(Instance& in, int node) {
  const auto at = static_cast<size_t>(node);
  if (in.value[at]) return in.value[at];
  const LoopNode& n = in.loops->nodes[at];
  if (n.fused_by >= 0) {  // the fused loop may be split in turn
    const auto r = static_cast<size_t>(n.fused_by);
    const auto fused = value_of(in, in.loops->outer[r]);
    const int64_t k = in.trips[r];
    if (!fused || k == 0) return std::nullopt;
    const Poly first = floor_div(*fused, k, &facts_);
    return in.loops->parent[r] == node ? first : *fused - first * Poly(k);
  }
  const auto base = base_of(in, node);
  if (n.split_into < 0 || !base) return std::nullopt;
  auto inner = value_of(in, in.loops->inner[static_cast<size_t>(n.split_into)]);
  if (!inner) return std::nullopt;
  return *base + *inner;
}

Span LoopValues::range_of(Instance& in, int node) {
  if (auto v = value_of(in, node)) return {*v, 1};
  const LoopNode& n = in.loops->nodes[static_cast<size_t>(node)];
  const auto base = base_of(in, node);
  if (n.split_into >= 0 && base) {
    const int inner = in.loops->inner[static_cast<size_t>(n.split_into)];
    Span s = range_of(in, inner);
    s.lo += *base;
    return s;
  }
  if (n.fused_by >= 0 && in.loops->parent[static_cast<size_t>(n.fused_by)] == node) {
    const auto fuse = static_cast<size_t>(n.fused_by);
    const int both = in.loops->outer[fuse];
    extent_of(in, both);  // finds the trips
    if (const Span s = range_of(in, both); in.trips[fuse] > 0 && any_open(in, both)) {
      const Poly first = floor_div(s.lo, in.trips[fuse], &facts_);
      const Poly last = floor_div(s.lo + s.extent - Poly(1), in.trips[fuse], &facts_);
      return {first, last - first + Poly(1)};
    }
  }
  if (n.factored >= 0) {
    const Span& w = in.window[in.stage().vars.size() + static_cast<size_t>(n.factored)];
    return {w.lo, min(w.lo + w.extent, extent_of(in, node), &facts_) - w.lo};
  }
  return {0, extent_of(in, node)};
}

Span LoopValues::values_of(Instance& in, size_t v) {
  Span s = range_of(in, static_cast<int>(v));
  const std::vector<IndexVar>& vars = in.stage().vars;
  if (v >= vars.size()) {
    s.lo += accesses_.reduction_span(in, v - vars.size()).lo;
    return s;
  }
  const Span& window = in.window[v];
  if (vars[v].backward) s.lo = window.extent - s.lo - s.extent;
  s.lo += window.lo;
  return s;
}

std::vector<Span> LoopValues::spans_of(Instance& in) {
  std::vector<Span> spans;
  for (size_t v = 0; v < in.stage().vars.size() + in.stage().rvars.size(); ++v) {
    spans.push_back(values_of(in, v));
  }
  return spans;
}

}  // namespace hone::jit
