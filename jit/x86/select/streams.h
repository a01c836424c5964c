// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/x86/select/addresses.h"
#include "jit/x86/select/indices.h"
#include "jit/x86/select/part.h"

namespace hone::jit {

/// Non-temporal stores: whole vectors at addresses that are multiples of their size.
class Streams final : public SelectionPart {
 public:
  Streams(Context& context, Indices& indices, Addresses& addresses)
      : SelectionPart(context), indices_(indices), addresses_(addresses) {}

  /// Buffers that the statement streams to.
  uint64_t streamed_by(const ir::Stmt& s) const;
  /// Jumps where one of the buffers does not start at a multiple of the vector's size.
  void branch_unless_aligned(uint64_t buffers, int label);
  /// Stores a whole vector past the caches; false where it has to be an ordinary store.
  bool store(int buffer, const Affine& first, const Mem& m, Reg reg, int bytes);
  /// From here on: whether the version for aligned tensors is emitted.
  void stream(bool streaming) { streaming_ = streaming; }

 private:
  /// Alignment of the element within its buffer: its distance in bytes from the start is always a
  /// multiple. At most the vector's size.
  int64_t alignment_of(int buffer, const Affine& offset) const;

  Indices& indices_;
  Addresses& addresses_;
  bool streaming_ = false;
};

}  // namespace hone::jit
