// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "jit/backend.h"

namespace hone::runtime {

/// The back ends of this build. The interpreter is the last: it takes what no other does.
std::span<const jit::Backend* const> backends();

/// The one that makes code for `target`.
const jit::Backend& backend_of(const ir::Target& target);

}  // namespace hone::runtime
