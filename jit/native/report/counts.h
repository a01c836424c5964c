// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "jit/ir/nest.h"

namespace hone::jit {

/// What a launch does, element by element. Equal parts of one statement count once; both sides of a
/// select do. Registers hold no elements that count.
struct Counts {
  double operations = 0;  ///< arithmetic and functions of values, one each; of indices none
  double loads = 0;       ///< elements, and their bytes
  double stores = 0;
  double load_bytes = 0;
  double store_bytes = 0;
  bool data = false;     ///< data decide some of it: conditions on data hold, ranges take 16
  bool sampled = false;  ///< loops were too long to walk: some iterations stand for others

  Counts& operator+=(const Counts& other);
  Counts& operator*=(double times);
};

/// Counts of launch number `launch` at the values `dims` of Nest::dims.
Counts count(const ir::Nest& nest, int launch, std::span<const int64_t> dims);

}  // namespace hone::jit
