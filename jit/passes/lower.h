// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "include/hone/error.h"
#include "jit/ir/nest.h"
#include "jit/ir/target.h"

namespace hone::jit {

/// Why a scheduled program cannot be lowered: an illegal or unsupported schedule, not a bug.
struct LowerReject {
  std::string message;
};

/// Scheduled stages to loops: computes windows, expands peeled tails and partitions, flattens
/// offsets, sizes scratch, and verifies every access.
Result<ir::Nest, LowerReject> lower(const ir::Program& program, const ir::Target& target);

}  // namespace hone::jit
