// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "jit/backend.h"

namespace hone::tests {

/// A back end with a target to hold it against the definition: one row of a table.
struct BackEnd {
  const char* name;
  const jit::Backend* row;
  const char* target;        ///< words beside those of every row
  bool everywhere = false;   ///< runs whatever this machine is
  uint64_t sample = 1;       ///< of so many programs it gets one: its compiler is slow
  const char* kind = "x86";  ///< the target's first word
};

/// Nests of any target, reads of what nothing wrote seen.
extern const BackEnd kInterp;
extern const BackEnd kAvx2;
extern const BackEnd kAvx512;
/// AVX2 with its dot products, for tests of those.
extern const BackEnd kAvxVnni;
/// An independent reading of the stages; nullptr where the build has no Halide.
extern const BackEnd* const kHalide;
/// Those that program `number` of a test is to run on, among the ones that this machine can run:
/// all but those whose compiler is slow, which take turns.
std::vector<const BackEnd*> back_ends_for(uint64_t number);

/// The target that a back end is compiled for: dot products of AVX-512 as far as this machine has
/// them.
ir::Target target_of(const BackEnd& back_end);
/// True when this machine can run it.
bool can_run(const BackEnd& back_end);

}  // namespace hone::tests
