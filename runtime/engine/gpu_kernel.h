// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "runtime/device/gpu_program.h"
#include "runtime/device/status_words.h"

namespace hone::runtime {

/// A kernel's side on a GPU.
struct GpuKernel {
  /// A loaded program with status words, where some launch checks data.
  static Result<std::shared_ptr<const GpuKernel>> create(std::shared_ptr<const GpuProgram> program,
                                                         const ir::Nest& nest);
  Gpu& gpu() const { return program->gpu(); }

  std::shared_ptr<const GpuProgram> program;
  std::unique_ptr<StatusWords> words;  ///< of enqueued calls; null: no launch checks data

  /// The status word of calls in a stream; of kernels that check nothing, one that all share.
  uint64_t status(void* stream) const { return words ? words->of(stream) : gpu().fine(); }
  /// The same for calls in a graph.
  uint64_t shared_status() const { return words ? words->shared() : gpu().fine(); }
};

}  // namespace hone::runtime
