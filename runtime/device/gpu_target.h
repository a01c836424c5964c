// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "include/hone/hone.h"
#include "jit/ir/target.h"
#include "runtime/cache/cache.h"
#include "runtime/device/compiler.h"
#include "runtime/device/gpu.h"

namespace hone::runtime {

/// What an engine for GPUs compiles for, and the device that runs it.
struct GpuPlace {
  ir::Target target;
  std::shared_ptr<Gpu> gpu;  ///< null: nothing here runs that target
  std::string why_not;       ///< then the reason
  std::string older;         ///< where the compiler is older than the target: what follows
};

/// True for target texts that start with `cuda`.
bool names_gpu(std::string_view target);

/// True where a device runs code for `target`.
bool runs(const GpuFacts& facts, const ir::Target& target);

/// The device of the options and the target that their text gives there. The target is reduced to
/// what the compiler at hand supports, and rules, records and errors speak of that. An error where
/// the text wants a device and there is none.
Result<GpuPlace> find_gpu(const EngineOptions& options);

/// Keeps machine code in a cache, which must outlive it.
BinaryStore store_in(Cache& cache);

}  // namespace hone::runtime
