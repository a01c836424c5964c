// SPDX-License-Identifier: Apache-2.0
#include "jit/ir/facts.h"

#include <algorithm>

namespace hone::ir {
namespace {

using Bound = std::optional<int64_t>;

Bound better(Bound a, Bound b) {
  if (!a) return b;
  if (!b) return a;
  return std::max(*a, *b);
}

Bound worse(Bound a, Bound b) {
  if (!a || !b) return std::nullopt;
  return std::min(*a, *b);
}

int64_t ceil_quotient(int64_t a, int64_t k) { return a >= 0 ? (a + k - 1) / k : -(-a / k); }

int64_t floor_quotient(int64_t a, int64_t k) { return a >= 0 ? a / k : -((-a + k - 1) / k); }

bool is_composite(const Expr& e) {
  int64_t k = 0;
  return e->op == Op::kMin || e->op == Op::kMax ||
         (e->op == Op::kDiv && is_const(e->args[1], &k) && k > 0);
}

const Expr& strip_casts(const Expr& e) { return e->op == Op::kCast ? strip_casts(e->args[0]) : e; }

/// The divisor of a term that is one division, by a positive constant; 0 of any other.
int64_t divisor_of(const Poly::Term& t) {
  int64_t k = 0;
  const Expr& f = t.factors[0];
  const bool divides = t.factors.size() == 1 && f->op == Op::kDiv && is_const(f->args[1], &k);
  return divides && k > 0 ? k : 0;
}

/// What `coarse` divides, already divided by the divisor of `fine`, if that is a part of the way:
/// q/a plus something where `coarse` is q/(a*b) of as much.
std::optional<Poly> refined(const Poly::Term& fine, const Poly::Term& coarse) {
  const int64_t a = divisor_of(fine), b = divisor_of(coarse);
  if (a <= 0 || b <= a || b % a != 0) return std::nullopt;
  Poly part = floor_div(Poly::of(coarse.factors[0]->args[0]), a, nullptr);
  for (const Poly::Term& t : part.terms()) {
    if (t.factors.size() == 1 && equal(t.factors[0], fine.factors[0])) return part;
  }
  return std::nullopt;
}

/// The coarsest of the divisions that go on where `term` ends, or `term` itself.
const Poly::Term& coarsest(const Poly& p, const Poly::Term& term) {
  const Poly::Term* out = &term;
  for (const Poly::Term& t : p.terms()) {
    if (refined(*out, t)) out = &t;
  }
  return *out;
}

/// The polynomial of one term.
Poly product(const Poly::Term& term) {
  Poly p(term.coef);
  for (const Expr& f : term.factors) p = p * Poly::atom(f);
  return p;
}

}  // namespace

void Facts::define_loop(int id, Poly begin, Poly end) {
  if (loops_.size() <= static_cast<size_t>(id)) loops_.resize(static_cast<size_t>(id) + 1);
  loops_[static_cast<size_t>(id)] = {std::move(begin), std::move(end), true};
}

Facts Facts::unconditional() const {
  Facts out = *this;
  out.assumptions_.clear();
  return out;
}

void Facts::define_dim(std::string name, int64_t lo, int64_t hi) {
  dims_.push_back({std::move(name), lo, hi});
}

void Facts::define_elements(std::string name, Poly lo, Poly hi) {
  elements_.push_back({std::move(name), std::move(lo), std::move(hi)});
}

bool Facts::nonnegative(const Poly& p) const {
  const auto proves = [this](const Poly& q) {
    const Bound low = lower(q);
    return low && *low >= 0;
  };
  if (proves(p)) return true;
  // p >= p - q where q >= 0 is assumed.
  return std::any_of(assumptions_.rbegin(), assumptions_.rend(),
                     [&](const Poly& q) { return proves(p - q); });
}

std::optional<int64_t> Facts::upper(const Poly& p) const {
  auto low = lower(Poly() - p);
  if (!low) return std::nullopt;
  return -*low;
}

/// Removes one factor at a time, replacing it by the bound that makes the sum smallest: divisions,
/// min and max first (they may cancel against loops), then loops from the innermost, then the rest.
std::optional<int64_t> Facts::lower(const Poly& p, int fuel) const {
  if (p.is_constant()) return p.constant();
  if (fuel == 0) return std::nullopt;
  const Poly::Term* loop = nullptr;
  for (const Poly::Term& t : p.terms()) {
    if (t.factors.size() != 1) continue;
    const Expr& f = t.factors[0];
    if (is_composite(f)) return lower_composite(p, coarsest(p, t), fuel - 1);
    const bool known = f->op == Op::kVar && f->id >= 0 &&
                       static_cast<size_t>(f->id) < loops_.size() &&
                       loops_[static_cast<size_t>(f->id)].known;
    if (known && (!loop || f->id > loop->factors[0]->id)) loop = &t;
  }
  if (loop) return lower_loop(p, *loop, fuel - 1);
  return lower_rest(p, fuel - 1);
}

std::optional<int64_t> Facts::lower_composite(const Poly& p, const Poly::Term& term,
                                              int fuel) const {
  const Expr& f = term.factors[0];
  const Poly others = p - product(term);
  const Poly c(term.coef);
  if (f->op == Op::kDiv) {
    // k*floor(q/k) lies in q-(k-1) .. q, so scale the sum by k to stay in integers.
    // Where the sum has q/m too, q/k is (q/m)/(k/m), whose remainder is less.
    int64_t k = f->args[1]->i;
    Poly q = Poly::of(f->args[0]);
    for (const Poly::Term& t : p.terms()) {
      const auto part = refined(t, term);
      if (!part) continue;
      k /= divisor_of(t);
      q = *part;
      break;
    }
    const Poly scaled = others * Poly(k) + c * (term.coef > 0 ? q - Poly(k - 1) : q);
    Bound low = lower(scaled, fuel);
    if (low) low = ceil_quotient(*low, k);
    // Or the division on its own, where it does not cancel against the rest.
    const Bound alone = term.coef > 0 ? lower(q, fuel) : lower(Poly() - q, fuel);
    if (!alone) return low;
    const int64_t quotient = term.coef > 0 ? floor_quotient(*alone, k) : floor_quotient(-*alone, k);
    return better(low, lower(others + c * Poly(quotient), fuel));
  }
  const Bound with_a = lower(others + c * Poly::of(f->args[0]), fuel);
  const Bound with_b = lower(others + c * Poly::of(f->args[1]), fuel);
  // min >= both only when both are tried; -min >= -a and >= -b, so either bound will do.
  return (f->op == Op::kMin) == (term.coef > 0) ? worse(with_a, with_b) : better(with_a, with_b);
}

std::optional<int64_t> Facts::lower_loop(const Poly& p, const Poly::Term& term, int fuel) const {
  const LoopRange& range = loops_[static_cast<size_t>(term.factors[0]->id)];
  const Poly replacement = term.coef > 0 ? range.begin : range.end - Poly(1);
  return lower(p - product(term) + Poly(term.coef) * replacement, fuel);
}

const Facts::Interval* Facts::elements_of(const Expr& load) const {
  const Expr& e = strip_casts(load);
  if (e->op != Op::kLoad) return nullptr;
  for (const Interval& i : elements_) {
    if (i.name == e->name) return &i;
  }
  return nullptr;
}

/// Dims, checked loads, and products of nonnegative factors.
std::optional<int64_t> Facts::lower_rest(const Poly& p, int fuel) const {
  // Loads before dims: their bounds mention dims, which may then cancel.
  const auto& terms = p.terms();
  const auto load = std::find_if(terms.begin(), terms.end(), [this](const Poly::Term& t) {
    return t.factors.size() == 1 && elements_of(t.factors[0]);
  });
  const Poly::Term& term = load != terms.end() ? *load : terms.front();
  const Poly others = p - product(term);
  if (term.factors.size() == 1) {
    const Expr& f = term.factors[0];
    const Interval* range = elements_of(f);
    for (const Interval& d : dims_) {
      if (f->op == Op::kDim && d.name == f->name) range = &d;
    }
    if (!range) return std::nullopt;
    return lower(others + Poly(term.coef) * (term.coef > 0 ? range->lo : range->hi), fuel);
  }
  int64_t low = 1, high = 1;
  for (const Expr& f : term.factors) {
    const Bound l = lower(Poly::atom(f), fuel);
    const Bound negated = lower(Poly() - Poly::atom(f), fuel);
    if (!l || *l < 0 || !negated) return std::nullopt;
    if (__builtin_mul_overflow(low, *l, &low) || __builtin_mul_overflow(high, -*negated, &high)) {
      return std::nullopt;
    }
  }
  int64_t bound = 0;
  if (__builtin_mul_overflow(term.coef, term.coef > 0 ? low : high, &bound)) return std::nullopt;
  return lower(others + Poly(bound), fuel);
}

}  // namespace hone::ir
