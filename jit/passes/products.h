// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/ir/nest.h"

namespace hone::jit {

/// Products that go on beside the threads (instructions with `most_columns`): marks where groups of
/// them begin and end, and waits before anything else touches what they read and write.
///   for k.s: wgmma C += A, B   =>   open C; for k.s: wgmma C += A, B; close; join 0
ir::Nest with_products(ir::Nest nest);

}  // namespace hone::jit
