// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace hone::jit {

/// Thrown inside a pass only; lower() turns it into a value.
struct Rejected {
  std::string message;
};

/// Stops the lowering with a reason.
[[noreturn]] void reject(std::string message);

}  // namespace hone::jit
