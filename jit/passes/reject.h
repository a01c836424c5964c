// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace hone::jit {

/// Stops the lowering: throws an ir::Reject, which lower() turns into a value.
[[noreturn]] void reject(std::string message);

}  // namespace hone::jit
