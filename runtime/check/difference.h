// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "jit/interp/reference.h"

namespace hone::runtime {

/// Where two tensors differ.
struct Difference {
  int64_t count = 0;               ///< elements
  std::vector<int64_t> positions;  ///< row-major; all, or a fair choice of them
};

/// Elements of `got` and `want`, of one type, shape and layout, that are further apart than
/// `bound`; NaN agrees with NaN. Names at most `most` of them. As fast as memory where they agree.
Difference difference(const jit::TensorView& got, const jit::TensorView& want, double bound,
                      size_t most);

}  // namespace hone::runtime
