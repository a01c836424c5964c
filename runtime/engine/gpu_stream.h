// SPDX-License-Identifier: Apache-2.0
// What calls on a GPU take of it: its context, memory for work in a stream, status words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "runtime/device/gpu.h"
#include "runtime/engine/kernel_state.h"

namespace hone::runtime {

/// Memory for one call: the caller's, or a block of the pool for work in a stream.
class GpuWorkspace {
 public:
  GpuWorkspace(Gpu& gpu, int64_t bytes, std::span<std::byte> given, void* stream);
  ~GpuWorkspace() {
    if (owned_) gpu_.memory().give(data_, bytes_, stream_);
  }
  GpuWorkspace(const GpuWorkspace&) = delete;
  GpuWorkspace& operator=(const GpuWorkspace&) = delete;
  uint64_t data() const { return data_; }
  /// Why there is none.
  const Result<Done>& made() const { return made_; }

 private:
  Gpu& gpu_;
  int64_t bytes_;
  void* stream_;
  uint64_t data_ = 0;
  bool owned_ = false;
  Result<Done> made_ = Done{};
};

/// The context of the calling thread, or why there is none to work in.
Result<Done> ready(Gpu& gpu, const UseGpu& use);

// Below, `what` is a kernel or a model in errors.

/// Whether workspace that a caller gives has `bytes` and is aligned; none is fine.
Result<Done> check_workspace(const std::string& what, int64_t bytes, std::span<std::byte> given);
/// Whether there can be a status word for a stream.
Result<Done> check_worded(const std::string& what, void* stream);
/// Whether a call in `stream` may take `bytes` from the pool.
Result<Done> check_pooled(Gpu& gpu, const std::string& what, int64_t bytes, void* stream);
/// Whether a stream is being captured. So is taken of the default one where others are.
Result<bool> is_captured(Gpu& gpu, void* stream);

/// What a status word of the kernel says.
Failure bad_data_on_gpu(const KernelState& k, int64_t position);

}  // namespace hone::runtime
