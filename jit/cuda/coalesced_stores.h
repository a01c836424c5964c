// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "jit/cuda/vector_access.h"
#include "jit/ir/facts.h"
#include "jit/ir/nest.h"

namespace hone::jit {

/// Lanes per quad: four neighbours hold one word each of a row's 16 bytes, in each of four rounds.
/// Fixed by: four words in 16 bytes.
inline constexpr int64_t kQuadLanes = 4;

/// Stores that can be transposed within a quad. Four neighbouring lanes write neighbouring words,
/// and their next round lies behind. After an exchange each lane writes all four words of one of
/// four rounds: 16 bytes.
struct CoalescedStores {
  std::vector<const ir::ForStmt*> around;  ///< loops, outermost first
  const ir::ForStmt* rounds = nullptr;     ///< the innermost, over rounds
  VectorLanes words;                       ///< elements of a word
  const ir::StoreStmt* store = nullptr;
};

/// The stores that are all of the body of `lanes`, a loop over threads along x; nothing where it is
/// something else.
std::optional<CoalescedStores> coalesced_stores(const ir::Nest& nest, const ir::ForStmt& lanes,
                                                const ir::Facts& facts);

}  // namespace hone::jit
