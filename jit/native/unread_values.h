// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/native/lir.h"
#include "jit/native/machine.h"

namespace hone::jit {

/// Drops vectors and masks that nothing reads but what is dropped itself. Values are asked for
/// before it is known that what is made of them is there already. Of some a few lanes are wanted.
void drop_unread(Lir& lir, const Machine& machine);

}  // namespace hone::jit
