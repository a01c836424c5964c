// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/ir/program.h"

namespace hone::ops {

/// Turns types of less than a byte into bytes, so that nothing after it meets them. Storage is
/// applied before.
///
///   `W[n,k]` of u4      (W[n,k/2] >> 4*(k%2)) & 15, where W is of u8 and its rows are as long as
///                       their bytes
///   a result Y of u4    is computed in `Y.elements`, one element a byte; stage Y packs them
///   an intermediate     has one element a byte
void unpack_storage(ir::Program& program);

}  // namespace hone::ops
