// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "include/hone/error.h"
#include "jit/ir/nest.h"
#include "jit/ir/reject.h"
#include "jit/ir/target.h"

namespace hone::jit {

/// Scheduled stages to loops: computes windows, expands peeled tails and partitions, flattens
/// offsets, sizes scratch, and verifies every access. Rejects are of kind kIllegal.
Result<ir::Nest, ir::Reject> lower(const ir::Program& program, const ir::Target& target);

/// The launch of one stage at the root alone, with all that is computed inside it, for estimates.
/// Buffers are all there; what nobody reads is not left out.
Result<ir::Nest, ir::Reject> lower_launch(const ir::Program& program, const ir::Target& target,
                                          const std::string& stage);

}  // namespace hone::jit
