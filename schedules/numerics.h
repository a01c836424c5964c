// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "jit/ir/program.h"

namespace hone::schedules {

/// Numerics class of a scheduled program: what fixes the bits of its results on one instruction
/// set. It is one word, so that a problem can pin it. Entries are joined by ";". There is one for
/// each floating sum or product of the definition, and one for each product that the schedule
/// brings to an addition:
///   `S:seq`             terms in the order of the definition
///   `S:k%8,k/8`         another order; `k/8` counts blocks of 8, `k%8` stands in one
///   `S:lanes(j%64)`     lanes of a vector, added up in every iteration of what stands before
///   `S:k/2,bf16.dot2(k%2)`  an instruction takes the terms in the brackets at once
///   `S:j%64[seq]`       partial results, each computed as in brackets, then combined
///   `S:k.p64[seq]`      parts of 64 terms, each as in brackets, then combined
///   `S:lanes8(j%64)`    the same where elements of 8 bytes are read beside: half as many lanes fit
///   `S:lanes(j)+j`      the same of a loop whose borders run apart
///   `S:lanes(j)@[i,j]`  the range of j depends on i: the loops around it count
///   `S:scan(j%8)`       a recurrence, whose results are prefixes of lanes
///   `S:blocks(64)[seq][seq][seq]`  a recurrence in blocks: sums of each, their chain, elements
///   `S:winograd(r/2)[seq]`  two results at once along r from fewer products, whose sums are in
///                      brackets; only where the problem pins `normwise`, or such a class
///   `S:winograd(r/2,filter)[seq]`  the same with the combined filter inlined
///   `Y:reciprocal`      quotients of Y are made of reciprocals; the last of what is said of Y
///   `t:fused`           t is inlined, and its product added in one rounding
///   `t:staged`          t is inlined, and a staged copy of its product is rounded before the sum
/// The class is "exact" where nothing depends on an order. Products that a statement itself adds
/// are fused, but in a scan. Names of loops, tile sizes, threads, copies and tails show only where
/// they change bits. Not part of the class: the sign of a zero from max or min, and which NaN comes
/// out.
std::string numerics_class(const ir::Program& definition, const ir::Program& scheduled);

/// True where the class that a problem pins admits schedules of class `actual`. Besides classes
/// there are `any`; `normwise`, which admits all; and `seq`: sums in the order of the definition,
/// only its own products fused.
bool admits(std::string_view pinned, std::string_view actual);

}  // namespace hone::schedules
