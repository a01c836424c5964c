// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "jit/ir/target.h"
#include "jit/native/lir.h"

namespace hone::jit {

/// What is wrong with the code, with the instruction as text, or empty: every operand is of the
/// register class, the width and the form that ops.def wants, the target has the instruction,
/// registers, constants and labels exist. Of allocated code, registers are such as the encoding
/// reaches. What this finds is a bug of selection or allocation; such code must never run.
std::string defect_of(const Lir& lir, const ir::Target& target);

}  // namespace hone::jit
