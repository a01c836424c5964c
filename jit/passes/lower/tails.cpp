// SPDX-License-Identifier: Apache-2.0
#include "jit/passes/lower/tails.h"

#include <algorithm>
#include <utility>

#include "jit/passes/lower/expressions.h"
#include "jit/passes/lower/loop_values.h"
#include "jit/passes/lower/partition.h"
#include "jit/passes/lower/store_lines.h"
#include "jit/passes/lower/thread_loops.h"
#include "jit/passes/lower/windows.h"
#include "jit/passes/reject.h"

namespace hone::jit {

using namespace ir;

/// Main blocks, then the rest. A remainder known only at run time is split by powers of two, so
/// that each part has a constant extent:
///   o in 0..E/f: i in f    then, for b = 8, 4, 2, 1 below f: if rem/b is odd: i in b
std::vector<Piece> Tails::peeled_pieces(const Poly& whole, int64_t factor) {
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

std::vector<Piece> Tails::split_pieces(Instance& in, int node) {
  const LoopNode& n = in.loops->nodes[static_cast<size_t>(node)];
  const auto r = static_cast<size_t>(n.made_by);
  const Relation& rel = in.stage().relations[r];
  const Poly whole = values_.extent_of(in, in.loops->parent[r]);
  if (rel.tail == Tail::kPad) {
    return {{0, ceil_div(whole, rel.factor, &facts_), {}, {}, Poly(rel.factor)}};
  }
  const auto inner = values_.value_of(in, in.loops->inner[r]);
  if (inner) {  // the inner loop is outside: it fixes how many blocks there are
    return {{0, values_.extent_of(in, node)}};
  }
  if (whole.is_constant() && whole.constant() <= 0) return {{0, 0}};
  const Poly rest = floor_mod(whole, rel.factor, &facts_);
  const Poly blocks = ceil_div(whole, rel.factor, &facts_);
  if (rest == Poly()) return {{0, blocks, {}, {}, Poly(rel.factor)}};
  if (values_.any_open(in, in.loops->inner[r])) {
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
      if (const auto before = lines_.before_first(in, node)) {
        return lines_.pieces(whole, rel.factor, *before);
      }
      return peeled_pieces(whole, rel.factor);
    case Tail::kMask:
      return {{0, blocks}};
    default:
      break;
  }
  // A stage that is computed inside may read what is stored, too.
  const Place here{in.stage().name, rel.outer};
  const auto& readers = context_.tree.readers(in.stage().output);
  const bool rereads = std::any_of(readers.begin(), readers.end(), [&](size_t reader) {
    const bool itself = program_.stages[reader].name == here.stage;
    return itself || context_.tree.is_inside(reader, here);
  });
  if (n.reduction || in.stage().reduce != Reduce::kNone || rereads) {
    reject("split " + rel.parent +
           ": tail=overlap stores some elements twice, which only a stage "
           "without reduction that does not read its own output allows; use tail=peel");
  }
  return {{0, blocks, {}, {}, min(rel.factor, whole, &facts_)}};
}

std::vector<Piece> Tails::pieces_of(Instance& in, int node, bool init) {
  const LoopNode& n = in.loops->nodes[static_cast<size_t>(node)];
  std::vector<Piece> pieces;
  const bool outer = n.made_by >= 0 && !n.inner &&
                     in.stage().relations[static_cast<size_t>(n.made_by)].kind == Relation::kSplit;
  if (n.factored >= 0) {
    // An output index: its window, cut to where the reduction has values unless initialising.
    const Span& w = in.window[in.stage().vars.size() + static_cast<size_t>(n.factored)];
    Poly end = w.lo + w.extent;
    // Blocks around an inner loop that is open already are counted from where that stands.
    if (!init && outer && values_.any_open(in, in.loops->inner[static_cast<size_t>(n.made_by)])) {
      end = min(end, split_pieces(in, node).back().end, &facts_);
    } else if (!init) {
      end = min(end, values_.extent_of(in, node), &facts_);
    }
    return {{w.lo, end}};
  }
  if (outer) {
    pieces = split_pieces(in, node);
  } else {
    pieces.push_back({0, values_.extent_of(in, node)});
  }
  if (init) return pieces;
  const Loop* leaf = in.stage().loop(n.name);
  std::vector<Piece> cut;
  for (Piece& p : pieces) {
    if (in.stage().where) tighten(in, node, p);
    if (leaf && leaf->partition) {
      for (Piece& part : partition_.cut(in, node, p)) cut.push_back(std::move(part));
    } else {
      cut.push_back(std::move(p));
    }
  }
  return cut;
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

/// True when the stage writes or reads a tile in registers, of a thread or of a warp: what numbers
/// them is fixed.
bool Tails::in_registers(const Stage& s, Space space) const {
  bool found = program_.buffer(s.output)->space == space;
  visit(s.value, [&](const Expr& e) {
    found |= e->op == Op::kLoad && program_.buffer(e->name)->space == space;
  });
  return found;
}

/// True when threads wait for one another inside the stage, for what they share.
bool Tails::shares_inside(const Stage& s) const {
  return std::any_of(program_.stages.begin(), program_.stages.end(), [&](const Stage& t) {
    return t.at.stage == s.name && program_.buffer(t.output)->space == Space::kSharedMemory;
  });
}

/// True where it is known over what the reduced variables run: a range that another variable
/// decides is so inside that one's loops.
bool Tails::ranges_known(Instance& in) {
  const Stage& s = in.stage();
  const auto open = [&](const Expr& e) {
    return !any_node(e, [&](const Expr& x) {
      return x->op == Op::kVar && !values_.value_of(in, in.loops->find(x->name));
    });
  };
  return std::all_of(s.rvars.begin(), s.rvars.end(),
                     [&](const IndexVar& v) { return open(v.lo) && open(v.hi); });
}

/// A condition of `where` bounds a loop to the iterations in which it can hold, for some thread
/// where threads run it together:
///   for j in 0..N: if j <= i: S    =>    for j in 0..min(N, i+1): S
void Tails::tighten(Instance& in, int node, Piece& piece) {
  const int id = static_cast<int>(nest_.loops.size());
  facts_.define_loop(id, piece.begin, piece.end);
  values_.place(in, node, Poly::atom(make_var("", id)), piece);
  if (!ranges_known(in)) return values_.unplace(in, node);
  std::vector<Span> spans = values_.spans_of(in);
  if (shares_inside(in.stage())) {
    for (Span& span : spans) span = threads_.over_all(span, in.stage().output);
  }
  const Poly begin = piece.begin, end = piece.end;
  each_inequality(in.stage().where, [&](const Expr& a, const Expr& b, bool strict) {
    if (mentions_load(a) || mentions_load(b)) return;
    // Before the identity is stored, what is reduced does not bound what is written.
    if (in.stage().reduce != Reduce::kNone && !in.initialised &&
        (mentions_reduced(in.stage(), a) || mentions_reduced(in.stage(), b))) {
      return;
    }
    const auto low = windows_.interval(a, spans, in.stage()),
               high = windows_.interval(b, spans, in.stage());
    if (!low || !high) return;
    // What holds nowhere for any iteration of the loops inside is left out.
    const Poly p = high->lo + high->extent - Poly(1) - low->lo - Poly(strict ? 1 : 0);
    restrict_range(p, id, piece.begin, piece.end, facts_);
  });
  const Loop* leaf = in.stage().loop(in.loops->nodes[static_cast<size_t>(node)].name);
  const bool copied =
      leaf && (leaf->mark == Mark::kUnroll || in_registers(in.stage(), Space::kWarp) ||
               (leaf->mark == Mark::kVector && in_registers(in.stage(), Space::kRegisters)));
  if (copied && !(piece.begin.is_constant() && piece.end.is_constant())) {
    piece.begin = begin;  // copies need constant bounds: the condition is tested in each
    piece.end = end;
  }
  values_.unplace(in, node);
}

}  // namespace hone::jit
