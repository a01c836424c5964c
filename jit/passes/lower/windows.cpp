// SPDX-License-Identifier: Apache-2.0
#include "jit/passes/lower/windows.h"

#include <algorithm>
#include <bit>

#include "jit/ir/extremes.h"
#include "jit/ir/integers.h"
#include "jit/ir/recurrence.h"
#include "jit/passes/joins.h"
#include "jit/passes/lower/accesses.h"
#include "jit/passes/lower/expressions.h"
#include "jit/passes/lower/loop_values.h"
#include "jit/passes/lower/overhangs.h"
#include "jit/passes/lower/thread_loops.h"
#include "jit/passes/reject.h"

namespace hone::jit {

using namespace ir;

std::vector<Span> Windows::spans_inside(size_t stage) {
  if (context_.active[stage]) return values_.spans_of(*context_.active[stage]);
  const auto known = still_.find(stage);
  if (known != still_.end()) return known->second;
  const Stage& s = program_.stages[stage];
  Instance none;
  std::vector<Span> vars = s.at.root() ? domain_of(static_cast<int>(stage)) : made_at(s, s.at);
  const auto parts = static_cast<std::ptrdiff_t>(std::min(s.factored.size(), vars.size()));
  const std::vector<Span> factored(vars.end() - parts, vars.end());
  vars.resize(s.vars.size());
  for (const IndexVar& v : s.rvars) {
    if ((v.lo && !Poly::of(v.lo).is_constant()) || has_var_or_load(v.hi)) break;
    const Poly lo = v.lo ? accesses_.index(none, v.lo) : Poly();
    Span span = part_of(s, v.name, accesses_.index(none, v.hi) - lo, factored);
    span.lo += lo;
    vars.push_back(std::move(span));
  }
  if (standing_) still_.emplace(stage, vars);
  return vars;
}

Span Windows::part_of(const Stage& s, const std::string& loop, const Poly& extent,
                      const std::vector<Span>& factored) {
  for (size_t f = 0; f < s.factored.size() && f < factored.size(); ++f) {
    if (s.factored[f] == loop) return factored[f];
  }
  for (const Relation& r : s.relations) {
    if (r.kind != Relation::kSplit || r.parent != loop || r.tail == Tail::kOverlap) continue;
    const Span outer = part_of(s, r.outer, ceil_div(extent, r.factor, &facts_), factored);
    if (outer.extent != Poly(1)) break;
    const Poly base = outer.lo * Poly(r.factor);
    Span inner = part_of(s, r.inner, min(r.factor, extent - base, &facts_), factored);
    inner.lo += base;
    return inner;
  }
  return {0, extent};
}

std::vector<Span> Windows::domain_of(int stage) {
  Instance none;
  std::vector<Span> spans;
  const Stage& s = program_.stages[static_cast<size_t>(stage)];
  for (const IndexVar& v : s.vars) {
    const Poly lo = v.lo ? accesses_.index(none, v.lo) : Poly();
    spans.push_back({lo, accesses_.index(none, v.hi) - lo});
  }
  // A factored loop is an output index: readers run over all of the buffer, also where the loop
  // itself is cut short.
  const Buffer& output = *program_.buffer(s.output);
  for (size_t f = 0; f < s.factored.size(); ++f) {
    spans.push_back({0, accesses_.index(none, output.shape[s.out_index.size() + f])});
  }
  return spans;
}

std::optional<Span> Windows::interval(const Expr& e, const std::vector<Span>& vars,
                                      const Stage& reader) {
  Instance none;
  if (const Expr extreme = as_extreme(e)) {
    const auto a = interval(extreme->args[0], vars, reader),
               b = interval(extreme->args[1], vars, reader);
    if (!a || !b) return std::nullopt;
    const auto bound = extreme->op == Op::kMin ? min : max;
    const Poly lo = bound(a->lo, b->lo, &facts_);
    return Span{lo, bound(a->lo + a->extent, b->lo + b->extent, &facts_) - lo,
                a->guessed || b->guessed};
  }
  if (e->op == Op::kDiv || e->op == Op::kMod) {
    int64_t k = 0;
    auto inner = interval(e->args[0], vars, reader);
    if (!inner || !is_const(e->args[1], &k) || k <= 0) return std::nullopt;
    if (e->op == Op::kMod) {
      if (inner->extent == Poly(1)) return Span{floor_mod(inner->lo, k, &facts_), 1};
      return Span{0, k, inner->guessed};
    }
    const Poly lo = floor_div(inner->lo, k, &facts_);
    return Span{lo, floor_div(inner->lo + inner->extent - Poly(1), k, &facts_) - lo + Poly(1),
                inner->guessed};
  }
  if (is_bitwise(e->op)) return of_bits(e, vars, reader);
  Span out{0, 1};
  for (const Poly p = Poly::of(e); const Poly::Term& t : p.terms()) {
    const Expr& f = t.factors[0];
    if (t.factors.size() != 1 || f->op != Op::kVar) {
      if (f->op == Op::kDim && t.factors.size() == 1) {
        out.lo += Poly(t.coef) * accesses_.index(none, f);
        continue;
      }
      const bool known =
          f->op == Op::kDiv || f->op == Op::kMod || is_bitwise(f->op) || as_extreme(f);
      if (t.factors.size() != 1 || !known) return std::nullopt;
    }
    Span s;
    if (f->op == Op::kVar) {
      size_t v = 0;
      while (v < reader.vars.size() && reader.vars[v].name != f->name) ++v;
      if (v == reader.vars.size()) {
        size_t r = 0;
        while (r < reader.rvars.size() && reader.rvars[r].name != f->name) ++r;
        v += r;
      }
      if (v >= vars.size()) return std::nullopt;
      s = vars[v];
    } else {
      auto inner = interval(f, vars, reader);
      if (!inner) return std::nullopt;
      s = *inner;
    }
    const int64_t c = t.coef;
    out.lo += Poly(c) * (c >= 0 ? s.lo : s.lo + s.extent - Poly(1));
    out.extent += Poly(c >= 0 ? c : -c) * (s.extent - Poly(1));
    out.guessed |= s.guessed;
  }
  out.lo += Poly(Poly::of(e).constant());
  return out;
}

/// Bits of an index that a constant changes: within the blocks of a power of two, or of a shift.
std::optional<Span> Windows::of_bits(const Expr& e, const std::vector<Span>& vars,
                                     const Stage& reader) {
  constexpr int64_t kMost = 30;  // of shifts of indices. Chosen: as of sizes (not measured).
  int64_t bits = 0;
  if (e->op == Op::kShl || !is_const(e->args[1], &bits) || bits < 0) return std::nullopt;
  if (bits >= (e->op == Op::kShr ? kMost : int64_t{1} << kMost)) return std::nullopt;
  if (e->op == Op::kBitAnd) return Span{0, bits + 1};
  const auto inner = interval(e->args[0], vars, reader);
  if (!inner) return std::nullopt;
  const bool shifts = e->op == Op::kShr;
  const int64_t block = shifts
                            ? int64_t{1} << bits
                            : static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(bits) + 1));
  const Poly first = floor_div(inner->lo, block, &facts_);
  const Poly count =
      floor_div(inner->lo + inner->extent - Poly(1), block, &facts_) - first + Poly(1);
  const Poly each(shifts ? 1 : block);
  return Span{each * first, each * count, inner->guessed};
}

