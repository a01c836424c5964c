// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "jit/ir/program.h"

namespace hone::schedules {

/// The numerics class of a scheduled program: what fixes the bits of its results. Per floating sum
/// or product, in stage order, joined by "; ":
///   `S: seq`                  terms in the order of the definition
///   `S: order k.i*8 k.o`      another nesting of the reduction loops, with the inner extents
///   `S: partial j.i*64, ...`  partial results by the factored loops (step rfactor)
///   `S: lanes 16, ...`        lanes of a vector combined in every iteration
/// "exact" where nothing depends on an order. Tile sizes, threads and tails never show.
std::string numerics_class(const ir::Program& program);

}  // namespace hone::schedules
