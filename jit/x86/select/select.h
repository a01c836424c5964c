// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "include/hone/error.h"
#include "jit/ir/nest.h"
#include "jit/ir/reject.h"
#include "jit/ir/target.h"
#include "jit/native/lir.h"

namespace hone::jit {

/// LIR for one launch of `nest`: `fn(args, begin, end, scratch)`, with the loop over the range
/// inside. Refuses a launch that it cannot do, with the reason; never emits wrong code.
Result<Lir, ir::Reject> select(const ir::Nest& nest, const ir::Launch& launch,
                               const ir::Target& target);

}  // namespace hone::jit