/// All values of an index `b*F + j` along a reduction that is cut into parts, or of its quotient.
/// The last part may be shorter: j in 0..min(F, N - b*F).
std::optional<Span> Windows::over_parts(const Expr& e, const Stage& reader) {
  Instance none;
  int64_t k = 1;
  const bool divided = e->op == Op::kDiv && is_const(e->args[1], &k) && k > 0;
  const Poly sum = Poly::of(divided ? e->args[0] : e);
  if (sum.constant() != 0) return std::nullopt;
  for (const IndexVar& v : reader.rvars) {
    if (v.lo || v.hi->op != Op::kMin) continue;
    for (const Expr& arm : v.hi->args) {
      const Expr end = (Poly::of(arm) + sum - Poly::of(make_var(v.name))).expr();
      if (has_var_or_load(end)) continue;
      return Span{0, ceil_div(accesses_.index(none, end), divided ? k : 1, &facts_)};
    }
  }
  return std::nullopt;
}

namespace {

/// Calls f on every inequality of indices by which a value chooses.
template <class F>
void each_choice(const Expr& condition, const F& f) {
  if (condition->op == Op::kAnd) {
    each_choice(condition->args[0], f);
    each_choice(condition->args[1], f);
  } else if ((condition->op == Op::kLe || condition->op == Op::kLt) &&
             condition->args[0]->type == DType::kI64) {
    f(condition->args[0], condition->args[1], condition->op == Op::kLt ? 1 : 0);
  }
}

/// The dims of its tensor along which a stage goes on from itself.
std::vector<size_t> chained_dims(const Stage& st) {
  const std::vector<std::string> apart = independent_vars(st);
  std::vector<size_t> out;
  for (size_t d = 0; d < st.out_index.size(); ++d) {
    const auto moves = [&](const std::string& var) { return mentions_var(st.out_index[d], var); };
    if (std::none_of(apart.begin(), apart.end(), moves)) out.push_back(d);
  }
  return out;
}

}  // namespace

