// SPDX-License-Identifier: Apache-2.0
#include "jit/ir/facts.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <unordered_map>

#include "jit/ir/integers.h"

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

/// Chosen: time that a proof may take (not measured).
constexpr int kDepth = 24;
constexpr int kSteps = 4000;
constexpr int kFewSteps = 100;         // where the questions before took kManySteps together
constexpr int64_t kManySteps = 50000;  // those of a nest take some hundreds
constexpr int kNodesPerStep = 16;      // a step looks at every node of its polynomial
constexpr uint64_t kMostNodes = 4096;  // as good as endless
constexpr size_t kMostAnswers = 16384;

bool is_composite(const Expr& e) {
  return e->op == Op::kMin || e->op == Op::kMax || e->op == Op::kDiv || e->op == Op::kMod ||
         is_bitwise(e->op);
}

/// `e` without casts that keep every integer as it is.
const Expr& strip_casts(const Expr& e) {
  const bool keeps = e->op == Op::kCast && is_int(e->type) && is_int(e->args[0]->type) &&
                     range_of(e->args[0]->type)->lies_in(*range_of(e->type));
  return keeps ? strip_casts(e->args[0]) : e;
}

/// The values of a factor that 32 bits or fewer were computed in: of `cast<i64>(x % 16)`.
std::optional<IntegerRange> range_of_narrow(const Poly::Term& t) {
  const Expr& f = t.factors[0];
  if (t.factors.size() != 1 || f->op != Op::kCast) return std::nullopt;
  const auto narrow = narrowest(f);
  // All values of 32 bits are no news.
  const bool all = narrow && range_of(DType::kI32)->lies_in(narrow->range);
  return narrow && !all ? std::optional(narrow->range) : std::nullopt;
}

/// The divisor of a term that is one division, by a positive constant; 0 of any other.
int64_t divisor_of(const Poly::Term& t) {
  int64_t k = 0;
  const Expr& f = t.factors[0];
  const bool divides = t.factors.size() == 1 && f->op == Op::kDiv && is_const(f->args[1], &k);
  return divides && k > 0 ? k : 0;
}

/// The operand of `coarse`, divided by the divisor of `fine`, if that divisor divides its own. For
/// `fine` = q/a and `coarse` = (q + ..)/(a*b) it is q/a plus something.
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

/// How many steps a look at `p` counts for.
int steps_for(const Poly& p) {
  uint64_t nodes = 0;
  for (const Poly::Term& t : p.terms()) {
    for (const Expr& f : t.factors) nodes += tree_size(f);
  }
  return 1 + static_cast<int>(std::min(nodes, kMostNodes) / kNodesPerStep);
}

/// The polynomial of one term.
Poly product(const Poly::Term& term) {
  Poly p(term.coef);
  for (const Expr& f : term.factors) p = p * Poly::atom(f);
  return p;
}

}  // namespace

struct Facts::Hash {
  size_t operator()(const Poly& p) const {
    size_t h = static_cast<size_t>(p.constant());
    for (const Poly::Term& t : p.terms()) {
      h = h * 131 + static_cast<size_t>(t.coef);
      for (const Expr& f : t.factors) h = h * 31 + f->hash;
    }
    return h;
  }
};

struct Facts::Answers : std::unordered_map<Poly, Bound, Hash> {
  int64_t spent = 0;  ///< steps of all questions
};

/// One question for a bound.
struct Facts::Question {
  Answers& answers;
  int steps = 0;  ///< left
  int cuts = 0;   ///< how often a look was ended by want of steps or depth
};

Facts::Facts() { learn(); }

void Facts::learn() {
  const int64_t spent = answers_ ? answers_->spent : 0;
  answers_ = std::make_shared<Answers>();
  answers_->spent = spent;
}

void Facts::define_loop(int id, Poly begin, Poly end) {
  if (loops_.size() <= static_cast<size_t>(id)) loops_.resize(static_cast<size_t>(id) + 1);
  LoopRange& range = loops_[static_cast<size_t>(id)];
  // Of a loop that is new nothing was asked so far, unless a copy has answers of its own.
  const bool news = range.known || answers_.use_count() > 1;
  range = {std::move(begin), std::move(end), true};
  if (news) learn();
}

void Facts::define_elements(Elements e) {
  elements_.push_back(std::move(e));
  learn();
}

Facts Facts::unconditional() const {
  Facts out = *this;
  out.assumptions_.clear();
  return out;
}

