// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <vector>

#include "ops/gradient/equations.h"
#include "ops/gradient/monomial.h"

namespace hone::ops {

/// A condition, or what holds where it does not.
struct Condition {
  Term term;
  bool holds = true;
};

/// What one read adds to the gradient of the tensor read: `value` at the element `at`, for all of
/// `scope` where the conditions hold.
struct Contribution {
  std::string from;          ///< the equation that reads
  std::string target;        ///< the tensor or scalar argument
  std::vector<Term> at;      ///< its indices; positions outside of it count for nothing
  std::vector<Bound> scope;  ///< the equation's own indices, then those that it reduces
  size_t outer = 0;          ///< how many are of the equation
  bool guarded = false;      ///< the read has an `else`
  std::vector<Condition> conditions;
  Monomial value;  ///< the first factor is the gradient of the equation's element
  Span span;       ///< of the read
};

/// The chain rule: goes through values, from the gradient of the whole to the gradients of reads.
class Backward {
 public:
  /// `wrt`: the arguments whose gradients are asked for. `take`: results and intermediates that
  /// will be there.
  Backward(Equations& equations, const std::vector<std::string>& wrt,
           const std::set<std::string>& take, Diagnostics& diagnostics);

  /// Does this tensor or scalar depend on what is asked for?
  bool depends(const std::string& name) const { return active_.count(name) != 0; }
  /// What equation `name` adds to the gradients of its reads, where `seed` is its own gradient.
  std::vector<Contribution> through(const std::string& name, const Term& seed);

 private:
  struct Way;

  void find_active(const std::vector<std::string>& wrt);
  bool depends(const Term& t) const;
  void go(const Term& t, Way way);
  bool shares(const Term& t, const Way& way) const;
  int reads_below(const Term& t) const;
  std::vector<Bound> reduced(const Way& way) const;
  std::vector<Term> conditions_of(const Term& t, const Way& way) const;
  void go_infix(const Term& t, const Way& way);
  void go_read(const Term& t, Way way);
  void go_outside(const Term& t, Way way);
  bool holds_where_read(const Term& read, const Term& condition);
  void go_call(const Term& t, const Way& way);
  void go_relu(const Term& t, const Way& way);
  void go_extreme(const Term& a, const Term& b, bool most, const Way& way);
  void go_cast(const Term& t, Way way);
  void through_extreme(Way way);
  void through_product(Way way);
  void through_last(Way way);
  Equation first_of(const Equation& extreme);
  Term derivative(const Term& call, const char* text, const Way& way);
  void error(Span span, const std::string& message);

  Equations& e_;
  const std::set<std::string>& take_;
  Diagnostics& diagnostics_;
  std::set<std::string, std::less<>> active_;
  Equation of_;  // under way
  std::vector<Contribution> found_;
};

}  // namespace hone::ops
