// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "runtime/device/gpu_program.h"
#include "runtime/engine/build.h"

namespace hone::runtime {

/// A kernel's side on a GPU.
struct GpuKernel {
  /// Compiles, loads, and keeps the machine code for the next run.
  static Result<std::shared_ptr<const GpuKernel>> build(const Services& services,
                                                        GpuCompiler& compiler,
                                                        const Compiled& compiled);
  GpuKernel() = default;
  ~GpuKernel();
  GpuKernel(const GpuKernel&) = delete;
  GpuKernel& operator=(const GpuKernel&) = delete;

  Gpu& gpu() const { return program->gpu(); }

  std::shared_ptr<const GpuProgram> program;
  bool checks = false;  ///< some launch checks data
  /// Device memory of the status word of enqueued calls; of kernels that check nothing, a word that
  /// all share.
  uint64_t status = 0;
};

}  // namespace hone::runtime
