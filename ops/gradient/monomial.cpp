// SPDX-License-Identifier: Apache-2.0
#include "ops/gradient/monomial.h"

#include <cmath>

#include "ops/gradient/terms.h"

namespace hone::ops {
namespace {

Term product_term(const std::vector<Term>& factors) {
  Term out = factors[0];
  for (size_t i = 1; i < factors.size(); ++i) {
    out = infix_term(Infix::kMul, std::move(out), factors[i]);
  }
  return out;
}

bool is_infix(const Term& t, Infix op) { return t.kind == Term::kInfix && t.infix == op; }

}  // namespace

void Monomial::multiply(const Term& t) {
  if (t.kind == Term::kInt || t.kind == Term::kFloat) {
    coefficient *= t.kind == Term::kInt ? static_cast<double>(t.i) : t.f;
  } else if (t.kind == Term::kNeg) {
    coefficient = -coefficient;
    multiply(t.args[0]);
  } else if (is_infix(t, Infix::kMul)) {
    multiply(t.args[0]);
    multiply(t.args[1]);
  } else if (is_infix(t, Infix::kDiv) && !is_whole(t)) {
    multiply(t.args[0]);
    divide(t.args[1]);
  } else {
    factors.push_back(t);
  }
}

void Monomial::divide(const Term& t) {
  if ((t.kind == Term::kInt && t.i != 0) || (t.kind == Term::kFloat && t.f != 0)) {
    coefficient /= t.kind == Term::kInt ? static_cast<double>(t.i) : t.f;
  } else if (t.kind == Term::kNeg) {
    coefficient = -coefficient;
    divide(t.args[0]);
  } else if (is_infix(t, Infix::kMul)) {
    divide(t.args[0]);
    divide(t.args[1]);
  } else {
    divisors.push_back(t);
  }
}

void Monomial::multiply(const Monomial& other) {
  coefficient *= other.coefficient;
  factors.insert(factors.end(), other.factors.begin(), other.factors.end());
  divisors.insert(divisors.end(), other.divisors.begin(), other.divisors.end());
}

Term Monomial::term(bool positive) const {
  const double scale = positive ? std::fabs(coefficient) : coefficient;
  std::vector<Term> above = factors;
  if (above.empty() || (scale != 1 && scale != -1)) {
    above.insert(above.begin(), number_term(scale));
  } else if (scale == -1) {
    above[0] = prefix_term(Term::kNeg, above[0]);
  }
  const Term product = product_term(above);
  if (divisors.empty()) return product;
  return infix_term(Infix::kDiv, product, product_term(divisors));
}

}  // namespace hone::ops
