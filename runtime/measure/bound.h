// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "jit/ir/program.h"
#include "runtime/measure/limits.h"

namespace hone::runtime {

/// Roofline bound of a problem: the slower of arithmetic and memory traffic.
struct TimeBound {
  double time_us = 0;
  bool flops_bind = false;  ///< else bytes do
  double limit = 0;         ///< 10^9 operations or bytes a second, whichever binds
};

struct Work;

/// The bound of work at hand.
TimeBound bound_of(const Work& work, Limits* limits);

/// The bound of a naive program at `dims`.
TimeBound bound_of(const ir::Program& program, std::span<const int64_t> dims, Limits* limits);

/// Dims known at the call, with ranges to check and to time them in. A stride given at the call may
/// be anything. Here it lies between the dense stride and one some elements larger.
std::vector<ir::Dim> dims_to_try(const ir::Program& program);

/// Where a program is timed: the values of its dims known at the call at each place of `at`, else
/// the largest ones.
std::vector<std::vector<int64_t>> timing_points(const ir::Program& program);

/// The last of them, where programs that are timed at one point alone are.
std::vector<int64_t> timing_dims(const ir::Program& program);

/// Dims known at the call as text, `M=8 L=3`; empty where there are none.
std::string text_of_dims(const ir::Program& program, std::span<const int64_t> dims);

/// How a time stands to what the limit allows.
struct Share {
  double of_limit = 0;  ///< 0..1; 0: unknown
  /// Faster than the limit by more than clocks err: the machine was too busy to measure the limit.
  bool busy = false;
};
Share share_of(double limit_us, double time_us);

}  // namespace hone::runtime
