// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/ir/program.h"

namespace hone::ops {

/// Makes temporaries of parts of values that outer loops would repeat. These are functions,
/// divisions and gathers of inner indices alone or of none, as `exp(B[j])` in a result over i and
/// j. What depends on outer indices alone needs none, since loops keep it. Rules may inline them
/// again.
void hoist_invariants(ir::Program& program);

}  // namespace hone::ops
