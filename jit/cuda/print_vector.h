// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/cuda/kernel_part.h"
#include "jit/cuda/lane_access.h"
#include "jit/cuda/print_copies.h"

namespace hone::jit {

/// Vector loops.
class VectorPrinter final : public KernelPart {
 public:
  VectorPrinter(KernelContext& context, LaneAccess& lane_access, CopyPrinter& copies)
      : KernelPart(context), lane_access_(lane_access), copies_(copies) {}

  void emit_vector(const ir::ForStmt& s, ThreadScope& scope);

  // print_coalesced_stores.cpp: what neighbouring lanes store side by side
  bool emit_coalesced_stores(const ir::ForStmt& s, const ThreadScope& scope);

 private:
  void emit_lanes(const ir::Stmt& s, const VectorLanes& lanes, ThreadScope& scope);
  void emit_lane_store(const ir::StoreStmt& s, const VectorLanes& lanes);

  LaneAccess& lane_access_;
  CopyPrinter& copies_;
};

}  // namespace hone::jit
