// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "jit/ir/facts.h"
#include "jit/ir/nest.h"

namespace hone::jit {

/// Bytes of a GPU's longest access to memory.
/// Fixed by: CUDA.
inline constexpr int64_t kLongestAccess = 16;

/// A vector loop whose lanes are `count` iterations from `begin` on.
struct VectorLanes {
  int loop = -1;
  ir::Expr begin;
  int64_t count = 0;
};

/// `e` as lane 0 has it.
ir::Expr in_first_lane(const ir::Expr& e, const VectorLanes& lanes);

/// Elements that one access takes where all lanes access `buffer` at `offset`, neighbours in
/// neighbouring lanes. It divides the number of lanes and has 16 bytes at most. It is 1 where lanes
/// are not neighbours, or where no larger alignment of the address is proved.
int64_t access_width(const ir::NestBuffer& buffer, const ir::Expr& offset, const VectorLanes& lanes,
                     const ir::Facts& facts);

/// True when `condition` provably is the same in all lanes.
bool is_uniform(const ir::Expr& condition, const VectorLanes& lanes, const ir::Facts& facts);

}  // namespace hone::jit
