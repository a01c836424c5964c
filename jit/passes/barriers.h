// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/ir/nest.h"

namespace hone::jit {

/// Puts a barrier wherever a thread of a block may touch shared memory that another has written, or
/// write what another may still read:
///   for k: team As = ..; C += As    =>    for k: barrier; team As = ..; barrier; C += As
ir::Nest with_barriers(ir::Nest nest);

}  // namespace hone::jit
