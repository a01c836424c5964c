// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "jit/ir/nest.h"

namespace hone::jit {

/// Products that go on beside the threads (instructions with `most_columns`): marks where groups of
/// them begin and end, and waits before anything else touches what they read and write.
///   for k.s: wgmma C += A, B   =>   open C; for k.s: wgmma C += A, B; close; join 0
/// Of a loop with a lag, each iteration waits for the products of the one before.
///   for k lag 1: wgmma C += A, B  =>  open C; for k: open; wgmma C += A, B; close; join 1; join 0
ir::Nest with_products(ir::Nest nest);

/// Whether the products of an iteration of a loop may go on in the next one: they are one run of
/// `body`, long enough for it to be worth it, and nothing else in it touches what they change, or
/// changes what they read.
bool products_may_go_on(const std::vector<ir::StmtRef>& body);

}  // namespace hone::jit
