// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "jit/ir/poly.h"

namespace hone::ir {

/// What is known of the values that polynomials mention; proves inequalities. Sound, not complete:
/// no answer means "cannot tell".
class Facts {
 public:
  Facts();
  /// Loop variable `id` runs over begin <= id < end. A loop's bounds mention only loops of smaller
  /// number. May be redefined.
  void define_loop(int id, Poly begin, Poly end);
  /// Dim `name` lies in lo..hi.
  void define_dim(std::string name, int64_t lo, int64_t hi);
  /// Elements of an integer buffer lie in lo..hi (checked before anything runs).
  struct Elements {
    std::string name;
    std::optional<Poly> lo, hi;
    std::optional<std::pair<Poly, Poly>> at = {};  ///< the first and last offset; null: all
  };
  void define_elements(Elements e);

  /// p >= 0 holds until `forget` takes the youngest assumption back.
  void assume(Poly p) { assumptions_.push_back(std::move(p)); }
  void forget() { assumptions_.pop_back(); }
  /// What holds without assumptions.
  Facts unconditional() const;

  /// A constant not above (not below) every value that `p` takes, or nothing.
  std::optional<int64_t> lower(const Poly& p) const;
  std::optional<int64_t> upper(const Poly& p) const;
  /// p >= 0 always.
  bool nonnegative(const Poly& p) const;
  /// a <= b always.
  bool at_most(const Poly& a, const Poly& b) const { return nonnegative(b - a); }

 private:
  struct Hash;
  struct Answers;
  struct Question;
  /// Bounds the case splits of nested min, max and divisions: how deep, and how many in all.
  struct Fuel {
    int depth;
    Question* question;
  };

  struct LoopRange {
    Poly begin, end;
    bool known = false;
  };
  struct Interval {
    std::string name;
    Poly lo, hi;
  };

  /// Called where a definition is new: answers that were given do not hold any more.
  void learn();
  std::optional<int64_t> lower(const Poly& p, Fuel fuel) const;
  std::optional<int64_t> lower_factor(const Poly& p, Fuel fuel) const;
  std::optional<int64_t> lower_composite(const Poly& p, const Poly::Term& term, Fuel fuel) const;
  std::optional<int64_t> lower_bits(const Poly& p, const Poly::Term& term, Fuel fuel) const;
  std::optional<int64_t> lower_div(const Poly& p, const Poly::Term& term, Fuel fuel) const;
  std::optional<int64_t> lower_by_dims(const Poly& p, const Poly::Term& term, Fuel fuel) const;
  std::optional<int64_t> lower_product(const Poly& p, const Poly::Term& term, Fuel fuel) const;
  std::optional<int64_t> lower_load(const Poly& p, const Poly::Term& term, Fuel fuel) const;
  std::optional<int64_t> lower_rest(const Poly& p, Fuel fuel) const;
  std::optional<Poly> at_end(const Poly::Term& term, int loop, Fuel fuel) const;
  bool is_known(const Expr& factor) const;
  bool is_positive(const Poly& divisor, const Poly& dividend, Fuel fuel) const;
  bool holds(const Elements& e, const Expr& load, Fuel fuel) const;

  std::vector<LoopRange> loops_;
  std::vector<Poly> assumptions_;
  std::vector<Interval> dims_;
  std::vector<Elements> elements_;
  /// Bounds that no want of fuel weakened. Case splits and passes ask for the same again and again.
  /// Copies share them until one of them learns more.
  std::shared_ptr<Answers> answers_;
};

}  // namespace hone::ir
