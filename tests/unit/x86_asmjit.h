// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "jit/x86/encode/forms.h"

namespace hone::tests {

/// The bytes that AsmJit encodes the instruction to; nothing where it is not built in, or does not
/// know or takes differently what was asked.
std::optional<std::vector<uint8_t>> asmjit_bytes(const jit::Inst& inst, const jit::Form& form);

}  // namespace hone::tests
