// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/cli/common.h"

namespace hone::runtime {

/// The line's op as C++ for users of Halide, by the line's schedule or the untuned one. Nothing is
/// compiled, and no Halide is needed.
Result<std::string> halide_text(const Common& common, const ReproLine& line);

}  // namespace hone::runtime
