// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/ir/nest.h"

namespace hone::jit {

/// Keeps equal loads of a thread's unrolled loops in registers, from tensors that the launch does
/// not write:
///   for e unrolled: m = max(m, X[32*e + t]);  for e unrolled: s += X[32*e + t]
///     =>  for e unrolled: {x[e] = X[32*e + t]; m = max(m, x[e])};  for e unrolled: s += x[e]
/// Loops are alike when they have the same bounds. Those over threads are the same when they are
/// bound to one axis.
ir::Nest with_kept_loads(ir::Nest nest);

}  // namespace hone::jit
