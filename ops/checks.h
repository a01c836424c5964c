// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "ops/lowering_context.h"

namespace hone::ops {

/// Adds the checks of indices and ranges that are read from data.
class Checks {
 public:
  explicit Checks(LoweringContext& c) : c_(c) {}

  /// Adds a check of `source`, an expression that reads data. False, with an error, where it
  /// cannot be checked before the stages run. `of` is what reads them.
  enum class Of : uint8_t { kRead, kScatter, kRange };
  bool add_check(ir::Check check, const ir::Expr& source, Span span, Of of);
  /// Adds the check of index `dim` of an access of `draft`, which is read from data.
  void check_data_index(const Draft& draft, const Access& access, size_t dim);
  /// The indices of `scope` that `e` mentions, with those that their ranges mention.
  std::vector<ir::IndexVar> check_vars(const ir::Expr& e, const std::vector<Index>& scope) const;

 private:
  LoweringContext& c_;
};

}  // namespace hone::ops
