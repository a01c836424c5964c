// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/cli/model_load.h"
#include "runtime/measure/spread.h"

namespace hone::runtime {

/// Times of whole calls of a model on its tensors, in microseconds. They are sampled as kernels
/// are: rounds in which another process had a core do not count. On a GPU the tensors lie in its
/// memory, and its clock counts.
Result<Spread> time_calls(const ModelState& model, const ModelTensors& t);

}  // namespace hone::runtime
