// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/x86/select/addresses.h"
#include "jit/x86/select/masks.h"
#include "jit/x86/select/part.h"

namespace hone::jit {

/// Elements a few apart: whole vectors from the first to the last of them, and a shuffle.
class Spreads final : public SelectionPart {
 public:
  Spreads(Context& context, Addresses& addresses, Masks& masks)
      : SelectionPart(context), addresses_(addresses), masks_(masks) {}

  /// Every `stride`-th element from `first` on; false where a shuffle does not do it.
  bool load(int buffer, const Affine& first, int64_t stride, Value& out);

 private:
  /// AVX-512: the vectors from the first to the last element, the last of them ending with it,
  /// merged by shuffles of two.
  Reg spread_wide(int buffer, const Affine& first, int64_t stride);
  /// AVX2: every second element, from two vectors. The second begins with the last element of the
  /// first, so that it ends with the last element wanted.
  Reg every_second(int buffer, const Affine& first);

  Addresses& addresses_;
  Masks& masks_;
};

}  // namespace hone::jit
