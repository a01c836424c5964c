// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "jit/ir/target.h"
#include "jit/native/lir.h"

namespace hone::jit {

/// Verifies code: the first error, with the instruction as text, or empty. Every operand must have
/// the register class, the width and the form that ops.def wants. The target must have the
/// instruction; registers, constants and labels must exist. Registers of allocated code must be
/// such as the encoding reaches. An error is a bug of selection or allocation; such code must never
/// run.
std::string defect_of(const Lir& lir, const ir::Target& target);

}  // namespace hone::jit
