// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "jit/ir/nest.h"

namespace hone::jit {

/// Fences, commits and waits of wgmma, asynchronous products (instructions with `most_columns`).
/// Marks where groups of them begin and end. They are awaited before anything else touches their
/// operands or results.
///   for k.s: wgmma C += A, B   =>   fence C; for k.s: wgmma C += A, B; commit; wait 0
/// In a loop with a lag, each iteration waits for the products of the one before.
///   for k lag 1: wgmma C += A, B  =>
///   fence C; for k: { fence; wgmma C += A, B; commit; wait 1 }; wait 0
ir::Nest with_wgmma_groups(ir::Nest nest);

/// Whether the products of an iteration of a loop may run on in the next one. They must be one run
/// of `body`, long enough to be worth it. Nothing else in it may touch their results or change
/// their operands.
bool wgmma_may_go_on(const std::vector<ir::StmtRef>& body);

}  // namespace hone::jit
