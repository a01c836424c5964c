// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "jit/interp/reference.h"

namespace hone::jit {

/// Data sets that inputs are filled with, to check a kernel and to time it.
enum class DataSet : uint8_t {
  kIntegers,  ///< small whole numbers: linear ops are exact in any order
  kRandom,    ///< both signs, several magnitudes, zeros and denormals
  kSpecial,   ///< as kRandom, with a row of NaN and a row of infinities in the first float tensor
  kTimed,     ///< floats of both signs below 1, none near 0; small whole numbers: not to check on
};

/// Fixed by: the sets of data to check on, which are the first.
inline constexpr int kDataSetCount = 3;
std::string_view name_of(DataSet set);

/// Fills the inputs and inouts of `program`. Tensors that stand in its checks get values that pass
/// them.
void fill_parameters(const ir::Program& program, std::span<const TensorView> params,
                     std::span<const double> scalars, std::span<const int64_t> dims, DataSet set,
                     uint64_t seed);

/// Fills `view` with NaN, or for integers with a conspicuous value: what outputs start as.
void fill_unwritten(const TensorView& view);

/// A plausible value for each scalar parameter.
std::vector<double> scalar_values(const ir::Program& program, uint64_t seed);

}  // namespace hone::jit
