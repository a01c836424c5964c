// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "jit/ir/program.h"
#include "runtime/machine/limits.h"

namespace hone::runtime {

/// What the machine's limits allow for a problem: the slower of arithmetic and traffic.
struct TimeBound {
  double time_us = 0;
  bool flops_bind = false;  ///< else bytes do
  double limit = 0;         ///< 10^9 operations or bytes a second, whichever binds
};

/// The bound of a naive program at `dims`, from limits measured in this process.
TimeBound bound_of(const ir::Program& program, std::span<const int64_t> dims, Limits* limits);

/// The dims known at the call with ranges to check and to time them in. A stride given at the call
/// may be anything; here it lies between that of dense rows and that of rows some elements apart.
std::vector<ir::Dim> dims_to_try(const ir::Program& program);

/// Where dims known at the call are timed: the last of `at`, else the largest.
std::vector<int64_t> timing_dims(const ir::Program& program);

}  // namespace hone::runtime
