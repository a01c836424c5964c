// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "include/hone/error.h"
#include "ops/gradient/backward.h"
#include "ops/gradient/equations.h"

namespace hone::ops {

/// What one contribution adds to an element of a gradient:
/// `outer * sum[reduced](inner where inside) where outside`.
struct Addend {
  std::vector<Condition> outside;
  std::vector<Condition> inside;
  std::vector<Bound> reduced;
  Monomial outer;
  Monomial inner;

  /// Its value where the outer conditions hold, without the sign where `positive`.
  Term term(bool positive = false) const;
};

/// The tensor whose gradient is put together.
struct Target {
  std::string name;
  std::vector<Bound> indices;  ///< of its element
  std::vector<Term> domain;    ///< conditions on them
};

/// Turns a read round. A contribution counts at one element of the target for each point of its
/// scope; here each element gets the points that count for it. So `X[2*i + r]` has `i = (a - r)/2`.
class Transposition {
 public:
  /// `made` are names of indices that gradients have already.
  Transposition(Equations& equations, const Target& target, std::set<std::string>& made)
      : e_(equations), target_(target), made_(made) {}

  /// Nothing where it counts nowhere; an error is a text.
  Result<std::optional<Addend>> run(Contribution c);

 private:
  /// An index of the scope: still open, or solved.
  struct Variable {
    Bound range;
    bool outer = false;
    bool sure = false;    ///< its value is in its range
    ir::Expr value = {};  ///< null: still to be summed over
  };

  void open(Contribution& c);
  void shrink(Contribution& c);
  bool shrink_to(const ir::Expr& condition);
  bool impossible(const ir::Expr& condition) const;
  ir::Expr possible(ir::Expr condition) const;
  std::optional<std::string> solve(Contribution& c);
  void solve_position(ir::Expr position, ir::Expr element);
  bool solve_digit(ir::Expr& position, ir::Expr& element);
  bool solve_linear(const ir::Expr& position, const ir::Expr& element, bool outer, bool unit);
  void split_divided(std::vector<ir::Expr>& positions, size_t first);
  bool may_solve(const Variable& v, const ir::Expr& value) const;
  Variable* open_variable(const std::string& name);
  bool has_open(const ir::Expr& e) const;
  ir::Expr solved(ir::Expr e) const;
  Term placed(const Term& t) const;
  Prover prover() const;
  Term range_term(const ir::Expr& e) const;
  bool spans(const ir::Expr& value, const Bound& range) const;
  void require(const Contribution& c, std::vector<Term>& factors, std::vector<Condition>& out);
  bool guard_reads(const Contribution& c, const std::set<std::string>& loose,
                   std::vector<Term>& factors) const;
  void require_domains(const Contribution& c, std::vector<Condition>& out) const;
  void name_variables();
  Addend assemble(const Monomial& value, std::vector<Condition> conditions) const;

  Equations& e_;
  const Target& target_;
  std::set<std::string>& made_;
  std::vector<Variable> variables_;
  std::vector<ir::Expr> equalities_;  ///< what else holds
  std::vector<ir::Expr> divisible_;   ///< the same, of quotients
};

}  // namespace hone::ops
