// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "jit/x86/select/converter.h"
#include "jit/x86/select/masks.h"
#include "jit/x86/select/part.h"
#include "jit/x86/select/vectors.h"

namespace hone::jit {

/// Floor divisions of integer lanes and their remainders: x/0 and x%0 are 0, MIN/-1 is MIN. There
/// is no instruction for them, but floats have one. Integers of some 22 bits are divided in f32,
/// those of 32 bits in f64. Rounding is below the distance to the next whole number there. Those of
/// 64 bits are divided twice, where a machine converts them.
class Divisions final : public SelectionPart {
 public:
  Divisions(Context& context, Vectors& vectors, Masks& masks, Converter& converter)
      : SelectionPart(context), vectors_(vectors), masks_(masks), converter_(converter) {}

  /// `op` is kDiv or kMod. `most_a`, `most_b`: what the operands' absolute values never exceed.
  Value divide(ir::Op op, const Value& a, int64_t most_a, const Value& b, int64_t most_b);
  /// The same by a constant above 0.
  Value divide_by(ir::Op op, const Value& a, int64_t most_a, int64_t divisor);

 private:
  /// By 2^power: a shift, or a mask.
  Value by_power(ir::Op op, const Value& a, int power);
  /// 16-bit integers by a constant that is no power of two.
  Value short_quotient(ir::Op op, const Value& a, int64_t divisor);
  /// 64-bit integers: what a first quotient leaves is divided again.
  Value long_quotient(ir::Op op, const Value& a, const Value& b);
  /// The same lane by lane.
  Value by_lanes(ir::Op op, const Value& a, const Value& b);
  /// In as many parts as vectors of type `real` have all lanes; `part` does one of them.
  template <class Part>
  Value in_parts(DType real, const Value& a, const Value& b, const Part& part);
  /// `exact`: `real` has every value of `b`.
  Value quotient(ir::Op op, DType real, const Value& a, const Value& b, bool exact);
  Value quotient_by(ir::Op op, DType real, const Value& a, int64_t divisor);
  /// `x` minus the product of `q` and `y`, exact.
  Value rest(const Value& x, const Value& q, const Value& y);
  Value floor(const Value& x);
  /// Floats that are whole numbers as integers: their low bits.
  Value whole(const Value& x, DType to);

  Vectors& vectors_;
  Masks& masks_;
  Converter& converter_;
};

}  // namespace hone::jit
