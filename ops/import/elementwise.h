// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/import/importer.h"

namespace hone::ops {

/// How a value is declared in an op over the dims of a result, and read at its indices. As NumPy
/// broadcasts, dims align at the end, and an extent of 1 serves all.
struct Broadcast {
  std::string dims, indices;
};
Broadcast broadcast(const ImportShape& value, const ImportShape& result);

/// The same for a value whose dims align from `first` on.
Broadcast broadcast_from(const ImportShape& value, size_t first, const ImportShape& result);

/// The shape that values have together. Throws Unsupported where they do not fit.
ImportShape broadcast_shape(const std::vector<const ImportValue*>& values);

/// The dims and indices of a result: `D0,1` and `i0,i1`.
Broadcast declared(const ImportShape& result);

/// A node that makes each element from elements of its inputs: `expression` over `a`, `b`, `c`.
/// Inputs of one known float stand in it as numbers.
void make_elementwise(const ImportNode& node, const std::string& expression, DType type,
                      const std::vector<const ImportValue*>& values);

}  // namespace hone::ops
