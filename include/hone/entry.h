// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hone/dtype.h"

namespace hone {

/// One launch of a kernel: `fn(args, begin, end, scratch)` runs any sub-range of [0, extent).
/// Launches run in order, each whole before the next.
struct Launch {
  /// `scratch` is 64-byte aligned and holds Entry::scratch_bytes; two concurrent calls need two.
  using Function = void (*)(const int64_t* args, int64_t begin, int64_t end, void* scratch);

  std::string name;
  Function function = nullptr;  ///< null where the interpreter serves, or a GPU
  int64_t extent = 0;     ///< -1 where it depends on a dim known at the call: Kernel::extent says
  bool parallel = false;  ///< sub-ranges may run at the same time; else in order, the first first
  bool at_bind = false;   ///< packs a constant: run by bind, not by a call
};

/// What the 8-byte slot of a kernel's argument struct holds.
struct Slot {
  enum Kind : uint8_t {
    kStatus,  ///< pointer to an int64 that is INT64_MAX before the call. Bad data (an index out of
              ///< range, decreasing offsets) leaves its lowest bad position there
    kWorkspace,  ///< pointer to Entry::workspace_bytes, 64-byte aligned; null if 0
    kTensor,     ///< pointer to the first element of tensor `name`
    kBound,      ///< pointer to what bind packed; Bound::fill writes the values
    kDim,        ///< int64: the dim `name`
    kStride,     ///< int64: the stride `name`, in elements
    kScalar,     ///< the value's bits, in the low bytes
  };
  Kind kind = kTensor;
  std::string name;
  DType type = DType::kI64;
};

/// A kernel for callers to whom 15 ns matter: they fill the slots and run the launches themselves.
/// Nothing is checked.
struct Entry {
  std::vector<Launch> launches;
  std::vector<Slot> slots;
  int64_t workspace_bytes = 0;  ///< of one call, shared by its launches
  int64_t scratch_bytes = 0;    ///< of one worker
};

}  // namespace hone
