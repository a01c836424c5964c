// SPDX-License-Identifier: Apache-2.0
#include "jit/ir/poly.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <numeric>

#include "jit/ir/extremes.h"
#include "jit/ir/facts.h"
#include "jit/ir/integers.h"

namespace hone::ir {
namespace {

/// Chosen: time that a normal form may take (not measured).
constexpr size_t kMostProducts = 256;    // terms of a product that is multiplied out
constexpr uint64_t kMostRepeated = 128;  // nodes of an operand that its normal form repeats

/// Canonical order of factors: loops by number, then named variables, dims, then opaque nodes.
int rank(const Expr& e) {
  switch (e->op) {
    case Op::kVar:
      return e->id >= 0 ? 0 : 1;
    case Op::kDim:
      return 2;
    default:
      return 3;
  }
}

template <class T>
int compare_values(const T& a, const T& b) {
  return a < b ? -1 : b < a;
}

/// An order of all expressions, in which 0 means equal.
int compare_nodes(const Expr& a, const Expr& b) {
  if (a.get() == b.get()) return 0;
  if (int c = compare_values(a->op, b->op)) return c;
  if (int c = compare_values(a->type, b->type)) return c;
  if (int c = compare_values(a->guarded, b->guarded)) return c;
  if (int c = compare_values(a->reciprocal, b->reciprocal)) return c;
  if (int c = a->name.compare(b->name)) return c;
  if (int c = compare_values(a->id, b->id)) return c;
  if (int c = compare_values(a->i, b->i)) return c;
  if (int c = compare_values(a->fn, b->fn)) return c;
  // By their bits: a NaN has no place in the order of numbers.
  if (int c = compare_values(std::bit_cast<uint64_t>(a->f), std::bit_cast<uint64_t>(b->f)))
    return c;
  if (int c = compare_values(a->args.size(), b->args.size())) return c;
  for (size_t i = 0; i < a->args.size(); ++i) {
    if (int c = compare_nodes(a->args[i], b->args[i])) return c;
  }
  return 0;
}

int compare(const Expr& a, const Expr& b) {
  if (a.get() == b.get()) return 0;
  if (rank(a) != rank(b)) return rank(a) < rank(b) ? -1 : 1;
  if (a->op == Op::kVar && a->id >= 0) return a->id < b->id ? -1 : a->id > b->id;
  if (a->op == Op::kVar || a->op == Op::kDim) return a->name.compare(b->name);
  return compare_nodes(a, b);
}

int compare(const Factors& a, const Factors& b) {
  for (size_t i = 0; i < a.size() && i < b.size(); ++i) {
    if (int c = compare(a[i], b[i])) return c;
  }
  return a.size() < b.size() ? -1 : a.size() > b.size();
}

/// True where data of 64 bits are multiplied or added to, or anything by a large constant. Such a
/// sum may wrap: no divisor cancels its factors.
bool may_wrap(const Poly& p) {
  constexpr int64_t kFar = int64_t{1} << 40;  // Chosen: as in stays_near (not measured).
  for (const Poly::Term& t : p.terms()) {
    if (t.coef < -kFar || t.coef > kFar) return true;
  }
  const bool plain = p.terms().size() == 1 && p.constant() == 0 && p.terms()[0].coef == 1 &&
                     p.terms()[0].factors.size() == 1;
  return !plain && std::any_of(p.terms().begin(), p.terms().end(), [](const Poly::Term& t) {
    return std::any_of(t.factors.begin(), t.factors.end(), [](const Expr& f) {
      return any_node(f, [](const Expr& e) {
        return e->type == DType::kI64 && (e->op == Op::kLoad || e->op == Op::kScalar);
      });
    });
  });
}

/// Remainders, min and max stand for their operands several times: nested ones grow by powers. An
/// operand too large for that stays as it is written, in the node that takes it.
bool repeats_much(const Poly& p) {
  uint64_t count = 0;
  for (const Poly::Term& t : p.terms()) {
    for (const Expr& f : t.factors) {
      count += tree_size(f);
      if (count >= kMostRepeated) return true;
    }
  }
  return false;
}

Expr min_max_node(Op op, const Poly& a, const Poly& b) {
  return make_binary(op, a.expr(), b.expr());
}

}  // namespace

Poly Poly::atom(Expr e) {
  Poly p;
  p.terms_.push_back({1, std::move(e)});
  return p;
}

void Poly::add_term(int64_t coef, const Factors& factors) {
  if (coef == 0) return;
  auto at =
      std::lower_bound(terms_.begin(), terms_.end(), factors,
                       [](const Term& t, const Factors& f) { return compare(t.factors, f) < 0; });
  if (at != terms_.end() && compare(at->factors, factors) == 0) {
    wraps_ |= __builtin_add_overflow(at->coef, coef, &at->coef);
    if (at->coef == 0) terms_.erase(at);
    return;
  }
  terms_.insert(at, {coef, factors});
}

Poly& Poly::operator+=(const Poly& other) {
  wraps_ |= other.wraps_ || __builtin_add_overflow(constant_, other.constant_, &constant_);
  for (const Term& t : other.terms_) add_term(t.coef, t.factors);
  return *this;
}

Poly& Poly::operator-=(const Poly& other) {
  wraps_ |= other.wraps_ || __builtin_sub_overflow(constant_, other.constant_, &constant_);
  for (const Term& t : other.terms_) {
    int64_t coef = 0;
    wraps_ |= __builtin_sub_overflow(0, t.coef, &coef);
    add_term(coef, t.factors);
  }
  return *this;
}

Poly operator*(const Poly& a, const Poly& b) {
  Poly out;
  const auto times = [&out](int64_t x, int64_t y) {
    int64_t product = 0;
    out.wraps_ |= __builtin_mul_overflow(x, y, &product);
    return product;
  };
  out.constant_ = times(a.constant_, b.constant_);
  out.wraps_ |= a.wraps_ || b.wraps_;
  for (const Poly::Term& t : a.terms_) out.add_term(times(t.coef, b.constant_), t.factors);
  for (const Poly::Term& t : b.terms_) out.add_term(times(t.coef, a.constant_), t.factors);
  for (const Poly::Term& s : a.terms_) {
    for (const Poly::Term& t : b.terms_) {
      std::vector<Expr> factors(s.factors.begin(), s.factors.end());
      factors.insert(factors.end(), t.factors.begin(), t.factors.end());
      std::sort(factors.begin(), factors.end(),
                [](const Expr& x, const Expr& y) { return compare(x, y) < 0; });
      out.add_term(times(s.coef, t.coef), Factors(std::move(factors)));
    }
  }
  return out;
}

bool Poly::operator==(const Poly& other) const {
  if (constant_ != other.constant_ || terms_.size() != other.terms_.size()) return false;
  for (size_t i = 0; i < terms_.size(); ++i) {
    if (terms_[i].coef != other.terms_[i].coef ||
        compare(terms_[i].factors, other.terms_[i].factors) != 0) {
      return false;
    }
  }
  return true;
}

std::optional<int64_t> Poly::value() const {
  if (!is_constant()) return std::nullopt;
  return constant_;
}

int64_t Poly::loop_coef(int id) const {
  for (const Term& t : terms_) {
    if (t.factors.size() == 1 && t.factors[0]->op == Op::kVar && t.factors[0]->id == id) {
      return t.coef;
    }
  }
  return 0;
}

std::optional<int64_t> Poly::var_coef(const std::string& name) const {
  int64_t out = 0;
  for (const Term& t : terms_) {
    const bool mentions = std::any_of(t.factors.begin(), t.factors.end(),
                                      [&](const Expr& f) { return mentions_var(f, name); });
    if (!mentions) continue;
    if (t.factors.size() > 1 || t.factors[0]->op != Op::kVar) return {};
    out += t.coef;
  }
  return out;
}

bool Poly::mentions_loop(int id) const {
  for (const Term& t : terms_) {
    for (const Expr& f : t.factors) {
      if (ir::mentions_loop(f, id)) return true;
    }
  }
  return false;
}

Expr Poly::expr() const {
  Expr sum;
  const auto add = [&sum](const Term& t) {
    Expr product = t.factors[0];
    for (size_t i = 1; i < t.factors.size(); ++i) product = product * t.factors[i];
    const int64_t magnitude =
        static_cast<int64_t>(t.coef < 0 ? 0 - static_cast<uint64_t>(t.coef) : t.coef);
    if (magnitude != 1) product = make_int(magnitude) * product;
    if (!sum) {
      sum = t.coef < 0 ? make_unary(Op::kNeg, product) : product;
    } else {
      sum = t.coef < 0 ? sum - product : sum + product;
    }
  };
  // What is added may come before what is subtracted: then nothing is negated.
  const auto first =
      std::find_if(terms_.begin(), terms_.end(), [](const Term& t) { return t.coef > 0; });
  if (first != terms_.end()) add(*first);
  for (auto t = terms_.begin(); t != terms_.end(); ++t) {
    if (t != first) add(*t);
  }
  if (!sum) return make_int(constant_);
  if (constant_ > 0 || constant_ == INT64_MIN) return sum + make_int(constant_);
  if (constant_ < 0) return sum - make_int(-constant_);
  return sum;
}

namespace {

/// p/k of smaller numbers, where it is the same: (4*x + y)/8 is x/2 for 0 <= y < 4, and (x/2)/4 is
/// x/8. Nothing where that is not so.
std::optional<Poly> reduced_div(const Poly& p, int64_t k, const Facts* facts) {
  for (const Poly::Term& t : p.terms()) {
    const int64_t g = std::gcd(t.coef, k);
    if (g == 1) continue;
    Poly whole, rest(p.constant());
    for (const Poly::Term& x : p.terms()) {
      Poly term(1);
      for (const Expr& f : x.factors) term = term * Poly::atom(f);
      if (x.coef % g == 0) {
        whole += term * Poly(x.coef / g);
      } else {
        rest += term * Poly(x.coef);
      }
    }
    const std::optional<int64_t> c = rest.value();
    const bool below =
        c ? *c >= 0 && *c < g : facts && facts->nonnegative(rest) && facts->at_most(rest, g - 1);
    if (below) return floor_div(whole, k / g, facts);
  }
  if (p.constant() != 0 || p.terms().size() != 1 || p.terms()[0].coef != 1) return {};
  const Factors& factors = p.terms()[0].factors;
  int64_t inner = 0;
  if (factors.size() != 1 || factors[0]->op != Op::kDiv || !is_const(factors[0]->args[1], &inner) ||
      inner <= 0 || inner > INT32_MAX || k > INT32_MAX) {
    return {};
  }
  return floor_div(Poly::of(factors[0]->args[0], facts), inner * k, facts);
}

/// x of an atom x/a, and a; nothing where the term is something else.
std::optional<std::pair<Expr, int64_t>> quotient_in(const Poly::Term& t) {
  int64_t by = 0;
  const bool fits = t.factors.size() == 1 && t.factors[0]->op == Op::kDiv &&
                    is_const(t.factors[0]->args[1], &by) && by > 0;
  if (!fits) return {};
  return std::pair(t.factors[0]->args[0], by);
}

/// p/k where p has quotients of one number by a and by a*b. The first is b times the second plus a
/// rest of 0 to b-1. (x/4 + 8*(x/32) + y)/16 is x/32 for 0 <= y < 9.
std::optional<Poly> paired_div(const Poly& p, int64_t k, const Facts* facts) {
  for (const Poly::Term& t : p.terms()) {
    const auto fine = quotient_in(t);
    if (!fine || t.coef % k == 0) continue;
    for (const Poly::Term& u : p.terms()) {
      const auto coarse = quotient_in(u);
      if (!coarse || coarse->second <= fine->second || coarse->second % fine->second != 0 ||
          !equal(coarse->first, fine->first)) {
        continue;
      }
      const int64_t b = coarse->second / fine->second, whole = u.coef + t.coef * b;
      if (whole % k != 0) continue;
      const Poly rest =
          p - Poly(t.coef) * Poly::atom(t.factors[0]) - Poly(u.coef) * Poly::atom(u.factors[0]);
      const Poly most = Poly(t.coef) * Poly(b - 1);
      const bool below = facts && facts->nonnegative(t.coef > 0 ? rest : rest + most) &&
                         facts->at_most(t.coef > 0 ? rest + most : rest, k - 1);
      if (below) return Poly(whole / k) * Poly::atom(u.factors[0]);
    }
  }
  return {};
}

/// True of sums of loops and dims: bounds of quotients in one another would be looked for again and
/// again.
bool is_plain(const Poly& p) {
  for (const Poly::Term& t : p.terms()) {
    for (const Expr& f : t.factors) {
      if (!f->args.empty()) return false;
    }
  }
  return true;
}

/// The quotient a / c where that is surely 0, or surely 1.
std::optional<int64_t> one_of_two(const Poly& a, const Poly& c, const Facts& facts) {
  if (!is_plain(a) || !is_plain(c)) return std::nullopt;
  if (facts.nonnegative(a) && facts.at_most(a + Poly(1), c)) return 0;
  if (facts.at_most(c, a) && facts.at_most(a + Poly(1), c + c)) return 1;
  return std::nullopt;
}

/// The quotient where all values of `p` have the same one, other than 0.
std::optional<int64_t> only_quotient(const Poly& p, int64_t k, const Facts* facts) {
  if (!facts || k <= 0 || !is_plain(p)) return std::nullopt;
  const auto least = facts->lower(p), most = facts->upper(p);
  if (!least || !most || floor_div_of(*least, k) != floor_div_of(*most, k)) return std::nullopt;
  return floor_div_of(*least, k);
}

}  // namespace

Poly floor_div(const Poly& p, int64_t k, const Facts* facts) {
  if (k == 1) return p;
  if (p.wraps()) return Poly::atom(make_binary(Op::kDiv, p.expr(), make_int(k)));
  Poly whole, rest(p.constant());
  for (const Poly::Term& t : p.terms()) {
    Poly term(1);
    for (const Expr& f : t.factors) term = term * Poly::atom(f);
    if (t.coef % k == 0) {
      whole += term * Poly(t.coef / k);
    } else {
      rest += term * Poly(t.coef);
    }
  }
  // The constant moves out as far as it is whole: (x + 7)/6 is (x + 1)/6 + 1.
  const int64_t c = rest.constant();
  const int64_t carry = (c >= 0 ? c : c - k + 1) / k;
  rest -= Poly(carry * k);
  whole += Poly(carry);
  if (rest.is_constant()) return whole;
  if (facts && facts->nonnegative(rest) && facts->at_most(rest, k - 1)) return whole;
  if (const auto same = only_quotient(rest, k, facts)) return whole + Poly(*same);
  if (const auto pair = paired_div(rest, k, facts)) return whole + *pair;
  if (const auto less = reduced_div(rest, k, facts)) return whole + *less;
  return whole + Poly::atom(make_binary(Op::kDiv, rest.expr(), make_int(k)));
}

Poly floor_mod(const Poly& p, int64_t k, const Facts* facts) {
  return p - Poly(k) * floor_div(p, k, facts);
}

Poly ceil_div(const Poly& p, int64_t k, const Facts* facts) {
  return floor_div(p + Poly(k - 1), k, facts);
}

bool is_multiple(const Poly& p, int64_t k) {
  if (p.constant() % k != 0) return false;
  return std::all_of(p.terms().begin(), p.terms().end(), [k](const Poly::Term& t) {
    const int64_t rest = k / std::gcd(t.coef, k);
    return rest == 1 || std::any_of(t.factors.begin(), t.factors.end(), [rest](const Expr& f) {
             return (f->op == Op::kMin || f->op == Op::kMax) &&
                    is_multiple(Poly::of(f->args[0]), rest) &&
                    is_multiple(Poly::of(f->args[1]), rest);
           });
  });
}

Poly min(const Poly& a, const Poly& b, const Facts* facts) {
  if (a.is_constant() && b.is_constant()) return std::min(a.constant(), b.constant());
  if (a == b) return a;
  if (facts && facts->at_most(a, b)) return a;
  if (facts && facts->at_most(b, a)) return b;
  return Poly::atom(min_max_node(Op::kMin, a, b));
}

Poly max(const Poly& a, const Poly& b, const Facts* facts) {
  if (a.is_constant() && b.is_constant()) return std::max(a.constant(), b.constant());
  if (a == b) return a;
  if (facts && facts->at_most(a, b)) return b;
  if (facts && facts->at_most(b, a)) return a;
  return Poly::atom(min_max_node(Op::kMax, a, b));
}

Poly Poly::of(const Expr& e, const Facts* facts) {
  int64_t k = 0;
  switch (e->op) {
    case Op::kInt:
      return e->i;
    case Op::kAdd:
      return of(e->args[0], facts) + of(e->args[1], facts);
    case Op::kSub:
      return of(e->args[0], facts) - of(e->args[1], facts);
    case Op::kNeg:
      return Poly() - of(e->args[0], facts);
    case Op::kMul: {
      const Poly a = of(e->args[0], facts), b = of(e->args[1], facts);
      // A product of long sums stays one.
      if (a.terms().size() * b.terms().size() > kMostProducts) {
        return Poly::atom(e);
      }
      return a * b;
    }
    case Op::kMin:
    case Op::kMax: {
      const Poly a = of(e->args[0], facts), b = of(e->args[1], facts);
      if (repeats_much(a) || repeats_much(b)) return atom(e);
      return e->op == Op::kMin ? min(a, b, facts) : max(a, b, facts);
    }
    case Op::kDiv:
    case Op::kMod: {
      const bool known = is_const(e->args[1], &k);
      if (known ? k <= 0 : facts == nullptr) return atom(e);
      const Poly a = of(e->args[0], facts);
      if (!known) {
        const Poly c = of(e->args[1], facts);
        const auto q = one_of_two(a, c, *facts);
        if (!q) return atom(e);
        return e->op == Op::kDiv ? Poly(*q) : a - Poly(*q) * c;
      }
      if (repeats_much(a) || may_wrap(a)) return atom(e);
      return e->op == Op::kDiv ? floor_div(a, k, facts) : floor_mod(a, k, facts);
    }
    case Op::kCall: {
      const Expr extreme = as_extreme(e);
      return extreme ? of(extreme, facts) : atom(e);
    }
    default:
      return atom(e);
  }
}

std::optional<Poly> beside_var(const Expr& index, const std::string& var) {
  Poly rest = Poly::of(index);
  for (const Poly::Term& t : rest.terms()) {
    const Expr& f = t.factors[0];
    if (t.coef != 1 || t.factors.size() != 1 || f->op != Op::kVar || f->name != var) continue;
    rest -= Poly::atom(Expr(f));
    if (mentions_var(rest.expr(), var)) return std::nullopt;
    return rest;
  }
  return std::nullopt;
}

int dim_along(const std::vector<Expr>& indices, const std::string& var) {
  int found = -1;
  for (size_t d = 0; d < indices.size(); ++d) {
    if (!mentions_var(indices[d], var)) continue;
    if (found >= 0 || !beside_var(indices[d], var)) return -1;
    found = static_cast<int>(d);
  }
  return found;
}

}  // namespace hone::ir
