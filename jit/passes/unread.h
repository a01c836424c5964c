// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/ir/nest.h"

namespace hone::jit {

/// Leaves out what goes into registers or into memory of the call and is never read. A part of a
/// partitioned loop may be such, where no choice by index takes what is computed for it:
///   r = f(i); C = 0.0    =>    C = 0.0
ir::Nest without_unread(ir::Nest nest);

}  // namespace hone::jit
