// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "jit/ir/program.h"

namespace hone::runtime {

/// Names of index and reduction variables.
using Vars = std::set<std::string>;

/// Those in an expression.
Vars vars_of(const ir::Expr& e);
/// True where some name is in both.
bool overlap(const Vars& a, const Vars& b);

/// True where a value of the index is of one value of its only variable.
bool is_one_to_one(const ir::Expr& index);
/// True of such an index, of a multiple of one, or of one with bits turned over.
bool is_scaled(const ir::Expr& index);

/// True of what indices and dims decide, not tensors or scalars of the call.
bool is_closed(const ir::Expr& e);
/// True where argument `arg` makes an integer 0 by being 0, whatever the others are.
bool makes_zero(const ir::Expr& e, size_t arg);
/// True of integers that are 0 wherever a read of theirs lies outside its tensor.
bool is_zero_outside(const ir::Expr& e);

/// How many values the variables of a stage take at given dims: all together, some of them, or an
/// expression of them. Where data decide they are as many as `work_of` says.
class Domain {
 public:
  /// Program and stage must outlive it; `dims` are the values of those known at the call.
  Domain(const ir::Program& program, const ir::Stage& stage, std::span<const int64_t> dims);

  /// Values that all variables take together, and that some of them do.
  double points() const;
  double points(const Vars& names) const;
  /// The share of the points at which a condition may hold, as far as data have no say. Of many
  /// points some are looked at.
  double share(const ir::Expr& condition) const;
  /// In what share of cases argument `arg` of a choice, an `and` or an `or` decides its value, by
  /// what indices say. So does a factor of integers where the other is not 0 outside a tensor.
  double deciding(const ir::Expr& e, size_t arg) const;
  /// Elements of a tensor of that shape which an access reads or writes, each once. An index that
  /// is read from data is taken to be drawn evenly.
  double elements(const std::vector<ir::Expr>& shape, std::span<const ir::Expr> indices) const;
  /// Points of an access's variables at which all of its closed indices lie inside that shape.
  double inside(const std::vector<ir::Expr>& shape, std::span<const ir::Expr> indices) const;
  /// How far apart the values of a closed index are at least.
  double step(const ir::Expr& index) const;
  /// The value of an expression of dims and constants; 1 for others.
  double closed(const ir::Expr& e) const;

 private:
  /// Values lo, lo + step, ... up to hi.
  struct Span {
    int64_t lo = 0, hi = 0, step = 1;
    double count() const;
  };
  struct Range {
    std::string name;
    ir::Expr lo, hi;     ///< numbered; null: as many values as `extent` says
    Vars named;          ///< other variables in these
    std::string walker;  ///< walks this one's values along with its own
    Span whole;          ///< all values, whatever those of others
    double extent = 0;   ///< how many of them
  };

  Vars with_bounds(Vars names) const;
  double share_of_closed(const ir::Expr& condition) const;
  double share_of(const ir::Expr& condition) const;
  double counted(const ir::Expr& condition) const;
  double present(const ir::Expr& factor) const;
  ir::Expr numbered(const ir::Expr& e) const;
  void add(const ir::IndexVar& v);
  static double most_of(ir::Expr end);
  double drawn(const ir::IndexVar& v) const;
  double walked(const std::string& name) const;
  double values_inside(const ir::Expr& index, double extent) const;
  double distinct_inside(const ir::Expr& index, double extent) const;
  const Range* range(const std::string& name) const;
  double looked_at_inside(const ir::Expr& index, const std::string& var, double extent) const;
  double count(const Vars& names, size_t from, std::vector<int64_t>& values) const;
  Span span_of(const ir::Expr& e) const;

  const ir::Program& program_;
  const ir::Stage& stage_;
  std::vector<int64_t> values_;  ///< of dims, then of variables
  std::vector<Range> ranges_;
  mutable std::map<std::string, double> shares_;  ///< known ones, by the condition's text
};

}  // namespace hone::runtime
