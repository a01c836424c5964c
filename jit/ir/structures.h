// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "jit/ir/machine.h"

namespace hone::ir {

/// Instructions that take a vector of every n-th element out of whole vectors. The vectors of the
/// elements between are wanted as well, and each is made of pieces that others share.
struct StructureShuffles {
  int blends = 0;
  int permutes = 0;
  int all() const { return blends + permutes; }
};
StructureShuffles shuffles_of_structures(const Machine& machine, int element_bytes,
                                         int64_t structure);

/// True of small elements whose structures are turned within 16 bytes first: a shuffle of bytes
/// puts elements of one place side by side. Structures of 3 and 6 leave room for one and two more.
bool turns_structures(const Machine& machine, int element_bytes, int64_t structure);
/// Elements of a structure with that room.
int64_t padded_structure(int64_t structure);

/// True where these take less than loading every `structure`-th element by itself.
bool shuffles_structures(const Machine& machine, int element_bytes, int64_t structure);

}  // namespace hone::ir
