// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "include/hone/error.h"
#include "jit/ir/program.h"
#include "jit/ir/target.h"

namespace hone::jit {

/// A scheduled program as C++ for users of Halide: Funcs, their schedule, and a `main` that makes
/// tensors and computes. Needs no Halide. `title` is a comment of one line. kSchedule where Halide
/// cannot say it.
Result<std::string> halide_program(const ir::Program& scheduled, const ir::Target& target,
                                   const std::string& title);

}  // namespace hone::jit
