// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "jit/ir/target.h"
#include "ops/op.h"
#include "runtime/build/compile.h"
#include "runtime/device/compiler.h"
#include "runtime/engine/kernel_state.h"

namespace hone::runtime {

/// What a kernel is built from.
struct BuildInput {
  const ops::Problem* problem = nullptr;
  const ir::Target* target = nullptr;
  std::string schedule;  ///< as text
  Source source = Source::kDefault;
  BuildOptions options = {};
  GpuCompiler* compiler = nullptr;  ///< where kernels run on a GPU
  std::chrono::steady_clock::time_point begun = std::chrono::steady_clock::now();
  std::optional<schedules::Scheduled> scheduled =
      {};  ///< the schedule, where it is applied already
};

/// A callable kernel. Where the system forbids executable memory the interpreter serves, and the
/// host is told; so it is of a back end's bug.
Result<std::shared_ptr<const KernelState>, ir::Reject> build_kernel(
    const std::shared_ptr<Services>& services, const BuildInput& input);

}  // namespace hone::runtime