/// What is left of each inequality by which the stage chooses, at the element where that is least.
/// Those that hold for all elements anyhow are not among them.
std::vector<Poly> Windows::left_by_choices(Instance& in) {
  std::vector<Poly> out;
  const Stage& s = in.stage();
  for (const IndexVar& v : s.rvars) {
    if (v.lo || has_var_or_load(v.hi)) return out;  // known inside other loops alone
  }
  const std::vector<Span> spans = values_.spans_of(in);
  visit(s.value, [&](const Expr& e) {
    if (e->op != Op::kSelect) return;
    each_choice(e->args[0], [&](const Expr& a, const Expr& b, int64_t strict) {
      const auto low = interval(a, spans, s), high = interval(b, spans, s);
      if (!low || !high) return;
      const Poly left = high->lo - (low->lo + low->extent - Poly(1)) - Poly(strict);
      if (!left.is_constant() && !facts_.nonnegative(left)) out.push_back(left);
    });
  });
  return out;
}

void Windows::widen(std::vector<Span>& box, std::vector<bool>& seen, size_t dim, const Span& span) {
  if (!seen[dim]) {
    box[dim] = span;
    seen[dim] = true;
    return;
  }
  Span& b = box[dim];
  const Poly lo = min(b.lo, span.lo, &facts_);
  const Poly hi = max(b.lo + b.extent, span.lo + span.extent, &facts_);
  b = {lo, hi - lo, b.guessed || span.guessed};
}

/// The box of a temporary that its readers inside `place` touch, given the loops that are open.
std::vector<Span> Windows::needed(const std::string& buffer, const Place& place) {
  const Buffer& b = *program_.buffer(buffer);
  Instance none;
  std::vector<Span> box(b.shape.size());
  std::vector<bool> seen(b.shape.size(), false);
  const Stage* made = program_.producer(buffer);
  const auto carried = made ? carried_state(program_, *made) : std::nullopt;
  for (const size_t r : context_.tree.readers(buffer)) {
    const Stage& reader = program_.stages[r];
    // What an element of an output was before is no reason to compute it.
    if (reader.output == buffer || !context_.tree.is_inside(r, place)) continue;
    std::vector<Span> vars;
    bool known = false;
    each_load(reader, [&](const Expr& e) {
      // What an earlier iteration wrote is there.
      if (e->name != buffer || context_.groups.carried(r, e)) return;
      if (carried && goes_back(e->args[carried->dim]) > 0) return;
      if (!known) {
        known = true;
        vars = spans_inside(r);
      }
      for (size_t d = 0; d < box.size(); ++d) {
        auto span = interval(e->args[d], vars, reader);
        if (!span) span = over_parts(e->args[d], reader);
        widen(box, seen, d, span ? *span : Span{0, accesses_.index(none, b.shape[d]), true});
      }
    });
  }
  return box;
}

