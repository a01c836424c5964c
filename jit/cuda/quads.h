// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "jit/cuda/vector_access.h"
#include "jit/ir/facts.h"
#include "jit/ir/nest.h"

namespace hone::jit {

/// Lanes of which each holds a part of a row, and with so many rounds all of it.
inline constexpr int64_t kQuad = 4;

/// Stores in which four neighbouring lanes write neighbouring words, and what they write in the
/// next round lies behind: a lane can write what all four have of one of four rounds, 16 bytes.
struct QuadStores {
  std::vector<const ir::ForStmt*> around;  ///< loops, outermost first
  const ir::ForStmt* rounds = nullptr;     ///< the innermost, over rounds
  VectorLanes words;                       ///< elements of a word
  const ir::StoreStmt* store = nullptr;
};

/// The stores that are all of the body of `lanes`, a loop over threads along x; nothing where it is
/// something else.
std::optional<QuadStores> quad_stores(const ir::Nest& nest, const ir::ForStmt& lanes,
                                      const ir::Facts& facts);

}  // namespace hone::jit
