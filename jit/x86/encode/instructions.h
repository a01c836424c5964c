// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "jit/native/lir.h"

namespace hone::jit {

/// The machine's own instructions: every row of ops.def, by mnemonic.
enum class X86 : uint16_t {
  before_first = kFirstOfMachine - 1,
#define HONE_X86(name, ...) name,
#include "jit/x86/encode/ops.def"
#undef HONE_X86
  after_last,
};

template <>
inline constexpr bool kNamesInstructions<X86> = true;

/// The instruction of a number, for `switch`; pseudo instructions are none of the enumerators.
constexpr X86 x86_of(Opcode op) { return static_cast<X86>(op.number); }

}  // namespace hone::jit
