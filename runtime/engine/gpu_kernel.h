// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "runtime/device/gpu_program.h"
#include "runtime/device/status_words.h"
#include "runtime/engine/build.h"

namespace hone::runtime {

/// A kernel's side on a GPU.
struct GpuKernel {
  /// Compiles, loads, and keeps the machine code for the next run; `ptx` is the target's.
  static Result<std::shared_ptr<const GpuKernel>> build(const Services& services,
                                                        GpuCompiler& compiler,
                                                        const Compiled& compiled, int ptx);
  Gpu& gpu() const { return program->gpu(); }

  std::shared_ptr<const GpuProgram> program;
  std::unique_ptr<StatusWords> words;  ///< of enqueued calls; null: no launch checks data

  /// The status word of calls in a stream; of kernels that check nothing, one that all share.
  uint64_t status(void* stream) const { return words ? words->of(stream) : gpu().fine(); }
  /// The same for calls in a graph.
  uint64_t shared_status() const { return words ? words->shared() : gpu().fine(); }
};

}  // namespace hone::runtime
