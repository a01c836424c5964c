// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/source.h"
#include "ops/syntax.h"

namespace hone::ops {

/// Replaces each `where` that reads data by a choice: `Y[i] = v where m[i] else w` is
/// `Y[i] = select(m[i], v, w)`. Without `else` an inout keeps its old value, and a recurrence its
/// state of the step before.
void write_out_choices(Definition& d, Diagnostics& diagnostics);

}  // namespace hone::ops
