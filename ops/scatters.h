// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "ops/conversions.h"
#include "ops/lowering_context.h"
#include "ops/ranges.h"
#include "ops/values.h"

namespace hone::ops {

/// Lowers scatters, `Y[ids[n],d] += v`, to reductions over the indices that positions name. A term
/// counts for the element that its positions tell: `sum[n](v) where at == ids[n]`.
class Scatters {
 public:
  Scatters(LoweringContext& c, Values& values)
      : c_(c), values_(values), types_(c), ranges_(c, values) {}

  /// Finds errors of the statement as a scatter, or of a `for` in one that is none.
  void check(const Statement& s);
  /// The name of the index that stands for the position along a dim.
  static std::string index_name(size_t dim);
  /// Makes `draft`, whose variables are the element's indices, the statement. `target`: the type of
  /// the tensor, where that is known.
  void lower(const Statement& s, Draft& draft, std::optional<DType> target);

 private:
  bool known(std::string_view name) const;
  ir::Reduce reduction_of(Assign assign, DType type) const;
  Statement with_own_indices(const Statement& s, Draft& draft);
  void check_terms(const Statement& s, const Draft& terms);
  Term as_reduction(const Statement& s) const;
  void lower_positions(const Statement& s);
  void lower_conditions(const Statement& s, Draft& terms);
  void declare(const Statement& s, const Draft& terms);
  void claim_positions(const Statement& s, Draft& terms, DType type);
  std::vector<ir::Expr> places_of(const Statement& s, const Draft& terms) const;
  void choose(const Statement& s, Draft& terms, const Value& v, DType type);
  void reduce(const Statement& s, Draft& draft, Draft terms, Value v, DType target);
  void finish(const Statement& s, Draft& draft, Draft terms) const;

  LoweringContext& c_;
  Values& values_;
  Conversions types_;
  Ranges ranges_;
  std::vector<ir::Expr> to_;  ///< per dim: the position, or null
};

}  // namespace hone::ops
