// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "include/hone/error.h"
#include "ops/op.h"
#include "runtime/engine/kernel_state.h"

namespace hone::runtime {

/// What a kernel's results are like.
struct CheckOutcome {
  double max_err = 0;    ///< in units of the reference's bound
  double tolerance = 1;  ///< in the same unit
  int64_t compared = 0;  ///< elements looked at, over all data sets
  std::string mismatch;  ///< the first; empty: all is well
};

/// Runs `kernel` on each data set, at the ends of the range of each dim known at the call. It
/// compares every element with the definition, or for large problems as Fixture says.
Result<CheckOutcome> check_kernel(const std::shared_ptr<const KernelState>& kernel,
                                  const ops::Problem& problem);

}  // namespace hone::runtime
