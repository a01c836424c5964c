// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/ir/nest.h"

namespace hone::jit {

/// Puts a barrier between accesses of different threads to the same shared memory. One stands
/// wherever a thread of a block may touch what another has written, or write what another may still
/// read:
///   for k: team: As = ..; C += As    =>    for k: barrier; team: As = ..; barrier; C += As
ir::Nest with_barriers(ir::Nest nest);

}  // namespace hone::jit
