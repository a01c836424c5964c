// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "jit/ir/nest.h"

namespace hone::jit {

/// Makes float quotients that are marked (Node::reciprocal) of their divisor's reciprocal, in two
/// parts whose sum has twice the bits. A pass that moves what loops compute alike then leaves
/// multiplications in them.
///   vec j: Y[j] = X[j]/s  =>  vec j: Y[j] = X[j]*c*high + X[j]*c*low
/// `high` is 1/(s*c) rounded towards 0, `low` what is missing; the sum takes its first product
/// unrounded. Whole quotients are exact. Of others about one in 2^24, midway between two values, is
/// rounded to the other. `c` is 1, but a power of 2 for divisors whose reciprocal is no normal
/// number. Zeros, infinities and NaN come out as a division has them (N. Brisebarre, J.-M. Muller,
/// S. K. Raina, "Accelerating correctly rounded floating-point division when the divisor is known
/// in advance", IEEE Transactions on Computers 53, 2004). For machines that fuse products with
/// sums. Nothing where the nest has no such quotient.
std::optional<ir::Nest> with_reciprocals(const ir::Nest& nest);

}  // namespace hone::jit
