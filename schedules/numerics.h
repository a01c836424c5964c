// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "jit/ir/program.h"

namespace hone::schedules {

/// The numerics class of a scheduled program: what fixes the bits of its results. One word, so that
/// a problem can pin it. Per floating sum or product, in stage order, joined by ";":
///   `S:seq`                   terms in the order of the definition
///   `S:order(k.i*8,k.o)`      another nesting of the reduction loops, with the inner extents
///   `S:partial(j.i*64)+seq`   partial results by the factored loops (step rfactor)
///   `S:lanes(k.i*16)+seq`     lanes of a vector combined in every iteration
/// "exact" where nothing depends on an order. Tile sizes, threads and tails never show, nor does a
/// copy in which an output's sum is computed before it is written there.
std::string numerics_class(const ir::Program& program);

/// True where what a problem pins, `any`, `seq` (every sum in the order of its definition) or the
/// text of a class, admits schedules of class `actual`.
bool admits(std::string_view pinned, std::string_view actual);

}  // namespace hone::schedules