void Facts::define_dim(std::string name, int64_t lo, int64_t hi) {
  dims_.push_back({std::move(name), lo, hi});
  learn();
}

bool Facts::nonnegative(const Poly& p) const {
  const auto proves = [this](const Poly& q) {
    const Bound low = lower(q);
    return low && *low >= 0;
  };
  if (proves(p)) return true;
  // The end of a loop may cancel a division as a whole, which on its own has only bounds.
  for (const Poly::Term& t : p.terms()) {
    const Expr& f = t.factors[0];
    if (t.factors.size() > 1 || !is_known(f)) continue;
    const LoopRange& range = loops_[static_cast<size_t>(f->id)];
    const Poly& end = t.coef > 0 ? range.begin : range.end;
    const bool divides = std::any_of(end.terms().begin(), end.terms().end(), [](const auto& x) {
      return x.factors.size() == 1 && is_composite(x.factors[0]);
    });
    const Poly last = t.coef > 0 ? end : end - Poly(1);
    if (divides && proves(p - product(t) + Poly(t.coef) * last)) return true;
  }
  // p >= p - q where q >= 0 is assumed.
  return std::any_of(assumptions_.rbegin(), assumptions_.rend(),
                     [&](const Poly& q) { return proves(p - q); });
}

std::optional<int64_t> Facts::lower(const Poly& p) const {
  if (answers_->size() > kMostAnswers) answers_->clear();
  const int steps = answers_->spent < kManySteps ? kSteps : kFewSteps;
  Question question{*answers_, steps};
  const Bound low = lower(p, {kDepth, &question});
  answers_->spent += steps - question.steps;
  return low;
}

std::optional<int64_t> Facts::upper(const Poly& p) const {
  auto low = lower(Poly() - p);
  if (!low || *low == INT64_MIN) return std::nullopt;
  return -*low;
}

bool Facts::is_known(const Expr& factor) const {
  return factor->op == Op::kVar && factor->id >= 0 &&
         static_cast<size_t>(factor->id) < loops_.size() &&
         loops_[static_cast<size_t>(factor->id)].known;
}

std::optional<int64_t> Facts::lower(const Poly& p, Fuel fuel) const {
  if (p.wraps()) return std::nullopt;
  if (p.is_constant()) return p.constant();
  Question& question = *fuel.question;
  if (const auto it = question.answers.find(p); it != question.answers.end()) return it->second;
  question.steps -= steps_for(p);
  if (fuel.depth-- == 0 || question.steps < 0) {
    ++question.cuts;
    return std::nullopt;
  }
  const int cuts = question.cuts;
  const Bound low = lower_factor(p, fuel);
  if (question.cuts == cuts) question.answers.emplace(p, low);
  return low;
}

/// Replaces one factor by the bound that makes the sum smallest. Divisions, min and max come first,
/// because they may cancel against loops. Then come loops from the innermost, then the rest.
std::optional<int64_t> Facts::lower_factor(const Poly& p, Fuel fuel) const {
  int loop = -1;
  for (const Poly::Term& t : p.terms()) {
    if (t.factors.size() == 1 && is_composite(t.factors[0])) {
      return lower_composite(p, coarsest(p, t), fuel);
    }
    for (const Expr& f : t.factors) {
      if (is_known(f)) loop = std::max(loop, f->id);
    }
  }
  for (const Poly::Term& t : p.terms()) {
    if (loop < 0) break;
    const auto end = at_end(t, loop, fuel);
    if (end) return lower(p - product(t) + *end, fuel);
  }
  return lower_rest(p, fuel);
}

/// The least that a term is while the loop `loop`, one of its factors, runs; nothing where the sign
/// of the others is not known.
std::optional<Poly> Facts::at_end(const Poly::Term& term, int loop, Fuel fuel) const {
  Poly others(1);
  bool found = false;
  for (const Expr& f : term.factors) {
    if (!found && f->op == Op::kVar && f->id == loop) {
      found = true;
    } else {
      others = others * Poly::atom(f);
    }
  }
  if (!found) return std::nullopt;
  if (term.factors.size() > 1) {
    const Bound low = lower(others, fuel);
    if (!low || *low < 0) return std::nullopt;
  }
  const LoopRange& range = loops_[static_cast<size_t>(loop)];
  return Poly(term.coef) * others * (term.coef > 0 ? range.begin : range.end - Poly(1));
}

