// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "include/hone/kernel.h"
#include "jit/ir/nest.h"
#include "runtime/call/plan.h"

namespace hone::runtime {

/// Fast path of argument checks: all checks of a call whose sizes are known at compile time, with
/// their data side by side. It only says whether all is well. Otherwise bind_arguments finds the
/// error, or accepts the call in one of its further ways.
class QuickChecks {
 public:
  /// Accepts no call.
  QuickChecks() = default;
  QuickChecks(const CallPlan& plan, const ir::ArgsLayout& layout);

  /// Fills the slots of all tensors but constants and returns true where the call is right.
  bool fill(std::span<const ArgRef> args, int64_t* slots) const;

 private:
  /// What is compared with one tensor.
  struct Param {
    int64_t count;
    int64_t begin;  ///< bytes that may be touched, from the first element on
    int64_t end;
    uint64_t odd;  ///< bits of an address that must be 0
    int slot;
    DType type;
    int8_t rank;
    bool written;
    bool may_be_flat;
    int64_t extents[TensorRef::kMaxRank];
    int64_t strides[TensorRef::kMaxRank];
  };
  /// Chosen: tensors of a usual call, with room (not measured).
  static constexpr size_t kMost = 16;

  static bool fits(const Param& p, const TensorRef& t);

  bool usable_ = false;
  std::vector<Param> params_;  ///< without constants
};

}  // namespace hone::runtime
