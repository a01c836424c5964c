// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/ir/program.h"

namespace hone::ops {

/// Rewrites a program so that no schedule repeats work over indices that a value does not depend
/// on. Temporaries lose such dims. A result that is one reduction reads a temporary that reduces. A
/// reduction loses variables that change nothing: once is enough for the largest, and a sum of
/// equal terms is a product. Ranges that may be empty are left as they are.
void drop_invariants(ir::Program& program);

}  // namespace hone::ops
