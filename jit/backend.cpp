// SPDX-License-Identifier: Apache-2.0
#include "jit/backend.h"

#include "jit/passes/lower.h"

namespace hone::jit {

Result<ir::Nest, Reject> lowered(const ir::Program& scheduled, const ir::Target& target) {
  auto nest = lower(scheduled, target);
  if (nest) return *std::move(nest);
  return Reject{Reject::kSchedule, {ErrorCode::kSchedule, nest.failure().message}};
}

}  // namespace hone::jit
