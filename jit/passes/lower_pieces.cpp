// SPDX-License-Identifier: Apache-2.0
// Extents of loops, the pieces that tails cut them into, bounds from `where`.
#include <algorithm>
#include <utility>

#include "jit/passes/lowering.h"

namespace hone::jit {

using namespace ir;

namespace {

bool mentions_load(const Expr& e) {
  bool found = false;
  visit(e, [&](const Expr& x) { found |= x->op == Op::kLoad; });
  return found;
}

}  // namespace

StageLoops::StageLoops(const Stage& s) : stage(&s) {
  for (const IndexVar& v : s.vars)
    nodes.push_back({.name = v.name, .var = static_cast<int>(nodes.size())});
  for (const IndexVar& v : s.rvars) {
    nodes.push_back({.name = v.name, .var = static_cast<int>(nodes.size()), .reduction = true});
  }
  for (size_t r = 0; r < s.relations.size(); ++r) {
    const Relation& rel = s.relations[r];
    const int from = find(rel.parent);
    const bool reduction = nodes[static_cast<size_t>(from)].reduction;
    const int made = static_cast<int>(r);
    parent.push_back(from);
    outer.push_back(static_cast<int>(nodes.size()));
    nodes.push_back({.name = rel.outer, .made_by = made, .reduction = reduction});
    if (rel.kind == Relation::kSplit) {
      nodes[static_cast<size_t>(from)].split_into = made;
      inner.push_back(static_cast<int>(nodes.size()));
      second.push_back(-1);
      nodes.push_back({.name = rel.inner, .made_by = made, .inner = true, .reduction = reduction});
    } else {
      const int other = find(rel.second);
      nodes[static_cast<size_t>(from)].fused_by = made;
      nodes[static_cast<size_t>(other)].fused_by = made;
      inner.push_back(-1);
      second.push_back(other);
    }
  }
  for (size_t f = 0; f < s.factored.size(); ++f) {
    LoopNode& n = nodes[static_cast<size_t>(find(s.factored[f]))];
    n.factored = static_cast<int>(f);
    n.reduction = false;
  }
  for (const Loop& l : s.loops) order.push_back(find(l.name));
}

int StageLoops::find(std::string_view name) const {
  // The youngest node of a name: a factored loop may carry the name of its root.
  for (size_t i = nodes.size(); i-- > 0;) {
    if (nodes[i].name == name) return static_cast<int>(i);
  }
  reject("stage " + stage->name + " has no loop named " + std::string(name));
}

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

/// A part of a split that does not divide its loop has fewer iterations beside some of the other
/// part. Fused, it has the same number in all of its loops: of the two parts, the outer one must
/// stand outside the inner one as a whole.
void Lowering::check_fused_splits(Instance& in, int fuse) {
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

Poly Lowering::extent_of(Instance& in, int node) {
  auto& known = in.extent[static_cast<size_t>(node)];
  if (known) return *known;
  const LoopNode& n = in.loops->nodes[static_cast<size_t>(node)];
  const size_t vars = in.stage().vars.size();
  if (n.var >= 0) {
    const auto v = static_cast<size_t>(n.var);
    return v < vars ? in.window[v].extent : reduction_span(in, v - vars).extent;
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
    if (inner == Poly()) return inner;
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
std::optional<Poly> Lowering::base_of(Instance& in, int node) {
  if (in.base[static_cast<size_t>(node)]) return in.base[static_cast<size_t>(node)];
  const int made = in.loops->nodes[static_cast<size_t>(node)].split_into;
  if (made < 0) return std::nullopt;
  const auto outer = value_of(in, in.loops->outer[static_cast<size_t>(made)]);
  if (!outer) return std::nullopt;
  return *outer * Poly(in.stage().relations[static_cast<size_t>(made)].factor);
}

/// Main blocks, then what is left. A remainder known only at run time is taken apart by powers of
/// two, so that each part has a constant extent:
///   o in 0..E/f: i in f    then, for b = 8, 4, 2, 1 below f: if rem/b is odd: i in b
std::vector<Piece> Lowering::peeled_pieces(const Poly& whole, int64_t factor) {
  // A range of dims may be given backwards and is empty then; ranges from data are checked.
  const Poly extent = mentions_load(whole.expr()) ? whole : max(0, whole, &facts_);
  const Poly blocks = floor_div(extent, factor, &facts_);
  const Poly rest = extent - blocks * Poly(factor);
  std::vector<Piece> pieces{{0, blocks, {}, {}, Poly(factor)}};
  if (rest.is_constant()) {
    if (rest.constant() > 0) pieces.push_back({blocks, blocks + Poly(1), {}, {}, rest});
    return pieces;
  }
  int64_t b = 1;
  while (b * 2 < factor) b *= 2;
  for (; b >= 1; b /= 2) {
    const Poly above = floor_div(rest, 2 * b, &facts_) * Poly(2 * b);
    const Poly start = blocks * Poly(factor) + above;
    pieces.push_back({blocks, blocks + Poly(1), rest - above - Poly(b), start, Poly(b)});
  }
  return pieces;
}

std::vector<Piece> Lowering::split_pieces(Instance& in, int node) {
  const LoopNode& n = in.loops->nodes[static_cast<size_t>(node)];
  const auto r = static_cast<size_t>(n.made_by);
  const Relation& rel = in.stage().relations[r];
  const Poly whole = extent_of(in, in.loops->parent[r]);
  if (rel.tail == Tail::kPad) {
    return {{0, ceil_div(whole, rel.factor, &facts_), {}, {}, Poly(rel.factor)}};
  }
  const auto inner = value_of(in, in.loops->inner[r]);
  if (inner) {  // the inner loop is outside: it fixes how many blocks there are
    return {{0, extent_of(in, node)}};
  }
  if (whole.is_constant() && whole.constant() <= 0) return {{0, 0}};
  const Poly rest = floor_mod(whole, rel.factor, &facts_);
  const Poly blocks = ceil_div(whole, rel.factor, &facts_);
  if (rest == Poly()) return {{0, blocks, {}, {}, Poly(rel.factor)}};
  if (any_open(in, in.loops->inner[r])) {
    reject("split " + rel.parent + " " + std::to_string(rel.factor) + ": loop " + rel.outer +
           " stands between the loops of " + rel.inner +
           ", whose extent in the last block is smaller; reorder it out of them or into them");
  }
  if (whole.is_constant() && whole.constant() < rel.factor && rel.tail != Tail::kExact) {
    return {{0, 1, {}, {}, whole}};
  }
  switch (rel.tail) {
    case Tail::kExact:
      reject("split " + rel.parent + " " + std::to_string(rel.factor) + ": " +
             std::to_string(rel.factor) + " does not divide " + print(whole.expr()) +
             " and tail=exact; use tail=mask or tail=peel");
    case Tail::kPeel:
      return peeled_pieces(whole, rel.factor);
    case Tail::kMask:
      return {{0, blocks}};
    default:
      break;
  }
  const bool rereads = [&] {
    bool found = false;
    visit(in.stage().value,
          [&](const Expr& e) { found |= e->op == Op::kLoad && e->name == in.stage().output; });
    return found;
  }();
  if (n.reduction || in.stage().reduce != Reduce::kNone || rereads) {
    reject("split " + rel.parent +
           ": tail=overlap stores some elements twice, which only a stage "
           "without reduction that does not read its own output allows; use tail=peel");
  }
  return {{0, blocks, {}, {}, min(rel.factor, whole, &facts_)}};
}

std::vector<Piece> Lowering::pieces_of(Instance& in, int node, bool init) {
  const LoopNode& n = in.loops->nodes[static_cast<size_t>(node)];
  std::vector<Piece> pieces;
  const bool outer = n.made_by >= 0 && !n.inner &&
                     in.stage().relations[static_cast<size_t>(n.made_by)].kind == Relation::kSplit;
  if (n.factored >= 0) {
    // An output index: its window, cut to where the reduction has values unless initialising.
    const Span& w = in.window[in.stage().vars.size() + static_cast<size_t>(n.factored)];
    Poly end = w.lo + w.extent;
    // Blocks around an inner loop that is open already are counted from where that stands.
    if (!init && outer && any_open(in, in.loops->inner[static_cast<size_t>(n.made_by)])) {
      end = min(end, split_pieces(in, node).back().end, &facts_);
    } else if (!init) {
      end = min(end, extent_of(in, node), &facts_);
    }
    return {{w.lo, end}};
  }
  if (outer) {
    pieces = split_pieces(in, node);
  } else {
    pieces.push_back({0, extent_of(in, node)});
  }
  if (init) return pieces;
  const Loop* leaf = in.stage().loop(n.name);
  std::vector<Piece> cut;
  for (Piece& p : pieces) {
    if (in.stage().where) tighten(in, node, p);
    if (leaf && leaf->partition) {
      for (Piece& part : partition(in, node, p)) cut.push_back(std::move(part));
    } else {
      cut.push_back(std::move(p));
    }
  }
  return cut;
}

void Lowering::place(Instance& in, int node, const Poly& value, const Piece& piece) {
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

void Lowering::unplace(Instance& in, int node) {
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

/// True when `node`, or a loop that derives from it, is open.
bool Lowering::any_open(const Instance& in, int node) const {
  if (in.value[static_cast<size_t>(node)]) return true;
  const int r = in.loops->nodes[static_cast<size_t>(node)].split_into;
  if (r < 0) return false;
  return any_open(in, in.loops->outer[static_cast<size_t>(r)]) ||
         any_open(in, in.loops->inner[static_cast<size_t>(r)]);
}

std::optional<Poly> Lowering::value_of(Instance& in, int node) {
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

namespace {

/// Calls f on every `a <= b` of a conjunction, as the polynomial-to-be b - a.
template <class F>
void each_inequality(const Expr& e, const F& f) {
  if (e->op == Op::kAnd) {
    each_inequality(e->args[0], f);
    each_inequality(e->args[1], f);
  } else if ((e->op == Op::kLe || e->op == Op::kLt) && !is_float(e->args[0]->type)) {
    f(e->args[0], e->args[1], e->op == Op::kLt);
  }
}

}  // namespace

/// True when `e` depends on a variable that the stage reduces.
static bool mentions_reduced(const Stage& s, const Expr& e) {
  bool found = false;
  visit(e, [&](const Expr& n) { found |= n->op == Op::kVar && s.is_reduction_var(n->name); });
  return found;
}

/// True when the stage writes or reads a register tile, whose vectors are fixed.
bool Lowering::in_registers(const Stage& s) const {
  bool found = program_.buffer(s.output)->space == Space::kRegisters;
  visit(s.value, [&](const Expr& e) {
    found |= e->op == Op::kLoad && program_.buffer(e->name)->space == Space::kRegisters;
  });
  return found;
}

/// A condition of `where` bounds a loop to the iterations in which it can hold:
///  for j in 0..N: if j <= i: S    =>    for j in 0..min(N, i+1): S
void Lowering::tighten(Instance& in, int node, Piece& piece) {
  const int id = static_cast<int>(nest_.loops.size());
  facts_.define_loop(id, piece.begin, piece.end);
  place(in, node, Poly::atom(make_var("", id)), piece);
  const std::vector<Span> spans = spans_of(in);
  const Poly begin = piece.begin, end = piece.end;
  each_inequality(in.stage().where, [&](const Expr& a, const Expr& b, bool strict) {
    if (mentions_load(a) || mentions_load(b)) return;
    // Before the identity is stored, what is reduced does not bound what is written.
    if (in.stage().reduce != Reduce::kNone && !in.initialised &&
        (mentions_reduced(in.stage(), a) || mentions_reduced(in.stage(), b))) {
      return;
    }
    const auto low = interval(a, spans, in.stage()), high = interval(b, spans, in.stage());
    if (!low || !high) return;
    // What holds nowhere for any iteration of the loops inside is left out.
    const Poly p = high->lo + high->extent - Poly(1) - low->lo - Poly(strict ? 1 : 0);
    restrict_range(p, id, piece.begin, piece.end, facts_);
  });
  const Loop* leaf = in.stage().loop(in.loops->nodes[static_cast<size_t>(node)].name);
  const bool copied = leaf && (leaf->mark == Mark::kUnroll ||
                               (leaf->mark == Mark::kVector && in_registers(in.stage())));
  if (copied && !(piece.begin.is_constant() && piece.end.is_constant())) {
    piece.begin = begin;  // copies need constant bounds: the condition is tested in each
    piece.end = end;
  }
  unplace(in, node);
}

}  // namespace hone::jit
