// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

namespace hone::jit {

/// What an index is made of: numbers of loops that run, dims, registers holding other integers,
/// and the lane of the vector loop.
struct Factor {
  enum Kind : int32_t { kNone = 0, kLoop = 1, kDim = 2, kReg = 3, kLane = 4 };
  static constexpr int32_t make(Kind kind, int32_t id) { return kind << 24 | id; }
  static constexpr Kind kind(int32_t code) { return static_cast<Kind>(code >> 24); }
  static constexpr int32_t id(int32_t code) { return code & 0xffffff; }
};

/// coefficient * product of factors (sorted, unused ones 0).
struct Term {
  int64_t coefficient;
  std::array<int32_t, 4> factors;
  bool has(int32_t factor) const {
    return factors[0] == factor || factors[1] == factor || factors[2] == factor ||
           factors[3] == factor;
  }
  /// The term without one occurrence of `factor`.
  Term without(int32_t factor) const;
  bool operator==(const Term&) const = default;
};

/// constant + sum of terms with different factors, in the order of their factors.
struct Affine {
  /// Chosen: more than addresses of usual nests have (not measured).
  static constexpr int kMaxTerms = 10;
  int64_t constant = 0;
  int count = 0;
  bool overflow = false;              ///< more terms or factors than fit; the value is void
  std::array<Term, kMaxTerms> terms;  ///< only the first `count` mean anything

  Affine() {}  // NOLINT: leaves terms as they are
  Affine(const Affine& other) { *this = other; }
  Affine& operator=(const Affine& other) {
    constant = other.constant;
    count = other.count;
    overflow = other.overflow;
    for (int i = 0; i < count; ++i) terms[i] = other.terms[i];
    return *this;
  }
  static Affine of(int64_t value) {
    Affine a;
    a.constant = value;
    return a;
  }
  static Affine of_factor(int32_t factor) {
    Affine a;
    a.add({1, {factor, 0, 0, 0}});
    return a;
  }
  bool is_constant() const { return count == 0 && !overflow; }
  bool has(int32_t factor) const;
  void add(const Term& term);
  /// The sum of the terms that contain `factor`, without it.
  Affine coefficient_of(int32_t factor) const;
  /// The rest.
  Affine without(int32_t factor) const;
  bool operator==(const Affine& other) const;
};

Affine operator+(const Affine& a, const Affine& b);
Affine operator-(const Affine& a, const Affine& b);
Affine operator*(const Affine& a, const Affine& b);
Affine scaled(const Affine& a, int64_t factor);

}  // namespace hone::jit
