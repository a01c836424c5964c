// SPDX-License-Identifier: Apache-2.0
#include "jit/passes/lower/partition.h"

#include "jit/ir/extremes.h"
#include "jit/passes/lower/accesses.h"
#include "jit/passes/lower/expressions.h"
#include "jit/passes/lower/loop_values.h"
#include "jit/passes/lower/windows.h"

namespace hone::jit {

using namespace ir;

namespace {

/// Parts of a loop beyond which it is not cut further. A row out of many tensors has a part for
/// each, and one for each border.
/// Chosen: a row out of 32 tensors (not measured).
constexpr size_t kMostParts = 64;

bool is_index_comparison(const Expr& e) {
  const bool compares =
      e->op == Op::kLt || e->op == Op::kLe || e->op == Op::kEq || e->op == Op::kNe;
  return compares && e->args[0]->type == DType::kI64 && !mentions_load(e);
}

bool is_quotient(const Expr& e) { return e->op == Op::kDiv || e->op == Op::kMod; }

/// True of a quotient of indices that has none inside.
bool is_index_quotient(const Expr& e) {
  return is_quotient(e) && e->type == DType::kI64 && !mentions_load(e) &&
         !any_node(e->args[0], is_quotient);
}

/// Iterations of a loop that are parts of their own.
/// Fixed by: a border, an interior and a border come to as many.
constexpr int64_t kFewIterations = 3;

/// An index that is the least or the greatest of two: it turns where one becomes the other.
bool is_index_extreme(const Expr& e) { return as_extreme(e) && !mentions_load(e); }

/// Sums that an index may be, one for each way in which its minima and maxima turn out.
/// Chosen: enough for a read that is reflected at both ends (not measured).
constexpr size_t kMostArms = 4;

std::vector<Expr> arms_of(const Expr& e) {
  std::vector<Expr> out;
  const Expr extreme = as_extreme(e);
  if (extreme) {
    for (const Expr& a : extreme->args) {
      for (Expr& arm : arms_of(a)) out.push_back(std::move(arm));
    }
  } else if (e->args.size() == 1) {
    for (const Expr& a : arms_of(e->args[0])) out.push_back(with_args(e, {a}));
  } else if (e->args.size() == 2) {
    for (const Expr& a : arms_of(e->args[0])) {
      for (const Expr& b : arms_of(e->args[1])) out.push_back(with_args(e, {a, b}));
    }
  }
  if (out.empty() || out.size() > kMostArms) return {e};
  return out;
}

/// A sum that is linear in loop `id` and negative where p is; p itself where there is none.
/// floor(x / k) >= n is x >= k*n, and floor(x / k) <= n is x < k*(n + 1).
Poly without_quotient(const Poly& p, int id, const Facts& facts) {
  for (const Poly::Term& t : p.terms()) {
    const Expr& f = t.factors[0];
    int64_t k = 0;
    if (t.factors.size() != 1 || f->op != Op::kDiv || !mentions_loop(f, id)) continue;
    if (!is_const(f->args[1], &k) || k <= 0) continue;
    const Poly rest = p - Poly(t.coef) * Poly::atom(Expr(f));
    if (rest.mentions_loop(id)) continue;
    const Poly x = Poly::of(f->args[0], &facts);
    if (t.coef > 0) return x - Poly(k) * ceil_div(Poly() - rest, t.coef, &facts);
    return Poly(k) * floor_div(rest, -t.coef, &facts) + Poly(k - 1) - x;
  }
  return p;
}

Slack slack_of(const Span& a, const Span& b, int64_t strict) {
  const Poly one(1);
  return {b.lo - a.lo - a.extent + one - Poly(strict), b.lo + b.extent - one - a.lo - Poly(strict)};
}

}  // namespace

void restrict_range(const Poly& left, int id, Poly& begin, Poly& end, const Facts& facts) {
  const Poly p = without_quotient(left, id, facts);
  const int64_t c = p.loop_coef(id);
  const Poly rest = p - Poly(c) * Poly::atom(make_var("", id));
  if (c == 0 || rest.mentions_loop(id)) return;
  if (c > 0) {
    begin = max(begin, ceil_div(Poly() - rest, c, &facts), &facts);
  } else {
    end = min(end, floor_div(rest, -c, &facts) + Poly(1), &facts);
  }
}

/// Cuts loop `id` where every index of a guarded load is inside its tensor, and where any is.
/// Vectors beyond the latter range need no load at all. True where the loop decides which elements
/// are inside, and no iteration is for sure.
bool Partition::cuts_of_load(const Expr& load, const Stage& reader, const std::vector<Span>& spans,
                             int id, const Piece& piece, std::vector<Poly>& cuts) {
  Poly begin = piece.begin, end = piece.end;
  Poly first = piece.begin, last = piece.end;
  Instance none;
  bool moves = false;
  const Buffer& b = *program_.buffer(load->name);
  for (size_t d = 0; d + 1 < load->args.size() && d < b.shape.size(); ++d) {
    const auto range = windows_.interval(load->args[d], spans, reader);
    if (!range) continue;
    const Poly shape = accesses_.index(none, b.shape[d]), behind = range->lo + range->extent;
    const bool inside = facts_.nonnegative(range->lo) && facts_.nonnegative(shape - behind);
    moves |= !inside && range->lo.mentions_loop(id);
    restrict_range(range->lo, id, begin, end, facts_);
    restrict_range(shape - behind, id, begin, end, facts_);
    restrict_range(behind - Poly(1), id, first, last, facts_);
    restrict_range(shape - range->lo - Poly(1), id, first, last, facts_);
  }
  cuts.push_back(begin);
  cuts.push_back(max(begin, end, &facts_));
  // A copy of the body is worth making only where iterations of it are sure.
  if (facts_.at_most(piece.begin + Poly(1), first)) cuts.push_back(first);
  if (facts_.at_most(last + Poly(1), piece.end)) cuts.push_back(last);
  // Where the whole loop would be inside, nothing is known of it: the load would have no test.
  const bool unknown = begin == piece.begin && end == piece.end;
  return moves && (unknown || !facts_.at_most(begin + Poly(1), end));
}

/// Where loop `id` enters the range in which a comparison of indices always holds, and leaves that
/// in which it never does.
void Partition::cuts_of_comparison(const Expr& e, const Stage& reader,
                                   const std::vector<Span>& spans, int id,
                                   std::vector<Poly>& cuts) {
  const bool either = e->op == Op::kEq || e->op == Op::kNe;
  for (const Expr& below : arms_of(e->args[0])) {
    for (const Expr& above : arms_of(e->args[1])) {
      const auto a = windows_.interval(below, spans, reader),
                 b = windows_.interval(above, spans, reader);
      if (!a || !b) continue;
      cuts_of_slack(slack_of(*a, *b, e->op == Op::kLt ? 1 : 0), id, cuts);
      if (either) cuts_of_slack(slack_of(*b, *a, 0), id, cuts);
    }
  }
}

void Partition::cuts_of_slack(const Slack& slack, int id, std::vector<Poly>& cuts) {
  for (const Poly& left : {slack.most, slack.least}) {
    const Poly p = without_quotient(left, id, facts_);
    const int64_t c = p.loop_coef(id);
    const Poly rest = p - Poly(c) * Poly::atom(make_var("", id));
    if (c == 0 || rest.mentions_loop(id)) continue;
    cuts.push_back(c > 0 ? ceil_div(Poly() - rest, c, &facts_)
                         : floor_div(rest, -c, &facts_) + Poly(1));
  }
}

/// Cuts loop `id` at the one multiple of the divisor that x comes to, in x / c and x % c. On either
/// side of it the quotient is a number, and so x % c goes on with x.
void Partition::cuts_of_quotient(const Expr& e, const Stage& reader, const std::vector<Span>& spans,
                                 int id, const Piece& piece, std::vector<Poly>& cuts) {
  const auto x = windows_.interval(e->args[0], spans, reader),
             divisor = windows_.interval(e->args[1], spans, reader);
  if (!x || !divisor || !(divisor->extent == Poly(1))) return;
  const Poly one(1), c = divisor->lo;
  const int64_t slope = x->lo.loop_coef(id);
  const Poly rest = x->lo - Poly(slope) * Poly::atom(make_var("", id));
  const auto of_loop = [&](const Poly& p) { return p.mentions_loop(id); };
  if (slope == 0 || of_loop(rest) || of_loop(x->extent) || of_loop(c)) return;
  const Poly at_begin = rest + Poly(slope) * piece.begin,
             at_end = rest + Poly(slope) * (piece.end - one);
  const Poly least = slope > 0 ? at_begin : at_end;
  const Poly behind = (slope > 0 ? at_end : at_begin) + x->extent;
  if (!facts_.nonnegative(least) || !facts_.at_most(behind, c + c)) return;
  if (facts_.at_most(behind, c) || facts_.at_most(c, least)) return;
  if (slope > 0) {
    cuts.push_back(floor_div(c - rest - x->extent, slope, &facts_) + one);
    cuts.push_back(ceil_div(c - rest, slope, &facts_));
  } else {
    cuts.push_back(floor_div(rest - c, -slope, &facts_) + one);
    cuts.push_back(ceil_div(rest + x->extent - c, -slope, &facts_));
  }
}

std::vector<Piece> Partition::cut(Instance& in, int node, const Piece& piece) {
  const int id = static_cast<int>(nest_.loops.size());
  facts_.define_loop(id, piece.begin, piece.end);
  values_.place(in, node, Poly::atom(make_var("", id)), piece);
  std::vector<Poly> cuts;
  const Place here{in.stage().name, in.loops->nodes[static_cast<size_t>(node)].name};
  const Windows::StandStill still(windows_);
  bool tested = false;
  for (size_t i = 0; i < program_.stages.size(); ++i) {
    const Stage& s = program_.stages[i];
    if (!context_.tree.is_inside(i, here)) continue;
    std::vector<Span> spans;
    const auto look = [&](const Expr& e) {
      const bool guarded = e->op == Op::kLoad && e->guarded, quotient = is_index_quotient(e);
      const bool turns = is_index_extreme(e);
      if (!guarded && !quotient && !turns && !is_index_comparison(e)) return;
      if (spans.empty()) spans = windows_.spans_inside(i);
      if (guarded) {
        tested |= cuts_of_load(e, s, spans, id, piece, cuts);
      } else if (quotient) {
        cuts_of_quotient(e, s, spans, id, piece, cuts);
      } else {
        const Expr extreme = turns ? as_extreme(e) : e;
        cuts_of_comparison(extreme, s, spans, id, cuts);
      }
    };
    visit(s.value, look);
    if (s.where) visit(s.where, look);
  }
  values_.unplace(in, node);
  // Each of few iterations knows what lies inside, where some of its elements do.
  const auto first = facts_.lower(piece.begin), last = facts_.upper(piece.end);
  if (tested && first && last && *last - *first <= kFewIterations) {
    for (int64_t i = *first + 1; i < *last; ++i) cuts.push_back(Poly(i));
  }
  std::vector<Piece> parts{piece};
  for (const Poly& at : cuts) parts = cut_at(parts, at);
  return parts;
}

/// Every part as its iterations before `at` and those from there on.
std::vector<Piece> Partition::cut_at(const std::vector<Piece>& parts, const Poly& at) {
  std::vector<Piece> out;
  for (const Piece& p : parts) {
    const bool before = facts_.at_most(at, p.begin), behind = facts_.at_most(p.end, at);
    if (before || behind || parts.size() >= kMostParts) {
      out.push_back(p);
      continue;
    }
    // A cut outside the part leaves one of the two without iterations.
    out.push_back(p);
    out.back().end = min(at, p.end, &facts_);
    out.push_back(p);
    out.back().begin = max(at, p.begin, &facts_);
  }
  return out;
}

}  // namespace hone::jit
