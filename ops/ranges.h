// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "ops/checks.h"
#include "ops/lowering_context.h"

namespace hone::ops {

class Values;

/// Resolves the ranges of indices: as stated, or the extents of the dims that they index.
class Ranges {
 public:
  Ranges(LoweringContext& c, Values& values) : c_(c), values_(values), checks_(c) {}

  /// Opens the ranges of the reduction `t`: as indices of `draft`, and in the scope.
  void open_ranges(const Term& t, Draft& draft);
  /// Appends the extents of all dims in `t` that the index `name` indexes by itself.
  void find_extents(const Term& t, std::string_view name, std::vector<Found>& out) const;
  /// The extent on which all of `found` agree; an error where they do not.
  ir::Expr agreed_extent(const Range& r, std::vector<Found> found);
  /// Is the name of the index free? If not, an error.
  bool check_fresh(const Range& r);

 private:
  bool check_fresh(const Range& r, const Term& reduction);
  Index right_index(const Range& r, const Term& body);
  void bound_from_data(const Range& r, const std::vector<Found>& found, Index& index);

  LoweringContext& c_;
  Values& values_;
  Checks checks_;
};

}  // namespace hone::ops
