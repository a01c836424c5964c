// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "jit/x86/select/converter.h"
#include "jit/x86/select/masks.h"
#include "jit/x86/select/part.h"
#include "jit/x86/select/vectors.h"

namespace hone::jit {

/// a * b + c, - a * b + c and a * b - c, rounded once.
enum class Fused : uint8_t { kAdd, kNegatedAdd, kSub };

/// One arithmetic operation on vectors, for each type.
class LaneArithmetic final : public SelectionPart {
 public:
  LaneArithmetic(Context& context, Vectors& vectors, Masks& masks, Converter& converter)
      : SelectionPart(context), vectors_(vectors), masks_(masks), converter_(converter) {}

  Value apply(ir::Op op, const Value& a, const Value& b);
  /// Maximum or minimum of floats in which NaN wins; `number_a`, `number_b`: never NaN. The
  /// instruction gives its second operand where either is NaN, which is wrong where only the first
  /// is. So where neither is a number for sure, `b` is tested for NaN. In reductions it is not the
  /// running value, which keeps the test off the chain from step to step.
  Value extreme(ir::Op op, const Value& a, const Value& b, bool number_a, bool number_b);
  /// a op b lane by lane, as a mask; halves are compared as singles.
  Value compared(ir::Op op, const Value& a, const Value& b);
  /// The instruction overwrites one of its operands: the addend, unless that is a constant or comes
  /// from outside the loop, and a factor does not.
  Value fused(Fused kind, const Value& a, const Value& b, const Value& c);
  /// The same in place: dest += a * b.
  /// Combines `v` with `dest`, a running value of that type, in the lanes of `mask`. False, and
  /// nothing done, where no one instruction does it.
  bool combine_under(ir::Reduce reduce, Reg dest, const Value& v, Reg mask);
  void multiply_add_to(Reg dest, const Value& a, const Value& b, bool negate, Reg mask = {});
  Value combine(ir::Reduce reduce, const Value& a, const Value& b);

  /// Integers of 32 or 64 bits shifted by a count of 0 to their width - 1.
  Value shifted_by(ir::Op op, const Value& a, int count);

 private:
  /// AVX2: 64-bit integers shifted right, where the sign has to come in. The bits of negative ones
  /// are turned round before and after.
  Value shift_quads(const Value& a, const Value& count);
  /// Bytes have no product: even and odd ones by 16-bit products.
  Value multiply_bytes(const Value& a, const Value& b);
  /// AVX2: 64-bit products from 32-bit ones.
  Value multiply_quads(const Value& a, const Value& b);

  Vectors& vectors_;
  Masks& masks_;
  Converter& converter_;
};

}  // namespace hone::jit
