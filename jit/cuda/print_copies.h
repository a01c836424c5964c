// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/cuda/kernel_part.h"
#include "jit/cuda/lane_access.h"

namespace hone::jit {

/// Asynchronous copies into shared memory (cp.async).
class CopyPrinter final : public KernelPart {
 public:
  CopyPrinter(KernelContext& context, LaneAccess& lane_access)
      : KernelPart(context), lane_access_(lane_access) {}

  bool emit_copies(const ir::StoreStmt& s, const VectorLanes* lanes);

 private:
  int64_t copied_at_once(const ir::StoreStmt& s, const VectorLanes* lanes) const;

  LaneAccess& lane_access_;
};

}  // namespace hone::jit
