// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "include/hone/thread_pool.h"
#include "jit/ir/instructions.h"
#include "jit/ir/target.h"
#include "runtime/machine/ceilings.h"

namespace hone::runtime {

class Gpu;

/// Peak rates of this machine. A rate is measured when it is first asked for (some 10 ms each), and
/// measured again by `again`. The best ever seen counts, earlier runs included.
class Limits {
 public:
  /// With the vector width and the threads of `target`; `pool` has that many workers or is null.
  /// Of the GPU, where there is one: its arithmetic by clock and units, its memory measured.
  Limits(const ir::Target& target, ThreadPool* pool, std::shared_ptr<Gpu> gpu = nullptr,
         CeilingStore store = {})
      : target_(target), pool_(pool), gpu_(std::move(gpu)), ceilings_(std::move(store)) {}

  const ir::Target& target() const { return target_; }

  /// 10^9 floating-point operations a second, a multiply-add as two.
  double gflops(bool doubles);
  /// The same with as many additions beside them, which count as two as well: no less.
  double mixed_gflops(bool doubles);
  /// 10^9 operations a second of a dot product instruction, a product and its addition as two.
  double gops(const ir::Instruction& row);
  /// Bandwidth in 10^9 bytes a second over `footprint` bytes, in whatever cache or memory holds
  /// them. `written` is the share of the traffic that is written. With `updated`, some of it is
  /// written where it was read: nothing is fetched for the sake of writing.
  double gbps(int64_t footprint, double written, bool updated = false);
  /// The same of what is read from memory, which no cache holds.
  double memory_gbps() { return gbps(int64_t{1} << 60, 0); }
  /// Measures what was asked for once more, in a moment that may be quieter. Not of a GPU.
  void again() {
    if (!gpu_) ceilings_.again();
  }

 private:
  double arithmetic(const std::string& name, void (*run)(), double operations);
  double traffic(const std::string& name, int64_t bytes, int kind);
  double gpu_gbps(int64_t footprint);

  ir::Target target_;
  ThreadPool* pool_;
  std::shared_ptr<Gpu> gpu_;
  Ceilings ceilings_;
};

/// Footprints of one rate: the largest size, four to each doubling and one past the caches, that
/// `footprint` is not below. What fits in first-level caches is one.
int64_t footprint_class(int64_t footprint, const ir::Target& target);

}  // namespace hone::runtime
