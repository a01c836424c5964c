// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "include/hone/param.h"
#include "ops/op.h"

namespace hone::ops {

/// The parameters of an op, in the order of its text: arguments, then outputs.
std::vector<hone::Param> params_of(const Op& op);

}  // namespace hone::ops
