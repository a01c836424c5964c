// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "jit/ir/nest.h"
#include "jit/x86/encode/instructions.h"

namespace hone::jit {

/// How an ir::Instruction is emitted.
struct DotForm {
  std::string_view name;
  X86 op;
  bool adds;  ///< to its destination; else an addition follows
  /// Which operand is moved by 128 to fit the instruction: 1 or 2; 0: none.
  int biased;
};

/// The form of a name; null where this machine kind has none.
const DotForm* form_named(std::string_view name);

/// The store that a statement is, sequences around it aside; null where it is more.
const ir::StoreStmt* only_store(const ir::Stmt& s);

}  // namespace hone::jit
