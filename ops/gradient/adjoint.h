// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ops/gradient/addends.h"
#include "ops/gradient/backward.h"
#include "ops/gradient/equations.h"

namespace hone::ops {

/// A statement of an adjoint op: the gradient of a value, or a value that gradients need.
struct Line {
  std::string name;
  std::string type;     ///< of its arithmetic
  bool typed = false;   ///< the text states the type
  bool recurs = false;  ///< it reads itself, or what reads it
  std::vector<Bound> indices;
  Term value;
  std::vector<Term> where;
  std::optional<Scatter> scatter;
  std::vector<Bound> terms;  ///< the indices of a scatter's terms
};

/// The gradients of the equations of an op, the last first, and of the arguments asked for.
class Adjoint {
 public:
  /// `take`: results and intermediates that will be there.
  Adjoint(Equations& equations, const std::vector<std::string>& wrt,
          const std::set<std::string>& take, Diagnostics& diagnostics);

  /// False where an error was found.
  bool build();
  /// In the order of the text.
  const std::vector<Line>& lines() const { return lines_; }
  /// The gradient of the result of that name, which is given; of the argument, which is made.
  const std::map<std::string, std::string>& given() const { return given_; }
  const std::map<std::string, std::string>& made() const { return made_; }

 private:
  void name_gradients();
  bool collect();
  std::vector<std::string> in_order();
  Term seed_of(const Equation& e);
  Term at_element(const Term& value, const Equation& e, const Term& element) const;
  void read_parts();
  void build_equation(const Equation& e);
  void build_argument(const std::string& name);
  std::vector<Addend> addends_for(const std::string& name, const Target& target);
  static void name_places(Line& line);
  std::vector<Line> take_scatters(const Target& target, std::vector<Addend>& addends);
  void put_together(Line& line, const Target& target, std::vector<Addend> addends);
  Monomial with_seed(const Contribution& c) const;
  void write_out(const Equation& e, const Term& value);
  bool stays_apart(const Contribution& c, const Term& value) const;
  bool is_inner_sum(const Equation& e) const;
  Term as_inner_sum(const Term& value);
  bool may_inline(const Equation& e, const Term& value) const;
  Target target_of(const Argument& a);
  std::string index_for(const Argument& a, size_t dim, const std::set<std::string>& used);

  Equations& e_;
  const std::vector<std::string>& wrt_;
  Diagnostics& diagnostics_;
  Backward backward_;
  std::map<std::string, std::string> given_;             ///< by result
  std::map<std::string, std::string> made_;              ///< by argument
  std::map<std::string, std::string> names_;             ///< of gradients, by equation
  std::map<std::string, std::vector<Contribution>> to_;  ///< by target
  std::map<std::string, std::vector<Contribution>> from_;
  std::map<std::string, Term> inlined_;  ///< by equation: its gradient, rather than a line
  std::set<std::string> in_steps_;       ///< equations that are part of a recurrence
  std::set<std::string> indices_made_;
  std::vector<Line> lines_;
};

}  // namespace hone::ops
