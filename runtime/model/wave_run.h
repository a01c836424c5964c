// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "runtime/model/arguments.h"

namespace hone::runtime {

/// Runs the steps of a wave at the same time over the engine's pool. `block` is the memory of the
/// call. Of steps that fail, the first one is told.
Result<Done> run_wave(const ModelArguments& call, const ModelWave& wave, std::byte* block);

}  // namespace hone::runtime
