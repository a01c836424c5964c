// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "jit/code.h"
#include "jit/cuda/source.h"
#include "jit/ir/target.h"
#include "ops/op.h"
#include "runtime/device/compiler.h"
#include "runtime/engine/kernel_state.h"

namespace hone::runtime {

/// A problem with its schedule applied, lowered and turned into code, before it is memory.
struct Compiled {
  std::string schedule;  ///< canonical text
  ir::Program scheduled;
  ir::Nest nest;
  std::optional<jit::Code>
      code;  ///< none where the target or the backend leaves it to the interpreter
  std::optional<jit::CudaSource> cuda;  ///< where the target is a GPU
  std::string refusal;                  ///< why the backend refused, if it did
};

/// Why a schedule gives no kernel.
struct BuildFailure {
  bool rejected = false;  ///< the schedule is illegal or unsupported; else it is no matter of it
  Failure failure;
};

/// What the stages of a compile are asked for.
struct BuildOptions {
  bool keep_lir = false;
  bool debug = false;
  /// A refusal of the backend is a reject; else the interpreter serves.
  bool refusal_rejects = true;
  /// No machine code: the interpreter serves.
  bool interpret = false;
};

/// Text to code: applies `schedule`, lowers, verifies and emits.
Result<Compiled, BuildFailure> compile_schedule(const ir::Program& program,
                                                const ir::Target& target,
                                                const std::string& schedule,
                                                const BuildOptions& options = {});

/// What a kernel is built from.
struct BuildInput {
  const ops::Problem* problem = nullptr;
  const ir::Target* target = nullptr;
  std::string schedule;
  Source source = Source::kDefault;
  BuildOptions options = {};
  GpuCompiler* compiler = nullptr;  ///< where kernels run on a GPU
  std::chrono::steady_clock::time_point begun = std::chrono::steady_clock::now();
};

/// A callable kernel. Where the system forbids executable memory the interpreter serves, and the
/// host is told.
Result<std::shared_ptr<const KernelState>, BuildFailure> build_kernel(
    const std::shared_ptr<Services>& services, const BuildInput& input);

}  // namespace hone::runtime
