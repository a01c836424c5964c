// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "include/hone/thread_pool.h"
#include "jit/ir/instructions.h"
#include "jit/ir/target.h"

namespace hone::runtime {

class Gpu;

/// What this machine can do at best, measured when first asked for (some 10 ms each) and
/// remembered: to be held against times of the same run.
class Limits {
 public:
  /// With the vector width and the threads of `target`; `pool` has that many workers or is null.
  /// Of the GPU, where there is one: its arithmetic by clock and units, its memory measured.
  Limits(const ir::Target& target, ThreadPool* pool, std::shared_ptr<Gpu> gpu = nullptr)
      : target_(target), pool_(pool), gpu_(std::move(gpu)) {}

  const ir::Target& target() const { return target_; }

  /// 10^9 floating-point operations a second, a multiply-add as two.
  double gflops(bool doubles);
  /// 10^9 operations a second of a dot product instruction, a product and its addition as two.
  double gops(const ir::Instruction& row);
  /// 10^9 bytes a second from the cache level, or memory, that `footprint` bytes fit in: reading,
  /// or half reading and half writing.
  double gbps(int64_t footprint, bool writes);

 private:
  double measure_gflops(bool doubles);
  double measure_gops(const ir::Instruction& row);
  double measure_gbps(int64_t bytes, bool writes, bool stream);
  double gpu_gbps(int64_t footprint);

  ir::Target target_;
  ThreadPool* pool_;
  std::shared_ptr<Gpu> gpu_;
  std::map<bool, double> gflops_;
  std::map<const ir::Instruction*, double> gops_;
  std::map<std::pair<int, bool>, double> gbps_;
};

}  // namespace hone::runtime
