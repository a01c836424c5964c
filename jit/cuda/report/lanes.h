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

/// What the lanes of a warp know where a statement stands: the values of loops, of dims known at
/// the call and, in place of data, stand-ins. An integer that is read stands for eight times where
/// it is read, so that neighbours differ and ranges between neighbours are not empty.
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
