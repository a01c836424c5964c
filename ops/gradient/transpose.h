// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ops/gradient/backward.h"
#include "ops/gradient/equations.h"

namespace hone::ops {

/// What one contribution adds to an element of a gradient:
/// `outer * sum[reduced](inner where inside) where outside`. Of a scatter it is a term.
struct Addend {
  std::optional<Scatter> scatter;
  std::vector<Bound> terms;  ///< the indices of the scatter's terms
  std::vector<Condition> outside;
  std::vector<Condition> inside;
  std::vector<Bound> reduced;
  std::vector<Term> limits;  ///< conditions on these, which reads make and the text does not say
  Monomial outer;
  Monomial inner;

  /// Its value where the outer conditions hold, without the sign where `positive`.
  Term term(bool positive = false) const;
  /// Of a scatter: the places and the terms that count, to compare.
  std::string place_text() const;
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
  /// `made` are names of indices that gradients have already. Steps of a recurrence have no
  /// scatters.
  Transposition(Equations& equations, const Target& target, std::set<std::string>& made,
                bool in_steps)
      : e_(equations), target_(target), made_(made), in_steps_(in_steps) {}

  /// Nothing where it counts nowhere.
  std::optional<Addend> run(Contribution c);

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
  void solve(Contribution& c);
  bool is_ragged(const Variable& v) const;
  bool is_told_by_data(const Term& at) const;
  void place(const Contribution& c, const std::vector<size_t>& dims);
  void solve_position(ir::Expr position, ir::Expr element);
  bool solve_digit(ir::Expr& position, ir::Expr& element);
  bool solve_linear(const ir::Expr& position, const ir::Expr& element, bool outer, bool unit);
  void split_divided(std::vector<ir::Expr>& positions, size_t first);
  bool may_solve(const Variable& v, const ir::Expr& value) const;
  Variable* open_variable(const std::string& name);
  bool has_open(const ir::Expr& e) const;
  ir::Expr solved(ir::Expr e) const;
  Term placed(const Term& t) const;
  Prover prover_of_ranges() const;
  Prover prover() const;
  bool names_open(const Term& t) const;
  bool spans(const ir::Expr& value, const Bound& range) const;
  std::vector<Condition> open_ranges(std::set<std::string>& loose) const;
  bool reads_cover(const Contribution& c, const std::set<std::string>& loose) const;
  bool is_inside(const Term& read, const Prover& when) const;
  std::vector<Condition> require(const Contribution& c, Monomial& value);
  void require_domains(const Contribution& c, std::vector<Condition>& out,
                       std::vector<Term>& limits) const;
  void name_variables();
  std::vector<Bound> terms() const;
  Addend assemble(const Contribution& c, const Monomial& value,
                  std::vector<Condition> conditions) const;
  void make_term(Addend& out, bool skip) const;

  Equations& e_;
  const Target& target_;
  std::set<std::string>& made_;
  bool in_steps_;
  std::vector<Variable> variables_;
  std::vector<ir::Expr> equalities_;  ///< what else holds
  std::vector<ir::Expr> divisible_;   ///< the same, of quotients
  std::vector<Condition> matches_;    ///< that an element is where data says
  std::vector<Term> places_;          ///< of a scatter: per dim where a term goes
};

}  // namespace hone::ops
