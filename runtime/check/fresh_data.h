// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/check/fixture.h"
#include "runtime/machine/evict.h"

namespace hone::runtime {

/// Makes operands on the host, before each call that is timed, what a caller's are. A kernel that
/// is called again and again on the same data finds in a cache what no caller has there. So tensors
/// that are said to be cold (`cold=`) are evicted. Numbers that choose elements of a tensor beyond
/// the last-level cache are drawn anew. Where other data depend on them, that tensor is evicted
/// instead.
class FreshData {
 public:
  /// For a fixture, which must outlive it; a cache of `last_level` bytes is the largest.
  FreshData(const Fixture& fixture, int64_t last_level);

  /// True where there is something to do before a call.
  bool needed() const { return !evicted_.empty() || !draws_.empty(); }
  /// True where data change from call to call.
  bool draws() const { return !draws_.empty(); }
  /// Per parameter: is it evicted?
  const std::vector<bool>& cold() const { return cold_; }
  /// Makes them so; `packed` is what bind made of cold constants.
  void make(std::span<const MemorySpan> packed);

 private:
  /// A tensor of numbers that may have any of `count` values from `lo` on.
  struct Draw {
    size_t param = 0;
    jit::TensorView view;
    int64_t lo = 0, count = 0;
    bool inside = false;  ///< only those change that are among these values
  };
  /// A read of an element that data choose.
  struct Gather {
    const ir::Expr& load;
    size_t dim;      ///< whose index is read from data
    int64_t extent;  ///< of that dim
  };

  bool add_draw(const Fixture& fixture, size_t param, const Gather& gather);
  void run(const Draw& draw);

  std::vector<bool> cold_;
  std::vector<MemorySpan> evicted_;
  std::vector<Draw> draws_;
  uint64_t state_ = 1;  ///< goes on, so that no two calls have the same data
};

}  // namespace hone::runtime
