// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/x86/select/addresses.h"
#include "jit/x86/select/gathers.h"
#include "jit/x86/select/masks.h"
#include "jit/x86/select/part.h"
#include "jit/x86/select/streams.h"
#include "jit/x86/select/vectors.h"

namespace hone::jit {

/// Vector loads and stores of buffers in memory: whole vectors, broadcasts, parts of vectors. No
/// load touches a byte before the first or behind the last of the elements it is for, no store any
/// other.
class Memory final : public SelectionPart {
 public:
  Memory(Context& context, Addresses& addresses, Vectors& vectors, Masks& masks, Streams& streams,
         Gathers& gathers)
      : SelectionPart(context),
        addresses_(addresses),
        vectors_(vectors),
        masks_(masks),
        streams_(streams),
        gathers_(gathers) {}

  /// Lanes of elements `offset`; with `mask`, only of the lanes it holds, the others are 0.
  Value load(int buffer, const Affine& offset, Reg mask);
  Reg broadcast_load(const Mem& m, DType type, int buffer, Reg mask);
  Reg contiguous_load(const Mem& m, DType type, int buffer, Reg mask);
  /// Stores the lanes at elements `offset`. `reread`: the statement reads the buffer as well.
  void store(int buffer, const Affine& offset, const Value& value, bool reread);

 private:
  /// Stores the first `active` lanes in pieces of powers of two, without a mask; false, and nothing
  /// stored, where those are too many.
  bool store_pieces(const Mem& at, const Value& value, int active);

  Addresses& addresses_;
  Vectors& vectors_;
  Masks& masks_;
  Streams& streams_;
  Gathers& gathers_;
};

}  // namespace hone::jit
