// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "jit/ir/poly.h"

namespace hone::ir {

/// What is known of the values that polynomials mention; proves inequalities. Sound, not complete:
/// no answer means "cannot tell".
class Facts {
 public:
  /// Loop variable `id` runs over begin <= id < end. A loop's bounds mention only loops of smaller
  /// number. May be redefined.
  void define_loop(int id, Poly begin, Poly end);
  /// Dim `name` lies in lo..hi.
  void define_dim(std::string name, int64_t lo, int64_t hi);
  /// Every element of integer buffer `name` lies in lo..hi (checked before anything runs).
  void define_elements(std::string name, Poly lo, Poly hi);

  /// p >= 0 holds until `forget` takes the youngest assumption back.
  void assume(Poly p) { assumptions_.push_back(std::move(p)); }
  void forget() { assumptions_.pop_back(); }
  /// What holds without assumptions.
  Facts unconditional() const;

  /// A constant not above (not below) every value that `p` takes, or nothing.
  std::optional<int64_t> lower(const Poly& p) const { return lower(p, kFuel); }
  std::optional<int64_t> upper(const Poly& p) const;
  /// p >= 0 always.
  bool nonnegative(const Poly& p) const;
  /// a <= b always.
  bool at_most(const Poly& a, const Poly& b) const { return nonnegative(b - a); }

 private:
  static constexpr int kFuel = 24;  // bounds the case splits of nested min and max

  struct LoopRange {
    Poly begin, end;
    bool known = false;
  };
  struct Interval {
    std::string name;
    Poly lo, hi;
  };

  std::optional<int64_t> lower(const Poly& p, int fuel) const;
  std::optional<int64_t> lower_composite(const Poly& p, const Poly::Term& term, int fuel) const;
  std::optional<int64_t> lower_loop(const Poly& p, const Poly::Term& term, int fuel) const;
  std::optional<int64_t> lower_rest(const Poly& p, int fuel) const;
  const Interval* elements_of(const Expr& load) const;

  std::vector<LoopRange> loops_;
  std::vector<Poly> assumptions_;
  std::vector<Interval> dims_;
  std::vector<Interval> elements_;
};

}  // namespace hone::ir
