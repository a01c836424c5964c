// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hone::ops {

/// How many elements a tensor of a model has along a dim: `times`, or `times*dim + plus` where
/// calls tell the dim. That is a name, or an expression in parentheses.
struct ImportExtent {
  int64_t times = 1;
  std::string dim;
  int64_t plus = 0;  ///< of a dim that calls tell

  bool fixed() const { return dim.empty(); }
  bool is(int64_t n) const { return fixed() && times == n; }
  /// `2*n - 1`.
  std::string text() const;
  /// The same as one dim that stands in products: `(2*n - 1)`.
  ImportExtent whole() const;
  /// `n` elements more, or fewer.
  ImportExtent more(int64_t n) const;
  /// The elements of both behind each other, and those of this one without `other`, if the
  /// difference is an extent.
  ImportExtent and_of(const ImportExtent& other) const;
  std::optional<ImportExtent> without(const ImportExtent& other) const;
  /// Divided by `n`, rounded down: one form for equal extents, so that they are seen to be equal.
  ImportExtent divided(int64_t n) const;
  bool operator==(const ImportExtent&) const = default;
};

using ImportShape = std::vector<ImportExtent>;

}  // namespace hone::ops