std::optional<int64_t> Facts::lower_composite(const Poly& p, const Poly::Term& term,
                                              Fuel fuel) const {
  const Expr& f = term.factors[0];
  if (is_bitwise(f->op)) return lower_bits(p, term, fuel);
  if (f->op == Op::kMod) return lower_by_dims(p, term, fuel);
  if (f->op == Op::kDiv) {
    return divisor_of(term) ? lower_div(p, term, fuel) : lower_by_dims(p, term, fuel);
  }
  const Poly others = p - product(term);
  const Poly c(term.coef);
  const Bound with_a = lower(others + c * Poly::of(f->args[0]), fuel);
  const bool both = (f->op == Op::kMin) == (term.coef > 0);
  if (both && !with_a) return std::nullopt;
  const Bound with_b = lower(others + c * Poly::of(f->args[1]), fuel);
  // min >= both only when both are tried; -min >= -a and >= -b, so either bound will do.
  return both ? worse(with_a, with_b) : better(with_a, with_b);
}

/// Bits of 64-bit integers: what their operands' ranges leave. Narrower ones wrap on the way.
std::optional<int64_t> Facts::lower_bits(const Poly& p, const Poly::Term& term, Fuel fuel) const {
  const Expr& f = term.factors[0];
  if (f->type != DType::kI64) return std::nullopt;
  const auto range = [&](const Expr& e) -> std::optional<IntegerRange> {
    const Poly x = Poly::of(e);
    const Bound low = lower(x, fuel), negated = lower(Poly() - x, fuel);
    if (!low || !negated || *negated == INT64_MIN) return std::nullopt;
    return IntegerRange{*low, -*negated};
  };
  const Poly others = p - product(term), c(term.coef);
  Bound low;
  if (const auto bits = range_of_bits(f->op, range(f->args[0]), range(f->args[1]))) {
    low = lower(others + c * Poly(term.coef > 0 ? bits->lo : bits->hi), fuel);
  }
  // Bits of a constant add it at most, or take it away.
  int64_t by = 0;
  if ((f->op != Op::kBitOr && f->op != Op::kBitXor) || !is_const(f->args[1], &by) || by < 0) {
    return low;
  }
  const int64_t change = term.coef > 0 ? (f->op == Op::kBitOr ? 0 : -by) : by;
  return better(low, lower(others + c * (Poly::of(f->args[0]) + Poly(change)), fuel));
}

/// A division by a constant.
std::optional<int64_t> Facts::lower_div(const Poly& p, const Poly::Term& term, Fuel fuel) const {
  const Expr& f = term.factors[0];
  const Poly others = p - product(term);
  const Poly c(term.coef);
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
  if (!alone || *alone == INT64_MIN) return low;
  const int64_t quotient = term.coef > 0 ? floor_quotient(*alone, k) : floor_quotient(-*alone, k);
  return better(low, lower(others + c * Poly(quotient), fuel));
}

/// q/d or q%d where d is known only at the call. x/0 and x%0 are 0.
std::optional<int64_t> Facts::lower_by_dims(const Poly& p, const Poly::Term& term,
                                            Fuel fuel) const {
  const Expr& f = term.factors[0];
  const Poly q = Poly::of(f->args[0]), d = Poly::of(f->args[1]), c(term.coef);
  const Poly others = p - product(term);
  const Bound least = lower(d, fuel), dividend = lower(q, fuel);
  if (!least || *least < 0) return std::nullopt;
  Bound low;
  if (f->op == Op::kMod ? term.coef > 0 : term.coef > 0 && dividend && *dividend >= 0) {
    low = lower(others, fuel);
  }
  if (!is_positive(d, q, fuel)) return low;
  if (f->op == Op::kMod) {
    if (term.coef < 0) low = better(low, lower(others + c * (d - Poly(1)), fuel));
    return low;
  }
  // As for a constant: d*floor(q/d) lies in q-(d-1) .. q, and p >= 0 where d*p > -d.
  const Poly scaled = others * d + c * (term.coef > 0 ? q - d + Poly(1) : q);
  const Bound whole = lower(scaled + d - Poly(1), fuel);
  return whole && *whole >= 0 ? better(low, 0) : low;
}

