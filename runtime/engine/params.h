// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "include/hone/param.h"
#include "ops/op.h"
#include "runtime/call/plan.h"

namespace hone::runtime {

/// The parameters of a kernel of `problem`, in the op's order.
std::vector<Param> params_of(const ops::Problem& problem, const CallPlan& plan);

}  // namespace hone::runtime
