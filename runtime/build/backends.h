// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "jit/backend.h"

namespace hone::runtime {

/// The back ends of this build. A device's or a library's precede the CPU's own; the interpreter is
/// the last, and takes what no other does.
std::span<const jit::Backend* const> backends();

/// The one that makes code for `target`.
const jit::Backend& backend_of(const ir::Target& target);

}  // namespace hone::runtime
