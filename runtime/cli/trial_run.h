// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "ops/op.h"
#include "runtime/cli/common.h"
#include "runtime/engine/kernel_state.h"
#include "runtime/machine/limits.h"
#include "runtime/worker/kernel_check.h"

namespace hone::runtime {

/// A kernel's time against what the machine can do.
struct Speed {
  double time_us = 0;
  double gflops = 0;
  double gbps = 0;
  bool flops_bind = false;  ///< else bytes do
  double limit = 0;         ///< in the unit that binds
  double of_limit = 0;
};

/// Times `kernel`, its operands hot, without the checks of a call; where dims are known at the call
/// at the last of `at`, else at their largest.
Result<Speed> time_kernel(const std::shared_ptr<const KernelState>& kernel,
                          const ops::Problem& problem, Limits* limits);

/// What a measured time says of a problem.
Speed speed_of(const ops::Problem& problem, double time_us, Limits* limits);

/// The JSON object of `run` and of the bench's rows; null stands for what was not checked or timed.
Json run_json(const KernelState& kernel, const CheckOutcome* check, const Speed* speed,
              int threads);

/// The part of it that is measured, which a peer's row has as well.
Json speed_json(const Speed* speed);

}  // namespace hone::runtime
