// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/x86/encode/instructions.h"

namespace hone::jit {

/// The move whose mask has a bit for each element of `size` bytes.
X86 masked_move_of(int size);

/// The load that repeats one element of `size` bytes over a vector of `width` bytes.
X86 broadcast_of(int size, int width);

/// Interleaves elements of `size` bytes of the lower (or upper) halves of each 16 bytes.
X86 interleave_of(int size, bool upper);

}  // namespace hone::jit
