// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "runtime/cli/common.h"
#include "runtime/engine/build.h"

namespace hone::runtime {

/// Static facts of a problem's kernels for a GPU: `kernels`, an object each, and `compiler`, what
/// the figures on registers are from or why there are none.
Json cuda_report(const Compiled& compiled, const ir::Target& target);

/// One of the launches as text, lines indented.
std::string launch_text(const Json& launch);

}  // namespace hone::runtime