/// The box of a stage that nothing inside `place` reads: its indices go with those of the stage
/// whose loop that is.
std::vector<Span> Windows::beside(const Stage& stage, const Place& place) {
  const Stage& owner = *program_.stage(place.stage);
  const std::vector<Span> theirs = spans_inside(program_.stages.index_of(owner));
  std::vector<Span> own = domain_of(static_cast<int>(program_.stages.index_of(stage)));
  const bool grouped =
      context_.groups.together(program_.stages.index_of(stage), program_.stages.index_of(owner));
  const std::vector<std::string> goes_with = joined(stage, owner, grouped);
  for (size_t v = 0; v < goes_with.size(); ++v) {
    size_t w = 0;
    for (const auto* list : {&owner.vars, &owner.rvars}) {
      for (const IndexVar& other : *list) {
        if (other.name == goes_with[v] && w < theirs.size()) own[v] = theirs[w];
        ++w;
      }
    }
  }
  std::vector<Span> box;
  for (const Expr& e : stage.out_index) {
    const auto span = interval(e, own, stage);
    box.push_back(span ? *span : whole(stage)[box.size()]);
    box.back().guessed |= !span;
  }
  box.insert(box.end(), own.begin() + static_cast<std::ptrdiff_t>(stage.vars.size()), own.end());
  return box;
}

std::vector<Span> Windows::whole(const Stage& stage) {
  Instance none;
  std::vector<Span> box;
  for (const Expr& extent : program_.buffer(stage.output)->shape) {
    box.push_back({0, max(0, accesses_.index(none, extent), &facts_)});
  }
  return box;
}

bool Windows::is_read_inside(const std::string& buffer, const Place& place) const {
  for (const size_t r : context_.tree.readers(buffer)) {
    const Stage& reader = program_.stages[r];
    if (reader.output == buffer || !context_.tree.is_inside(r, place)) continue;
    bool reads = false;
    each_load(reader, [&](const Expr& e) {
      reads = reads || (e->name == buffer && !context_.groups.carried(r, e));
    });
    if (reads) return true;
  }
  return false;
}

std::vector<Span> Windows::made_at(const Stage& stage, const Place& place) {
  const bool unread = place == stage.at && !is_read_inside(stage.output, place);
  std::vector<Span> box = unread ? beside(stage, place) : needed(stage.output, place);
  const auto carried = carried_state(program_, stage);
  if (carried && stage.store.root()) {  // an element needs those before it
    Span& all = box[carried->dim];
    all = {0, all.lo + all.extent};
  }
  cut_outside(stage, box);
  return box;
}

std::vector<Span> Windows::window_at(const Stage& stage, const Place& place) {
  std::vector<Span> box = made_at(stage, place);
  const Buffer& b = *program_.buffer(stage.output);
  if (b.space != Space::kSharedMemory) return box;
  Instance none;
  for (size_t d = 0; d < box.size(); ++d) {
    Span s = threads_.over_all(box[d], b.name);
    const bool beyond = d < stage.out_index.size() && stage.out_index[d]->op == Op::kVar &&
                        overhangs_.has(stage, stage.out_index[d]->name);
    if (!beyond) s.extent = min(s.extent, accesses_.index(none, b.shape[d]) - s.lo, &facts_);
    box[d] = std::move(s);
  }
  return box;
}

