// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "jit/x86/compile.h"

namespace hone::runtime {

/// Disassembly of every launch: jump targets as labels, loops indented, and the first element of a
/// constant beside the instruction that reads it. Instructions that no jump reaches are left out.
std::string listing(const jit::X86Code& code, const ir::Nest& nest);

}  // namespace hone::runtime
