// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/ir/target.h"
#include "jit/native/allocate.h"

namespace hone::jit {

/// The register file of a target, with the properties of its instructions.
RegisterFile registers_of(const ir::Target& target);

inline Allocation allocate(const Lir& lir, const ir::Target& target) {
  return allocate(lir, registers_of(target));
}

}  // namespace hone::jit
