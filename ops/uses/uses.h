// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/source.h"
#include "ops/syntax.h"
#include "ops/uses/known_ops.h"

namespace hone::ops {

/// Replaces each statement that uses an op, `P[b,i,j] = softmax(S)`, by the statements of that op.
void write_out_uses(Definition& d, KnownOps& ops, Diagnostics& diagnostics);

}  // namespace hone::ops
