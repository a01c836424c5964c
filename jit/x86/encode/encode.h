// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "jit/ir/target.h"
#include "jit/native/allocate.h"

namespace hone::jit {

/// Machine code with its constant pool; position-independent. Appends to `out`; returns the entry's
/// offset in it. `debug` adds a prologue that fills vector and mask registers with NaN patterns.
size_t encode(const Allocation& allocation, const ir::Target& target, std::vector<uint8_t>& out,
              bool debug = false);

}  // namespace hone::jit
