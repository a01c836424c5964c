// SPDX-License-Identifier: Apache-2.0
#include "ops/gradient/transpose.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ops/gradient/terms.h"

namespace hone::ops {

using ir::Expr;

namespace {

/// An index of a scope that no text can name.
std::string inner_name(const std::string& name) { return name + "'"; }

std::string outer_name(const std::string& name) { return name.substr(0, name.find('\'')); }

/// What reads stand in a term at its top: a product's factors that are reads.
bool is_read(const Term& t) { return t.kind == Term::kAccess; }

/// `t` with 0 for what its reads have outside of tensors, where their indices are `loose`.
template <class F>
Term guarded(const Equations& e, const Term& t, const F& loose) {
  return replaced(t, [&](const Term& p) -> std::optional<Term> {
    if (!is_read(p) || !loose(p)) return {};
    Term out = p;
    for (Term& a : out.args) a = guarded(e, a, loose);
    Term no;
    no.kind = Term::kBool;
    return with_else(out, e.type_of(p) == "bool" ? no : whole_term(0));
  });
}

bool has_read(const Term& t) { return any_part(t, is_read); }

Term condition_term(const Condition& c) {
  return c.holds ? c.term : prefix_term(Term::kNot, c.term);
}

/// Does a sum in `whole` bind an index of the read? Such a sum limits itself.
bool is_within_sum(const Term& whole, const Term& read) {
  return any_part(whole, [&](const Term& p) {
    return std::any_of(p.ranges.begin(), p.ranges.end(),
                       [&](const Range& r) { return mentions(read, r.name); });
  });
}

/// The range of an index of a sum. One that data ends is of an index that runs over some dim by
/// itself. Where `value` has no such dim, the index goes over all of one, and `ends` tell the
/// range.
Range range_of(const Bound& b, const Term& value, std::vector<Condition>& ends) {
  const bool bounded = !b.extent || any_part(value, [&](const Term& p) {
    return is_read(p) && !p.guarded &&
           std::any_of(p.args.begin(), p.args.end(),
                       [&](const Term& a) { return a.kind == Term::kName && a.name == b.name; });
  });
  if (bounded) return {b.name, {}, {index_term(b.lo), index_term(b.hi)}};
  const auto as_index = [](const ir::Expr& e) {
    return replaced(index_term(e), [](const Term& p) -> std::optional<Term> {
      if (!is_read(p)) return {};
      return cast_term("i64", p);
    });
  };
  ends.push_back({infix_term(Infix::kLe, as_index(b.lo), name_term(b.name))});
  ends.push_back({infix_term(Infix::kLt, name_term(b.name), as_index(b.hi))});
  return {b.name, {}, {whole_term(0), index_term(b.extent)}};
}

/// Puts ranges after those whose indices they mention.
void put_in_order(std::vector<Bound>& ranges) {
  std::vector<Bound> out;
  while (!ranges.empty()) {
    const auto is_free = [&](const Bound& b) {
      return std::none_of(ranges.begin(), ranges.end(), [&](const Bound& other) {
        return ir::mentions_var(b.lo, other.name) || ir::mentions_var(b.hi, other.name);
      });
    };
    auto next = std::find_if(ranges.begin(), ranges.end(), is_free);
    if (next == ranges.end()) next = ranges.begin();
    out.push_back(std::move(*next));
    ranges.erase(next);
  }
  ranges = std::move(out);
}

Term where_all(const std::vector<Condition>& conditions, Term value) {
  if (conditions.empty()) return value;
  if (conditions.size() == 1 && !conditions[0].holds) {
    return call_term("select", {conditions[0].term, whole_term(0), std::move(value)});
  }
  // What data says is read where the indices allow it.
  std::vector<Term> terms, of_data;
  for (const Condition& c : conditions) {
    (has_read(c.term) ? of_data : terms).push_back(condition_term(c));
  }
  if (!of_data.empty()) value = select_term(all_of_terms(of_data), std::move(value));
  return terms.empty() ? value : select_term(all_of_terms(terms), std::move(value));
}

}  // namespace

Term Addend::term(bool positive) const {
  if (reduced.empty()) return outer.term(positive);
  Term sum;
  sum.kind = Term::kReduce;
  sum.name = "sum";
  const Term value = where_all(inside, inner.term());
  std::vector<Condition> ends;
  for (const Bound& b : reduced) sum.ranges.push_back(range_of(b, value, ends));
  sum.args = {where_all(ends, value)};
  Monomial all = outer;
  all.factors.push_back(sum);
  return all.term(positive);
}

std::string Addend::place_text() const {
  std::string out = scatter->skip ? "skip" : "";
  for (const auto* all : {&scatter->at, &scatter->where}) {
    for (const Term& t : *all) out += " " + print(t);
  }
  for (const Bound& b : terms) {
    out += " " + b.name + " " + print(index_term(b.lo)) + " " + print(index_term(b.hi));
  }
  return out;
}

/// What the ranges of indices say.
Prover Transposition::prover_of_ranges() const {
  static const std::vector<ir::Dim> kNone;
  Prover out(kNone);
  for (const Bound& b : target_.indices) out.add_variable({b.name, b.lo, b.hi});
  for (const Variable& v : variables_) {
    if (!v.value) out.add_variable({v.range.name, solved(v.range.lo), solved(v.range.hi)});
  }
  return out;
}

/// The same where the target is defined.
Prover Transposition::prover() const {
  Prover out = prover_of_ranges();
  for (const Term& t : target_.domain) {
    if (const Expr c = index_expr(e_.op(), t)) out.add_fact(c);
  }
  return out;
}

/// Gives the indices of the scope names that no element of the target has.
void Transposition::open(Contribution& c) {
  const auto inner = [&](const Term& t) {
    return replaced(t, [&](const Term& p) -> std::optional<Term> {
      const auto here = std::any_of(c.scope.begin(), c.scope.end(),
                                    [&](const Bound& b) { return b.name == p.name; });
      if (p.kind != Term::kName || !here) return {};
      return name_term(inner_name(p.name));
    });
  };
  for (Term& t : c.at) t = inner(t);
  for (Condition& k : c.conditions) k.term = inner(k.term);
  for (Term& t : c.value.factors) t = inner(t);
  for (Term& t : c.value.divisors) t = inner(t);
  for (size_t i = 0; i < c.scope.size(); ++i) {
    Variable v;
    v.range = c.scope[i];
    v.range.name = inner_name(c.scope[i].name);
    for (const Bound& b : c.scope) {
      v.range.lo = with_value(v.range.lo, b.name, ir::make_var(inner_name(b.name)));
      v.range.hi = with_value(v.range.hi, b.name, ir::make_var(inner_name(b.name)));
    }
    v.outer = i < c.outer;
    variables_.push_back(std::move(v));
  }
}

/// A term with what is solved in the place of the indices.
Term Transposition::placed(const Term& t) const {
  return replaced(t, [&](const Term& p) -> std::optional<Term> {
    if (p.kind == Term::kName) {
      const Expr value = solved(ir::make_var(p.name));
      if (value->op == ir::Op::kVar && value->name == p.name) return {};
      return index_term(value);
    }
    if (p.kind != Term::kAccess) return {};
    Term out = p;
    for (size_t i = 0; i < p.args.size(); ++i) {
      const Expr index = i < p.index_count() ? index_expr(e_.op(), p.args[i]) : Expr();
      out.args[i] = index ? index_term(solved(index)) : placed(p.args[i]);
    }
    return out;
  });
}

/// Do factors that are reads have all `loose` indices, which run over their dims? Then they count
/// as 0 outside, and so does the product.
bool Transposition::reads_cover(const Contribution& c, const std::set<std::string>& loose) const {
  const auto is_loose = [&](const Term& t) {
    return std::any_of(loose.begin(), loose.end(),
                       [&](const std::string& name) { return mentions(t, name); });
  };
  std::set<std::string> covered;
  for (const Term& f : c.value.factors) {
    if (is_loose(f) && !is_read(f)) return false;
    for (size_t d = 0; is_read(f) && d < f.index_count(); ++d) {
      if (f.args[d].kind != Term::kName || loose.count(f.args[d].name) == 0) continue;
      const auto v = std::find_if(variables_.begin(), variables_.end(), [&](const Variable& x) {
        return x.range.name == f.args[d].name;
      });
      int64_t lo = -1;
      if (!ir::is_const(v->range.lo, &lo) || lo != 0) continue;
      if (equal_index(e_.shape(f.name)[d], v->range.hi)) covered.insert(f.args[d].name);
    }
  }
  return covered.size() == loose.size() &&
         std::none_of(c.value.divisors.begin(), c.value.divisors.end(), is_loose);
}

/// Is it an index of the target that has this range?
bool Transposition::spans(const Expr& value, const Bound& range) const {
  return value->op == ir::Op::kVar &&
         std::any_of(target_.indices.begin(), target_.indices.end(), [&](const Bound& b) {
           return b.name == value->name && equal_index(b.lo, solved(range.lo)) &&
                  equal_index(b.hi, solved(range.hi));
         });
}

/// The ranges of solved indices that are not sure. Their names become `loose`.
std::vector<Condition> Transposition::open_ranges(std::set<std::string>& loose) const {
  const Prover sure = prover_of_ranges();  // a sum may stand outside of the domain
  std::vector<Condition> out;
  for (const Variable& v : variables_) {
    if (!v.value || v.sure) continue;
    const Expr value = solved(v.value);
    if (spans(value, v.range)) continue;
    for (const Expr& side : {ir::make_binary(ir::Op::kLe, v.range.lo, value),
                             ir::make_binary(ir::Op::kLt, value, v.range.hi)}) {
      const Expr here = solved(side);
      if (sure.implies(here)) continue;
      loose.insert(v.range.name);
      out.push_back({e_.as_index(index_term(here))});
    }
  }
  return out;
}

/// Is the read, where `when` knows what holds, surely inside of its tensor?
bool Transposition::is_inside(const Term& read, const Prover& when) const {
  for (size_t d = 0; d < read.index_count(); ++d) {
    const Expr index = index_expr(e_.op(), read.args[d]);
    if (!index || reads_data(index)) continue;  // checked, or read with an `else`
    const Expr extent = e_.shape(read.name)[d], here = solved(index);
    const bool inside = when.non_negative(here) == Proof::kYes &&
                        when.non_negative(extent - here - ir::make_int(1)) == Proof::kYes;
    if (!inside) return false;
  }
  return true;
}

/// Puts what is solved into the value, and finds the conditions under which it counts.
std::vector<Condition> Transposition::require(const Contribution& c, Monomial& value) {
  const Prover sure = prover();
  std::set<std::string> loose;
  std::vector<Condition> out, ranges = open_ranges(loose);
  const auto is_loose = [&](const Term& t) {
    return std::any_of(loose.begin(), loose.end(),
                       [&](const std::string& name) { return mentions(t, name); });
  };
  const bool kept = loose.empty() || reads_cover(c, loose);
  Prover when = prover();
  for (const Condition& k : ranges) {
    if (const Expr e = index_expr(e_.op(), k.term)) when.add_fact(e);
  }
  const auto may_leave = [&](const Term& t) {
    return is_loose(t) && (kept || !is_inside(t, when));
  };
  const auto put = [&](const Term& t) { return placed(guarded(e_, t, may_leave)); };
  for (auto* terms : {&value.factors, &value.divisors}) {
    for (Term& t : *terms) t = put(t);
  }
  if (!kept) out = std::move(ranges);
  for (const Condition& k : c.conditions) {
    Expr e = index_expr(e_.op(), k.term);
    if (e && !reads_data(e)) {
      e = possible(solved(k.holds ? e : negated(e)));
      if (!sure.implies(e)) out.push_back({index_term(e)});
      continue;
    }
    out.push_back({put(k.term), k.holds});
  }
  for (const Condition& k : matches_) out.push_back({e_.as_index(put(k.term))});
  for (const Expr& e : equalities_) out.push_back({index_term(solved(e))});
  if (divisible_.empty()) return out;
  std::vector<Term> whole;
  for (const Expr& e : divisible_) whole.push_back(index_term(solved(e)));
  out.insert(out.begin(), {all_of_terms(whole)});
  return out;
}

/// What is defined in a part of its range only is read there.
void Transposition::require_domains(const Contribution& c, std::vector<Condition>& out,
                                    std::vector<Term>& limits) const {
  const Prover sure = prover();
  const auto put = [](std::vector<Term>& among, const Term& t) {
    const auto is_it = [&](const Term& k) { return same(k, t); };
    if (std::none_of(among.begin(), among.end(), is_it)) among.push_back(t);
  };
  const auto add = [&](const Term& condition) {
    const Expr e = index_expr(e_.op(), condition);
    if (!e) return;
    const Expr here = solved(e);
    // Sums are limited by what they read; terms of a scatter say it.
    if (sure.implies(here)) return;
    if (has_open(here) && places_.empty()) return put(limits, index_term(here));
    const Term t = index_term(here);
    const bool known =
        std::any_of(out.begin(), out.end(), [&](const Condition& k) { return same(k.term, t); });
    if (!known) out.push_back({t});
  };
  const auto inner = [&](const Equation& from, const std::vector<Term>& at) {
    for (const Term& condition : from.domain) {
      add(replaced(condition, [&](const Term& n) -> std::optional<Term> {
        for (size_t k = 0; n.kind == Term::kName && k < from.indices.size(); ++k) {
          if (from.indices[k].name == n.name) return at[k];
        }
        return {};
      }));
    }
  };
  const Equation& of = *e_.find(c.from);
  std::vector<Term> own;
  for (const Bound& b : of.indices) own.push_back(name_term(inner_name(b.name)));
  inner(of, own);
  for (const auto* terms : {&c.value.factors, &c.value.divisors}) {
    for (const Term& t : *terms) {
      any_part(t, [&](const Term& p) {
        const Equation* from = is_read(p) && !p.guarded ? e_.find(p.name) : nullptr;
        if (from && !is_within_sum(t, p)) inner(*from, p.args);
        return false;
      });
    }
  }
}

/// Gives what is still summed over names that the text can have.
void Transposition::name_variables() {
  std::set<std::string> used;
  for (const Bound& b : target_.indices) used.insert(b.name);
  std::vector<Variable> named;
  for (Variable& v : variables_) {
    if (v.value) continue;
    const std::string base = outer_name(v.range.name);
    std::string name = base;
    for (int i = 2;
         used.count(name) != 0 || (name != base && e_.taken(name) && made_.count(name) == 0); ++i) {
      name = base + std::to_string(i);
    }
    if (name != base && made_.insert(name).second) e_.fresh(name);
    used.insert(name);
    Variable final;
    final.range = v.range;
    final.range.name = name;
    v.value = ir::make_var(name);
    v.sure = true;
    named.push_back(std::move(final));
  }
  for (Variable& v : named) {
    v.range.lo = solved(v.range.lo);
    v.range.hi = solved(v.range.hi);
    variables_.push_back(std::move(v));
  }
}

/// The indices that places name, and those that their ranges need.
std::vector<Bound> Transposition::terms() const {
  std::vector<Bound> out;
  for (size_t i = variables_.size(); i-- > 0;) {
    const Variable& v = variables_[i];
    const std::string& name = v.range.name;
    const bool named =
        !v.value && (std::any_of(places_.begin(), places_.end(),
                                 [&](const Term& t) { return mentions(t, name); }) ||
                     std::any_of(out.begin(), out.end(), [&](const Bound& b) {
                       return ir::mentions_var(b.lo, name) || ir::mentions_var(b.hi, name);
                     }));
    if (named) out.insert(out.begin(), v.range);
  }
  put_in_order(out);
  return out;
}

/// Makes the addend a term of a scatter, with the conditions on indices that say which terms count.
void Transposition::make_term(Addend& out, bool skip) const {
  Scatter scatter;
  scatter.at = places_;
  scatter.skip = skip;
  std::erase_if(out.outside, [&](const Condition& c) {
    const Expr e = c.holds ? index_expr(e_.op(), c.term) : Expr();
    const bool counts = e && !reads_data(e) &&
                        std::any_of(out.terms.begin(), out.terms.end(),
                                    [&](const Bound& b) { return ir::mentions_var(e, b.name); });
    if (counts) scatter.where.push_back(c.term);
    return counts;
  });
  out.scatter = std::move(scatter);
}

Addend Transposition::assemble(const Contribution& c, const Monomial& value,
                               std::vector<Condition> conditions) const {
  Addend out;
  out.terms = terms();
  for (const Variable& v : variables_) {
    const bool term = std::any_of(out.terms.begin(), out.terms.end(),
                                  [&](const Bound& b) { return b.name == v.range.name; });
    if (!v.value && !term) out.reduced.push_back(v.range);
  }
  put_in_order(out.reduced);
  const auto inside = [&](const Term& t) {
    return std::any_of(out.reduced.begin(), out.reduced.end(),
                       [&](const Bound& b) { return mentions(t, b.name); });
  };
  out.outer.coefficient = value.coefficient;
  for (const Term& t : value.factors) (inside(t) ? out.inner : out.outer).factors.push_back(t);
  for (const Term& t : value.divisors) (inside(t) ? out.inner : out.outer).divisors.push_back(t);
  std::stable_partition(conditions.begin(), conditions.end(),
                        [](const Condition& k) { return !has_read(k.term); });
  for (Condition& k : conditions) {
    (inside(k.term) ? out.inside : out.outside).push_back(std::move(k));
  }
  if (!out.reduced.empty() && out.inner.factors.empty())
    std::swap(out.inner.factors, out.outer.factors);
  if (!places_.empty()) make_term(out, c.guarded);
  return out;
}

std::optional<Addend> Transposition::run(Contribution c) {
  open(c);
  solve(c);
  name_variables();
  for (Term& t : places_) t = placed(t);
  Monomial value = c.value;
  std::vector<Condition> conditions = require(c, value);
  std::vector<Term> limits;
  require_domains(c, conditions, limits);
  for (const Condition& k : conditions) {
    const Expr e = k.holds ? index_expr(e_.op(), k.term) : Expr();
    if (e && !reads_data(e) && impossible(e)) return {};
  }
  Addend out = assemble(c, value, std::move(conditions));
  out.limits = std::move(limits);
  return out;
}

}  // namespace hone::ops