/// d >= 1, where `dividend` has a value: every loop in it runs.
bool Facts::is_positive(const Poly& d, const Poly& dividend, Fuel fuel) const {
  const auto proves = [&](const Poly& q) {
    const Bound low = lower(q, fuel);
    return low && *low >= 0;
  };
  if (proves(d - Poly(1))) return true;
  for (size_t id = 0; id < loops_.size(); ++id) {
    if (!loops_[id].known || !dividend.mentions_loop(static_cast<int>(id))) continue;
    const Poly count = loops_[id].end - loops_[id].begin;
    if (proves(d - count)) return true;
    // A product of what is not negative is 1 or more where each of its factors is.
    if (count.constant() > 0 || count.terms().size() != 1 || d.terms().size() != 1) continue;
    const Poly::Term& t = count.terms()[0];
    const bool factor = d == Poly::atom(d.terms()[0].factors[0]) &&
                        std::any_of(t.factors.begin(), t.factors.end(), [&](const Expr& e) {
                          return equal(e, d.terms()[0].factors[0]);
                        });
    if (factor && t.coef > 0 && std::all_of(t.factors.begin(), t.factors.end(), [&](const Expr& e) {
          return proves(Poly::atom(e));
        })) {
      return true;
    }
  }
  return false;
}

bool Facts::holds(const Elements& e, const Expr& load, Fuel fuel) const {
  if (load->op != Op::kLoad || load->guarded || load->name != e.name) return false;
  if (!e.at) return true;
  const auto proves = [&](const Poly& q) {
    const Bound low = lower(q, fuel);
    return low && *low >= 0;
  };
  const Poly offset = Poly::of(load->args[0]);
  return proves(offset - e.at->first) && proves(e.at->second - offset);
}

/// An integer that is read: what is known of the tensor's elements, or of its type.
std::optional<int64_t> Facts::lower_load(const Poly& p, const Poly::Term& term, Fuel fuel) const {
  const Expr& load = strip_casts(term.factors[0]);
  const Poly others = p - product(term), c(term.coef);
  Bound low;
  for (const Elements& e : elements_) {
    const std::optional<Poly>& end = term.coef > 0 ? e.lo : e.hi;
    if (end && holds(e, load, fuel)) low = better(low, lower(others + c * *end, fuel));
  }
  if (const auto range = range_of(load->type); range && load->type != DType::kI64) {
    low = better(low, lower(others + c * Poly(term.coef > 0 ? range->lo : range->hi), fuel));
  }
  return low;
}

/// Dims, loads, and products of nonnegative factors.
std::optional<int64_t> Facts::lower_rest(const Poly& p, Fuel fuel) const {
  // Loads before dims: their bounds mention dims, which may then cancel.
  const auto& terms = p.terms();
  const auto load = std::find_if(terms.begin(), terms.end(), [](const Poly::Term& t) {
    return t.factors.size() == 1 && strip_casts(t.factors[0])->op == Op::kLoad;
  });
  if (load != terms.end()) return lower_load(p, *load, fuel);
  for (const Poly::Term& t : terms) {
    const auto range = range_of_narrow(t);
    if (!range) continue;
    return lower(p - product(t) + Poly(t.coef) * Poly(t.coef > 0 ? range->lo : range->hi), fuel);
  }
  const Poly::Term& term = terms.front();
  if (term.factors.size() > 1) return lower_product(p, term, fuel);
  const Expr& f = term.factors[0];
  for (const Interval& d : dims_) {
    if (f->op != Op::kDim || d.name != f->name) continue;
    return lower(p - product(term) + Poly(term.coef) * (term.coef > 0 ? d.lo : d.hi), fuel);
  }
  return std::nullopt;
}

std::optional<int64_t> Facts::lower_product(const Poly& p, const Poly::Term& term,
                                            Fuel fuel) const {
  int64_t low = 1, high = 1;
  for (const Expr& f : term.factors) {
    const Bound l = lower(Poly::atom(f), fuel);
    if (!l || *l < 0 || __builtin_mul_overflow(low, *l, &low)) return std::nullopt;
    if (term.coef > 0) continue;
    const Bound negated = lower(Poly() - Poly::atom(f), fuel);
    if (!negated || *negated == INT64_MIN || __builtin_mul_overflow(high, -*negated, &high)) {
      return std::nullopt;
    }
  }
  int64_t bound = 0;
  if (__builtin_mul_overflow(term.coef, term.coef > 0 ? low : high, &bound)) return std::nullopt;
  return lower(p - product(term) + Poly(bound), fuel);
}

}  // namespace hone::ir
