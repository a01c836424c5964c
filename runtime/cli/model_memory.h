// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "runtime/cli/common.h"
#include "runtime/model/model_state.h"

namespace hone::runtime {

/// Where the tensors between a model's kernels lie, as a table. Steps are counted from 1. Others
/// that have some of the same memory stand beside each. Then comes the step that needs most.
std::string memory_plan_text(const ModelState& model);

/// The same as an object.
Json memory_plan_json(const ModelState& model);

}  // namespace hone::runtime
