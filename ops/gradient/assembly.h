// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "ops/gradient/adjoint.h"
#include "ops/gradient/equations.h"

namespace hone::ops {

/// Puts an adjoint op together: the gradients, what they need of the op itself, and a signature.
class Assembly {
 public:
  /// `take` are results and intermediates that become arguments.
  Assembly(const Equations& equations, const Adjoint& adjoint, const std::set<std::string>& take)
      : e_(equations), adjoint_(adjoint), take_(take) {}

  Definition definition();

 private:
  void drop_unread();
  void settle_parts();
  bool is_shared(const Equation& part) const;
  Term with_parts(const Term& t, const std::string& own) const;
  void need(const Term& t);
  void add_forward();
  void state_types();
  void state_ranges();
  bool is_result(const Line& l) const;
  Range left_index(const Line& l, size_t dim) const;
  void state_scatter(const Line& l, Statement& s) const;
  Term with_ranges(const Term& t) const;
  bool says_extent(const Term& t, const std::string& index, const ir::Expr& extent, bool lines,
                   bool* other) const;
  const std::vector<ir::Expr>* shape_of(const std::string& tensor, bool lines) const;
  bool is_used(const std::string& name) const;
  void add_arguments(Definition& d) const;
  std::string needed_for_shape(const Definition& d) const;
  void put_arguments(Definition& d, const std::set<std::string>& in) const;
  void add_taken(Definition& d) const;
  void add_params(Definition& d) const;

  const Equations& e_;
  const Adjoint& adjoint_;
  const std::set<std::string>& take_;
  std::vector<Line> lines_;
  std::set<std::string> direct_;  ///< parts that are read by what is no part of their statement
  std::set<std::string> needed_;  ///< equations that become lines
  std::vector<Statement> statements_;
  std::map<std::string, std::vector<ir::Expr>> shapes_;  ///< of the lines so far
};

}  // namespace hone::ops
