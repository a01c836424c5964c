// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "jit/x86/select/addresses.h"
#include "jit/x86/select/indices.h"
#include "jit/x86/select/masks.h"
#include "jit/x86/select/part.h"

namespace hone::jit {

/// Elements a few apart, or in another order: the vectors from the first to the last of them, and
/// a shuffle.
class Spreads final : public SelectionPart {
 public:
  Spreads(Context& context, Indices& indices, Addresses& addresses, Masks& masks)
      : SelectionPart(context), indices_(indices), addresses_(addresses), masks_(masks) {}

  /// Every `stride`-th element from `first` on; false where a shuffle does not do it.
  bool load(int buffer, const Affine& first, int64_t stride, Value& out);
  /// Lane i: the element `places[i]` from `first`, in any order and as often as asked. False where
  /// they do not lie within one vector, or no shuffle of it does it.
  bool pick(int buffer, const Affine& first, const std::vector<int64_t>& places, Value& out);
  /// Lane i, of 32 bits: what begins at bit `places[i]` from the byte `first` on, and ends in one
  /// byte. Bits above that are any. False where the places lie too far apart.
  bool shift(int buffer, const Affine& first, const std::vector<int64_t>& places, Value& out);

  /// The first `bytes` from `first` on, and no other; an invalid register where that takes a mask
  /// that there is not.
  Reg exactly(int buffer, const Affine& first, int bytes);
  /// 16 bytes in each 16 bytes of a vector of `w` bytes.
  Reg repeated(Reg sixteen, int w);
  /// The same of the 16 bytes from `first` on.
  Reg repeated(int buffer, const Affine& first, int w);

 private:
  /// A vector of `count` with the `span` elements from `first` on, and none outside of the buffer:
  /// how many elements before `first` it begins. -1 where there is none for sure. Where it can, it
  /// begins at a multiple of vectors, as others do.
  int64_t before(int buffer, const Affine& first, int64_t span, int64_t count) const;
  /// Where whole structures of `stride` elements lie in the buffer; false where they do not, or are
  /// not worth their shuffles.
  bool load_structures(int buffer, const Affine& first, int64_t stride, Value& out);
  /// Of every `stride`-th element, `count` of them from `first` on: how many elements before
  /// `first` the structures of `stride` begin that hold them. What reads their other elements loads
  /// the same vectors then. None where these structures may leave the buffer.
  std::optional<int64_t> within(int buffer, const Affine& first, int64_t stride,
                                int64_t count) const;
  /// Elements of a vector of `bytes` by their numbers in it.
  Reg shuffled(Reg from, int bytes, int size, const std::vector<int64_t>& places);
  /// A vector's bytes, and those of the lanes in it that shuffles move: elements, or those of one
  /// place of several structures.
  struct Lanes {
    int width = 0;
    int bytes = 0;
    int64_t turned = 0;  ///< elements of such a structure; 0: none are
    int64_t count() const { return width / bytes; }
  };
  /// Of structures of `size` lanes, the first of them at `first`: vector `number` of the lanes at
  /// `place`. A factor of the size cuts structures in pieces, which are structures as well. Equal
  /// pieces are made once for all places.
  Reg of_structures(int buffer, const Affine& first, const Lanes& lanes, int64_t size,
                    int64_t place, int64_t number);
  /// Vector `number` of the buffer from `first` on, its structures turned within 16 bytes.
  Reg turned(int buffer, const Affine& first, const Lanes& lanes, int64_t number);
  /// `bytes` after `bytes` of a vector, each at the begin of 16: by words of four bytes.
  Reg in_sixteens(Reg from, int w, int64_t bytes);
  /// Lane i: lane `place + i * stride` of `vectors` side by side, `stride` of them. It is a prime.
  Reg every(const Lanes& lanes, int64_t stride, int64_t place, const std::vector<Reg>& vectors);
  /// `low` with lanes of its own and of `high` by their numbers, those of `high` after its own.
  Reg merged(const Lanes& lanes, Reg low, Reg high, const std::vector<int64_t>& sources);
  /// AVX-512: the vectors from the first to the last element, the last of them ending with it,
  /// merged by shuffles of two.
  Reg spread_wide(int buffer, const Affine& first, int64_t stride);
  /// Of one or two bytes: 16 bytes of lanes at a time. False where that takes a mask that there is
  /// not.
  bool spread_bytes(int buffer, const Affine& first, int64_t stride, Value& out);
  /// `count` elements as the low bytes of 16: shuffles of each 16 bytes that have some of them.
  Reg spread_sixteen(int buffer, const Affine& first, int64_t stride, int count);
  /// Registers side by side, `bytes` of each. What is past the last of them may be anything.
  Reg joined(std::vector<Reg> parts, int bytes);
  /// AVX-512: bytes that are the first of words of 2, 4 or 8: what converting those to bytes
  /// leaves.
  Reg low_bytes(int buffer, const Affine& first, int word);
  /// AVX2: of each half of `low` and `high` the elements that `choice` says, halves in order.
  Reg by_halves(const Lanes& lanes, Reg low, Reg high, int choice);
  /// AVX2: every second element, from two vectors. The second begins with the last element of the
  /// first, so that it ends with the last element wanted.
  Reg every_second(int buffer, const Affine& first);

  Indices& indices_;
  Addresses& addresses_;
  Masks& masks_;
};

}  // namespace hone::jit
