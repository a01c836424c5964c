// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/native/allocate.h"
#include "jit/native/liveness.h"

namespace hone::jit {

/// `lir` with vectors loaded where they are next read, once more or not before, where more are live
/// than there are registers. What an innermost loop does not mention is left to be spilled. Only
/// loads of one block are repeated, and only where nothing in between writes memory or the address.
/// A load costs less than a spilled value, which is stored as well.
Lir reload_late(const Lir& lir, const Liveness& liveness, const RegisterFile& file);

}  // namespace hone::jit
