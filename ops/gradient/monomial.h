// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "ops/syntax.h"

namespace hone::ops {

/// A product of floats: `coefficient * factors / divisors`.
struct Monomial {
  double coefficient = 1;
  std::vector<Term> factors;
  std::vector<Term> divisors;

  /// Multiplies by a term; products, quotients, signs and numbers are taken apart.
  void multiply(const Term& t);
  void divide(const Term& t);
  void multiply(const Monomial& other);
  /// All of it as a term, without the sign where `positive`.
  Term term(bool positive = false) const;
};

}  // namespace hone::ops
