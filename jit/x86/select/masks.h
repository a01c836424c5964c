// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/x86/select/part.h"
#include "jit/x86/select/vectors.h"

namespace hone::jit {

/// Bools in vectors: mask registers on AVX-512, lanes of all ones or zeros elsewhere. A mask of
/// element 0 is the same in all lanes and of any element size.
class Masks final : public SelectionPart {
 public:
  Masks(Context& context, Vectors& vectors) : SelectionPart(context), vectors_(vectors) {}

  /// AVX-512: the lanes that exist and, inside a branch on lanes, that take it.
  Reg active();
  /// AVX-512 mask of the first `count` lanes.
  Reg lane_bits(int count);
  Value uniform(bool on);
  Value uniform(Reg bit);
  /// The lanes before number `count`, which is in [0, lanes].
  Value prefix(Reg count);
  /// The lanes whose bits are on.
  Value of_lanes(uint64_t bits);
  int width_of(const Value& mask) const;
  /// AVX2: bytes of a mask's lane that fill a vector, at most 8.
  int widest_element() const;
  /// AVX2: the mask with lanes of another size.
  Value as_element(const Value& mask, int size);
  /// And, or, and `kNe` for exclusive or.
  Value logic(ir::Op op, const Value& x, const Value& y);
  Value negated(const Value& x);
  Value blend(const Value& mask, const Value& then, const Value& otherwise);
  Value compare(ir::Op op, const Value& a, const Value& b);
  /// The number of the first lane that is on, of those that exist; jumps to `none` where none is.
  Reg first_lane(const Value& mask, int none);
  /// Where `v` is no number, and where it is one.
  Value unordered(const Value& v);
  Value ordered(const Value& v);
  Value of_bytes(const Value& bytes);
  /// Elements of a buffer as a value: bools become masks.
  Value loaded(const Value& v, int buffer);
  /// A value as elements of a buffer: masks become bytes.
  Value stored(const Value& v);

 private:
  /// AVX-512 mask of the lanes before the one numbered by `count` (0..64).
  Reg lane_prefix(Reg count);
  /// Bytes of 1 and 0, as bools are stored.
  Value bytes_of(const Value& mask);
  Value with_itself(const Value& v, int predicate);

  Vectors& vectors_;
};

}  // namespace hone::jit
