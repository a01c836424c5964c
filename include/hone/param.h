// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hone/dtype.h"
#include "hone/export.h"

namespace hone {

/// What a parameter is to the caller.
enum class Role : uint8_t {
  kInput,   ///< a tensor that is read
  kOutput,  ///< a tensor that is written
  kInOut,   ///< both
  kScalar,  ///< a number
};

/// input, output, inout or scalar.
HONE_API std::string_view name_of(Role role);

/// The extent of a tensor along one dim.
struct Extent {
  std::string text;      ///< as the op says it: `M`, `2*N + 1`
  int64_t value = -1;    ///< elements; -1 where it is known at the call, and of an op
  int64_t most = -1;     ///< of a model: no call has more elements; elsewhere -1
  bool by_data = false;  ///< of a model: data tell it in the course of a call, not shapes before it
};

/// A parameter of an op or a kernel.
struct Param {
  std::string name;
  Role role = Role::kInput;
  /// Of an op whose dtype is a parameter: the default.
  DType type = DType::kF32;
  /// The dtype parameter of the op that says it, `T`; empty: it is fixed.
  std::string type_param;
  std::vector<Extent> shape;  ///< outermost first; empty for scalars and tensors of rank 0
  /// Storage of a kernel's tensor: elements between neighbours along each dim; -1 where it is
  /// known at the call. Empty for an op.
  std::vector<int64_t> strides;
  int64_t align = 1;      ///< bytes that a kernel's tensor must be a multiple of
  bool constant = false;  ///< given to bind once, not to calls (`const=`)
  bool cold = false;      ///< said to come from memory, not from a cache, at each call (`cold=`)
};

}  // namespace hone
