// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "ops/conversions.h"
#include "ops/extents.h"
#include "ops/lowering_context.h"
#include "ops/proofs.h"
#include "ops/ranges.h"
#include "ops/recurrences.h"
#include "ops/scatters.h"
#include "ops/values.h"

namespace hone::ops {

/// Lowers the statements of an op to stages, in order.
class Statements {
 public:
  explicit Statements(LoweringContext& c)
      : c_(c),
        values_(c),
        types_(c),
        ranges_(c, values_),
        proofs_(c),
        extents_(c),
        recurrences_(c),
        scatters_(c, values_) {}
  /// Lowers one statement; those that follow can then read it.
  void lower_statement(const Statement& s);

 private:
  void open_group(const Statement& s);
  bool mentions_shapeless(const Term& t) const;
  void poison(const Statement& s, const Draft& draft);
  void declare_indices(const Statement& s, Draft& draft);
  ir::Expr left_extent(const Statement& s, size_t position, const ir::Buffer* output);
  ir::Expr inferred_extent(const Statement& s, size_t position, const std::vector<Found>& found);
  void compare_with_uses(const Range& r, const ir::Expr& extent, const std::vector<Found>& found);
  void lower_where(const Statement& s);
  void lower_body(const Statement& s, Draft& draft);
  bool lower_whole_reduction(const Statement& s, Draft& draft);
  void lower_plain(const Statement& s, Draft& draft);
  Value own_old_value(const Statement& s);
  void combine_with_old(const Statement& s, Value& v);
  std::optional<DType> target_type(const Statement& s) const;
  void publish(const Statement& s, Draft& draft);

  LoweringContext& c_;
  Values values_;
  Conversions types_;
  Ranges ranges_;
  Proofs proofs_;
  Extents extents_;
  Recurrences recurrences_;
  Scatters scatters_;
  std::vector<size_t> inferred_;  ///< dims of the statement whose extents readers decide
};

}  // namespace hone::ops
