// SPDX-License-Identifier: Apache-2.0
#include "jit/ir/structures.h"

namespace hone::ir {
namespace {

/// Instructions of a vector at most; past them elements one by one are as fast. By the bytes of an
/// element, and of four bytes where no instruction shuffles two whole vectors.
/// Tuned on: Zen 4 (AVX-512, AVX2).
constexpr int kMostOfTwo = 8, kMostOfFour = 7, kMostOfEight = 3, kMostOfHalves = 7;

/// Bytes within which a shuffle moves any byte.
/// Fixed by: x86.
constexpr int kShuffled = 16;

}  // namespace

int64_t padded_structure(int64_t structure) {
  return structure % 3 == 0 ? structure / 3 * 4 : structure;
}

bool turns_structures(const Machine& machine, int element_bytes, int64_t structure) {
  if (element_bytes > (machine.masks_lanes ? 1 : 2)) return false;
  const int64_t padded = padded_structure(structure);
  const bool halves = padded == 2 || padded == 4 || padded == 8;
  if (!halves || element_bytes * padded > kShuffled / 2) return false;
  // Pairs of bytes are shuffled across a register where it has masks.
  return kShuffled / padded >= (machine.masks_lanes ? 2 : 4);
}

StructureShuffles shuffles_of_structures(const Machine& machine, int element_bytes,
                                         int64_t structure) {
  StructureShuffles out;
  if (turns_structures(machine, element_bytes, structure)) {
    const int64_t padded = padded_structure(structure);
    out.permutes += padded == structure ? 1 : 2;
    structure = padded;
  }
  for (int64_t factor = 2; structure > 1;) {
    if (structure % factor != 0) {
      ++factor;
      continue;
    }
    structure /= factor;
    if (factor == 2) {
      // One that takes lanes of two vectors, and where halves are apart, one that orders them.
      out.permutes += machine.masks_lanes ? 1 : 2;
    } else {
      // No two elements of an odd factor stand in the same lane of their vectors.
      out.blends += static_cast<int>(factor) - 1;
      ++out.permutes;
    }
  }
  return out;
}

bool shuffles_structures(const Machine& machine, int element_bytes, int64_t structure) {
  if (structure < 2 || structure > machine.vector_bytes / 4) return false;
  if (turns_structures(machine, element_bytes, structure)) return true;
  const int shuffles = shuffles_of_structures(machine, element_bytes, structure).all();
  if (!machine.masks_lanes) {
    return element_bytes == 4 ? shuffles <= kMostOfHalves : element_bytes == 8 && structure == 2;
  }
  switch (element_bytes) {
    case 2:
      return shuffles <= kMostOfTwo;
    case 4:
      return shuffles <= kMostOfFour;
    case 8:
      return shuffles <= kMostOfEight;
    default:
      return false;
  }
}

}  // namespace hone::ir
