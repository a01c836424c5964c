// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "include/hone/error.h"
#include "jit/ir/program.h"
#include "ops/gradient/index_terms.h"
#include "ops/syntax.h"

namespace hone::ops {

/// How terms find their elements: `Y[ids[n],d] else skip += v for n in 0..N where n < m`.
struct Scatter {
  Assign assign = Assign::kAdd;
  std::vector<Term> at;     ///< per dim a position, or the name of a plain index
  bool skip = false;        ///< terms that go outside are left out
  std::vector<Term> where;  ///< which terms count

  /// Is dim `k` plain, with an index of that name?
  bool is_plain(size_t k, const std::string& index) const {
    return at[k].kind == Term::kName && at[k].name == index;
  }
  /// Those of `indices`, of the dims, that are of plain ones.
  std::vector<Bound> plain(const std::vector<Bound>& indices) const;
};

/// A statement, or a named part of one, whose value has no reduction in it or is one.
struct Equation {
  std::string name;
  std::string type;            ///< `T` or `f32`: what its value is computed in, or wider
  bool real = false;           ///< a float
  std::vector<Bound> indices;  ///< of an element, one a dim
  std::string reduction;       ///< empty: none; "last" of a scatter by `=`
  std::vector<Bound> reduced;  ///< the indices of the reduction, or of the terms of a scatter
  std::optional<Scatter> scatter;
  std::string accumulate;    ///< the type that is stated for it
  Term value;                ///< or what is reduced
  std::vector<Term> domain;  ///< conditions; elsewhere it is not defined
  std::vector<Term> under;   ///< of a part: those of them that its statement has around it
  size_t statement = 0;      ///< of the op
  bool part = false;         ///< of a statement, not all of it
  Span span;

  /// Is it a part that no reduction is, which the op has written out where it is used?
  bool is_value_part() const { return part && real && reduction.empty(); }
  /// Is it a part that is defined where these conditions hold?
  bool is_defined(const std::vector<Term>& where) const;
  /// The indices that a value has: of a scatter, those of plain dims alone.
  std::vector<Bound> own_indices() const;
  /// Why the values that it combines have no numbers in their order, or nothing.
  std::optional<std::string> without_numbers() const;
  /// The element that the equation defines.
  Term element() const;
  /// The element that a value belongs to: of a scatter, where its term goes.
  Term reached() const;
  /// The right side.
  Term right() const;
};

/// The statements of an op, taken apart: `Y[m] = tanh(sum[k](A[m,k]) + b[m])` has the parts
/// `Y_sum[m]` and, once asked for, `Y_tanh[m]`.
class Equations {
 public:
  explicit Equations(const Definition& d);

  /// Takes the statements apart; what cannot be is an error.
  Result<Done> build();

  const Definition& op() const { return d_; }
  const std::vector<Equation>& all() const { return all_; }
  /// The equation of that name, or null.
  const Equation* find(std::string_view name) const;
  /// A condition, or its contrary, where indices tell it; in one form for equal ones.
  std::optional<Term> on_indices(const Term& condition, bool holds) const;
  /// The conditions of the equation's domain that indices tell, in that form.
  std::vector<Term> index_domain(const Equation& e) const;
  /// The element of a part of `of` that has the value `t`; `t` itself where it is over ranges that
  /// no part has. It is defined where `under` holds, conditions on its indices.
  Term part_of(const Equation& of, const Term& t, std::vector<Bound> reduced,
               std::vector<Term> under);
  /// Adds what no statement of the op has, before the equation `before`, or after equations that it
  /// reads.
  void add(Equation e, const std::string& before);

  /// Of a scatter whose terms have numbers, from 0: which is the last that goes to an element. It
  /// is less than 0 where none goes.
  Equation last_of(const Equation& scatter);
  /// The condition that some term of the scatter goes to an element.
  Term was_reached(const Equation& scatter);

  /// A name that nothing has, `name` where that is free; it is taken from now on.
  std::string fresh(const std::string& name);
  /// The same for a tensor of that shape.
  std::string fresh(const std::string& name, std::vector<ir::Expr> shape);
  /// Is this taken?
  bool taken(const std::string& name) const { return names_.count(name) != 0; }
  /// The type of a tensor or scalar argument, `T` or `f32`; of a term, the type it reads first.
  std::string type_of(const Term& t) const;
  /// Does the op state the type that its elements are stored in?
  bool states_type(const Equation& e) const;
  /// `t` as an index or a condition on indices, in which what is read counts as they do.
  Term as_index(const Term& t) const;
  /// Is it a float, or a number that may be one?
  bool is_real(const Term& t) const;
  bool is_real_type(std::string_view type) const;
  /// Extents of a tensor.
  const std::vector<ir::Expr>& shape(const std::string& tensor) const;
  bool has_shape(const std::string& tensor) const { return shapes_.count(tensor) != 0; }
  /// What an inout's statement calls the new value.
  const std::string& new_value(const std::string& inout) const { return renamed_.at(inout); }

 private:
  /// Where a term stands: in which statement, below which indices.
  struct Place {
    size_t statement;
    std::vector<Bound> scope;
    std::vector<Term> domain;
  };

  void collect_names(const Term& t);
  void collect_names(const std::vector<Range>& ranges);
  void add_statement(size_t i);
  void add_scatter(size_t i);
  void find_places(const Statement& s, Equation& e);
  void add_new_value(const Equation& terms);
  std::string index_for(const ir::Expr& extent, const Equation& e);
  Term without_reductions(const Term& t, Place& place);
  Term reduction_part(const Term& t, Place& place);
  std::vector<Bound> bounds_of(const Term& reduction);
  ir::Expr used_extent(const Term& t, const std::string& index) const;
  Term with_new_values(const Term& t, const std::string& own) const;
  void add_domains(Equation& e) const;

  const Definition& d_;
  std::vector<Equation> all_;
  std::map<std::string, std::vector<ir::Expr>, std::less<>> shapes_;
  std::map<std::string, std::string, std::less<>> types_;
  std::map<std::string, std::string, std::less<>> renamed_;  ///< of inouts: the new values
  std::map<std::string, std::string> parts_;                 ///< by statement and text
  std::set<std::string, std::less<>> names_;
  std::set<std::string> indices_made_;
  std::string flaw_;
  Span flaw_span_;
};

}  // namespace hone::ops