/// Readers with an `else` may ask for what lies outside: those are no elements. Rows then begin
/// where the tensor's do. No chain may go on from what is none, nor does it end before the last.
void Windows::cut_outside(const Stage& st, std::vector<Span>& window) {
  if (context_.groups.of(program_.stages.index_of(st))) return;
  const std::vector<Span> all = whole(st);
  const Space space = program_.buffer(st.output)->space;
  std::vector<size_t> chained;
  if (holds_chains(program_, st)) chained = chained_dims(st);
  for (size_t d = 0; d < all.size(); ++d) {
    Span& w = window[d];
    if (w.guessed) continue;
    if (std::count(chained.begin(), chained.end(), d) != 0) {
      const bool first = facts_.at_most(w.lo, 0);
      if (first && facts_.at_most(all[d].extent, w.extent)) w = all[d];
      continue;
    }
    // What registers and shared memory hold has a shape that steps count on.
    if (space != Space::kRoot && space != Space::kScratch) continue;
    const Poly end = w.lo + w.extent;
    const bool meets = facts_.at_most(1, end) && facts_.at_most(w.lo + Poly(1), all[d].extent);
    if (!meets) continue;  // cut, it would be less than empty
    if (facts_.at_most(w.lo, Poly(-1))) w = {0, end};
    if (facts_.at_most(all[d].extent + Poly(1), end)) w.extent = all[d].extent - w.lo;
  }
}

void Windows::check_chains(const Stage& st, const std::vector<Span>& window) {
  if (!holds_chains(program_, st) || context_.groups.of(program_.stages.index_of(st))) return;
  const std::vector<Span> all = whole(st);
  for (const size_t d : chained_dims(st)) {
    if (!window[d].guessed && facts_.at_most(window[d].lo, 0) &&
        facts_.at_most(all[d].extent, window[d].extent)) {
      continue;
    }
    reject("stage " + st.name + " goes on from itself along dim " + std::to_string(d) +
           ", of which " + st.at.stage + "/" + st.at.loop + " computes a part; compute it where " +
           "all of that dim is");
  }
}

void Windows::check_ranges(const Stage& st, const std::vector<Span>& window) {
  const auto told = [](const Expr& e) { return e && mentions_load(e); };
  const auto ranged = std::find_if(st.rvars.begin(), st.rvars.end(),
                                   [&](const IndexVar& v) { return told(v.lo) || told(v.hi); });
  if (ranged == st.rvars.end()) return;
  const std::vector<Span> domain = domain_of(static_cast<int>(program_.stages.index_of(st)));
  for (size_t v = 0; v < st.vars.size(); ++v) {
    const Span &all = domain[v], &some = window[v];
    const bool inside = facts_.at_most(all.lo, some.lo) &&
                        facts_.at_most(some.lo + some.extent, all.lo + all.extent);
    if (inside) continue;
    reject("compute " + st.name + " at " + st.at.stage + "/" + st.at.loop + ": it would run for " +
           "other values of " + st.vars[v].name + " than it has, where nobody checks how far " +
           ranged->name + " runs");
  }
}

void Windows::check_covered(const Stage& st, const std::vector<Span>& window) {
  const bool outlives = kept_at_root(program_, st);
  if (st.store.root() && !outlives) return;
  const std::vector<Span> made = window_at(st, st.at);
  const auto carried = carried_state(program_, st);
  for (size_t d = 0; d < window.size(); ++d) {
    if (carried && carried->dim == d) continue;  // accesses prove what they read of it
    if (!made[d].guessed && facts_.at_most(made[d].lo, window[d].lo) &&
        facts_.at_most(window[d].lo + window[d].extent, made[d].lo + made[d].extent)) {
      continue;
    }
    reject("compute " + st.name + " at " + st.at.stage + "/" + st.at.loop +
           (outlives ? "" : " store " + st.store.stage + "/" + st.store.loop) +
           ": readers outside need " + print(window[d].extent.expr()) + " elements of dim " +
           std::to_string(d) + ", the loop computes " +
           (made[d].guessed ? "it is not known which" : print(made[d].extent.expr())));
  }
}

}  // namespace hone::jit
