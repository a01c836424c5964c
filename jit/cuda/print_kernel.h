// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "jit/cuda/kernel_part.h"

namespace hone::jit {

/// Prints one launch as a kernel. Throws ir::Reject.
std::string print_kernel(KernelContext context);

}  // namespace hone::jit
