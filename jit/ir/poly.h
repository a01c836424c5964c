// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "jit/ir/expr.h"

namespace hone::ir {

class Facts;

/// Factors of a product: sorted, never empty. One stands by itself, several are shared by copies.
class Factors {
 public:
  Factors(Expr one) : one_(std::move(one)) {}  // NOLINT: implicit
  explicit Factors(std::vector<Expr> sorted) {
    if (sorted.size() == 1) {
      one_ = std::move(sorted[0]);
    } else {
      several_ = std::make_shared<const std::vector<Expr>>(std::move(sorted));
    }
  }
  size_t size() const { return several_ ? several_->size() : 1; }
  const Expr* begin() const { return several_ ? several_->data() : &one_; }
  const Expr* end() const { return begin() + size(); }
  const Expr& operator[](size_t i) const { return begin()[i]; }

 private:
  Expr one_;
  std::shared_ptr<const std::vector<Expr>> several_;
};

/// A 64-bit integer expression as a sum of monomials plus a constant. Factors are loop variables,
/// dims, and opaque nodes (floor divisions, min, max, loads). Equal polynomials have equal terms.
class Poly {
 public:
  struct Term {
    int64_t coef = 0;
    Factors factors;
  };

  Poly() = default;
  Poly(int64_t constant) : constant_(constant) {}  // NOLINT: implicit

  /// Normal form of `e`. With `facts`, divisions, remainders, min and max that the facts decide
  /// are resolved: (6*o + i)/6 is o where 0 <= i < 6.
  static Poly of(const Expr& e, const Facts* facts = nullptr);
  /// A single factor.
  static Poly atom(Expr e);

  Poly& operator+=(const Poly& other);
  Poly& operator-=(const Poly& other);
  friend Poly operator+(Poly a, const Poly& b) { return a += b; }
  friend Poly operator-(Poly a, const Poly& b) { return a -= b; }
  friend Poly operator*(const Poly& a, const Poly& b);
  bool operator==(const Poly& other) const;

  bool is_constant() const { return terms_.empty(); }
  /// True where a coefficient left 64 bits: right as code computes it, and proof of nothing.
  bool wraps() const { return wraps_; }
  int64_t constant() const { return constant_; }
  const std::vector<Term>& terms() const { return terms_; }
  /// The value when constant.
  std::optional<int64_t> value() const;
  /// Coefficient of loop variable `id` in the terms that are that variable alone.
  int64_t loop_coef(int id) const;
  /// The same of an index by its name; nothing where it stands in a product or under an operation.
  std::optional<int64_t> var_coef(const std::string& name) const;
  /// True when some factor mentions loop variable `id`.
  bool mentions_loop(int id) const;
  /// Back to an expression: terms in canonical order, but a positive one first.
  Expr expr() const;

 private:
  friend class Facts;
  void add_term(int64_t coef, const Factors& factors);

  std::vector<Term> terms_;
  int64_t constant_ = 0;
  bool wraps_ = false;
};

/// floor(p / k) and p - k*floor(p / k) for k > 0, simplified with `facts` (may be null).
Poly floor_div(const Poly& p, int64_t k, const Facts* facts);
Poly floor_mod(const Poly& p, int64_t k, const Facts* facts);
/// ceil(p / k).
Poly ceil_div(const Poly& p, int64_t k, const Facts* facts);
/// Whether k > 0 divides every value of p, as far as its terms show.
bool is_multiple(const Poly& p, int64_t k);
Poly min(const Poly& a, const Poly& b, const Facts* facts);
Poly max(const Poly& a, const Poly& b, const Facts* facts);

/// What `index` adds to `var`, as in 64*p + k for k; nothing where it moves by another step than
/// `var`, or not at all.
std::optional<Poly> beside_var(const Expr& index, const std::string& var);
/// The dim of an access that moves with `var`, step for step, as no other dim does; -1: none.
int dim_along(const std::vector<Expr>& indices, const std::string& var);

}  // namespace hone::ir
