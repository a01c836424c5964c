// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "jit/x86/select/addresses.h"
#include "jit/x86/select/indices.h"
#include "jit/x86/select/part.h"
#include "jit/x86/select/vectors.h"

namespace hone::jit {

/// Interleaved stores: an unrolled loop spreads them over lanes, and together they leave no gap.
/// The vectors are interleaved in registers and stored whole.
///   vec n: unroll k in 0..4: P[4*n + k] = B[k,n]
class GroupStores final : public SelectionPart {
 public:
  GroupStores(Context& context, Indices& indices, Addresses& addresses, Vectors& vectors)
      : SelectionPart(context), indices_(indices), addresses_(addresses), vectors_(vectors) {}

  /// Whether the loop's one store fills groups of `extent` elements, lane after lane; `first`
  /// becomes where they begin. Not of a scan: its lanes read what those before them stored.
  bool fills(const ir::ForStmt& s, const Affine& begin, int64_t extent, Affine& first);
  /// Emits such a loop.
  void store(const ir::ForStmt& s, const Affine& begin, int64_t extent, const Affine& first);

 private:
  /// Elements of `size` bytes of two to four registers of 16 bytes, in turn.
  std::vector<Reg> interleaved(const std::vector<Reg>& rows, int size);
  std::vector<Reg> interleaved_by_bytes(const std::vector<Reg>& rows, int size);

  Indices& indices_;
  Addresses& addresses_;
  Vectors& vectors_;
};

}  // namespace hone::jit
