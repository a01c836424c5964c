// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "jit/cuda/report/request.h"
#include "jit/ir/nest.h"

namespace hone::jit {

/// An integer in every lane of a warp.
struct LaneValue {
  std::array<int64_t, kLanes> lane{};
  bool data = false;  ///< what tensors hold decides it: the lanes have stand-ins
};

/// Known values in the lanes of a warp where a statement stands: loops, dims known at the call and
/// stand-ins for data. An integer that is read is replaced by eight times its position. Neighbours
/// then differ, and ranges between neighbours are not empty.
class LaneState {
 public:
  /// `dims` are the values of Nest::dims.
  LaneState(const ir::Nest& nest, std::vector<int64_t> dims);

  void set(int loop, const LaneValue& value) { loops_[static_cast<size_t>(loop)] = value; }
  void set(int loop, int64_t value);
  const LaneValue& get(int loop) const { return loops_[static_cast<size_t>(loop)]; }

  /// The value of an integer expression or a condition in each lane.
  LaneValue value(const ir::Expr& e) const;

 private:
  LaneValue binary(const ir::Expr& e) const;

  std::vector<int64_t> dims_;
  std::vector<LaneValue> loops_;
};

}  // namespace hone::jit
