// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "jit/ir/target.h"

namespace hone::tests {

/// Disassembles what can be reached from byte `entry` and returns the first instruction that
/// `target` cannot run, that does not decode, or that leaves the code, as "offset: text (ISA set)";
/// empty when all is well.
std::string isa_violation(std::span<const uint8_t> code, size_t entry, const ir::Target& target);

}  // namespace hone::tests
