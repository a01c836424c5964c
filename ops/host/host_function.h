// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "include/hone/error.h"
#include "include/hone/tensor.h"
#include "jit/ir/expr.h"

namespace hone::ops {

/// A tensor that a function of the host takes or makes. An extent that is null is the one that data
/// tell.
struct HostTensor {
  DType type = DType::kF32;
  std::vector<ir::Expr> shape;
};

/// What a function of the host makes of tensors like some.
struct HostResults {
  std::vector<HostTensor> tensors;
  ir::Expr most;  ///< the extent that data tell is no larger
};

/// An integer parameter.
struct HostParam {
  std::string_view name;
  int64_t otherwise = 0;           ///< where a use states none
  int64_t least = 0, largest = 0;  ///< what may be stated
};

/// One call of a function.
struct HostCall {
  std::span<const TensorRef> reads;  ///< dense and row-major, aligned to their elements
  std::span<const int64_t> numbers;  ///< parameters, in their order
  std::span<std::byte> scratch;      ///< as many bytes as `scratch` says, aligned to 64
};

/// A function of plain C++ over dense tensors, since data tell one extent of its results. It
/// allocates nothing when all is well, and is called from any thread.
struct HostFunction {
  std::string_view name;
  std::string_view usage;  ///< as messages have it: `compress<axis=..>(x, condition)`
  size_t least_reads = 1, most_reads = 1;
  std::span<const HostParam> params;
  /// Fails with why tensors like these are not taken. Parameters are in their ranges.
  Result<HostResults> (*results)(std::span<const HostTensor> reads,
                                 std::span<const int64_t> numbers);
  /// Bytes of scratch for tensors of no more than these extents; less than 0: past 64 bits.
  int64_t (*scratch)(std::span<const std::vector<int64_t>> extents,
                     std::span<const int64_t> numbers);
  /// The extent that data tell. It leaves in the scratch what `write` takes. Fails where data or
  /// shapes are wrong: kArgument, kBounds.
  Result<int64_t> (*count)(const HostCall& call);
  /// Makes the results, null where nobody reads one. `count` has run, and memory has that room.
  void (*write)(const HostCall& call, int64_t count, std::span<void* const> results);
};

/// The function of that name, or null.
const HostFunction* find_host_function(std::string_view name);
/// All of them, sorted by name.
std::span<const HostFunction* const> host_functions();

/// Rows of the table.
extern const HostFunction kCompress, kNonMaxSuppression, kNonzero, kUnique;

}  // namespace hone::ops
