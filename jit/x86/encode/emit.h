// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <xbyak/xbyak.h>

#include "jit/x86/encode/forms.h"

namespace hone::jit {

/// What instructions refer to beside their operands.
struct EmitContext {
  const Xbyak::Label* pool = nullptr;  ///< start of the constant pool
  bool evex_dot = false;               ///< dot products take their EVEX encoding
};

/// Appends one instruction with physical registers, not a pseudo instruction. `form` is its
/// form_of. Throws Xbyak::Error where the operands cannot be encoded.
void emit(Xbyak::CodeGenerator& generator, const Inst& inst, const Form& form,
          const EmitContext& context);

/// A memory operand's address; `shape` tells whether its index is a vector.
Xbyak::Address address_of(const Operand& operand, const EmitContext& context, Shape shape);

}  // namespace hone::jit
