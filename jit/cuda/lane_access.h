// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "jit/cuda/kernel_part.h"
#include "jit/cuda/vector_access.h"

namespace hone::jit {

/// What the lanes of a vector loop access side by side, as accesses of several elements.
class LaneAccess final : public KernelPart {
 public:
  explicit LaneAccess(KernelContext& context) : KernelPart(context) {}

  int64_t width(int buffer, const ir::Expr& offset, const VectorLanes& lanes) const;
  bool any_wide(const ir::Stmt& s, const VectorLanes& lanes) const;
  std::string store_of(const ir::StoreStmt& s, int64_t wide) const;
  std::string print_address(int buffer, const ir::Expr& offset, const VectorLanes& lanes) const;
  void emit_each_lane(const VectorLanes& lanes, const Print& f);
  void emit_lane_values(const ir::StoreStmt& s, const VectorLanes& lanes, const std::string& out);
  void hold_loads(const ir::Expr& value, const VectorLanes& lanes);

 private:
  bool in_memory(int buffer) const;
  std::string in_lane(const std::string& vector, const VectorLanes& lanes) const;
  std::string loaded(int buffer, const ir::Expr& offset, int64_t wide, const VectorLanes& lanes,
                     const std::string& inside);
};

}  // namespace hone::jit
