// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ops/op.h"
#include "runtime/cli/common.h"
#include "runtime/engine/kernel_state.h"
#include "runtime/kernel_check/kernel_check.h"
#include "runtime/measure/bound.h"
#include "runtime/measure/limits.h"
#include "runtime/measure/spread.h"

namespace hone::runtime {

/// A kernel's time against what the machine can do. Where the problem says that it should be good
/// at several points, all are geometric means over the points.
struct Speed {
  std::string at;  ///< dims known at the call, `M=8`; empty for a mean
  double time_us = 0;
  double low_us = 0, high_us = 0;  ///< the middle half of the rounds
  int rounds = 0;                  ///< that count
  int noisy = 0;                   ///< that do not: another process had a core meanwhile
  double gflops = 0;
  double gbps = 0;
  std::string bound;          ///< what binds, flops or bytes; empty where points differ
  double limit = 0;           ///< in the unit that binds
  double limit_us = 0;        ///< what the limit allows
  Share share;                ///< of the limit
  std::vector<Speed> points;  ///< of a mean
};

/// Times `kernel` without the checks of a call, its operands hot. With several threads it is called
/// as by an occasional caller.
Result<Speed> time_kernel(const std::shared_ptr<const KernelState>& kernel,
                          const ops::Problem& problem, Limits* limits);

/// Relates a measured time to the limit of a problem whose dims known at the call are `dims`.
Speed speed_of(const ops::Problem& problem, std::span<const int64_t> dims, const Spread& time,
               Limits* limits);

/// The JSON object of `run` and of the bench's rows; null stands for what was not checked or timed.
Json run_json(const KernelState& kernel, const CheckOutcome* check, const Speed* speed,
              int threads);

/// The part of it that is measured, which a peer's row has as well.
Json speed_json(const Speed* speed);

/// A share of the limit in words: `62% of the limit`, `busy: ...`, or that it is unknown.
std::string text_of(const Share& share);

/// A time and the middle half of its rounds: `5.2 us (5.1 to 5.4)`.
std::string text_of_time(double us, double low_us, double high_us);

/// How many rounds count and how many do not: `15 rounds, 2 noisy ones left out`.
std::string text_of_rounds(int rounds, int noisy);

}  // namespace hone::runtime
