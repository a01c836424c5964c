// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "jit/x86/select/addresses.h"
#include "jit/x86/select/masks.h"
#include "jit/x86/select/part.h"
#include "jit/x86/select/spreads.h"
#include "jit/x86/select/vectors.h"

namespace hone::jit {

/// Elements that do not lie together, one by one or by a gather under a mask.
class Gathers final : public SelectionPart {
 public:
  Gathers(Context& context, Addresses& addresses, Vectors& vectors, Masks& masks, Spreads& spreads)
      : SelectionPart(context),
        addresses_(addresses),
        vectors_(vectors),
        masks_(masks),
        spreads_(spreads) {}

  /// A vector of elements at addresses of their own: 16 bytes at a time, element after element.
  Value assembled(int buffer, const std::function<Mem(int)>& address_of);
  Value load_strided(int buffer, const Affine& first, const Affine& stride, Reg mask);
  /// A vector of elements at offsets of their own, by shuffles where they lie near together.
  Value load_each(int buffer, const std::vector<Affine>& offsets);
  /// True where elements so far apart can be read of some lanes only.
  bool gathers_under_mask(int size, int64_t stride) const;
  void store_strided(int buffer, const Affine& first, const Affine& stride, const Value& value);

 private:
  /// AVX-512: elements `stride` apart, of the lanes in the mask; the others are 0.
  Value gathered(int buffer, const Affine& first, int64_t stride, Reg mask);

  Addresses& addresses_;
  Vectors& vectors_;
  Masks& masks_;
  Spreads& spreads_;
};

}  // namespace hone::jit
