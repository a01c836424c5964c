// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/x86/select/masks.h"
#include "jit/x86/select/part.h"
#include "jit/x86/select/vectors.h"

namespace hone::jit {

/// Conversions between types. Floats to integers truncate and saturate, NaN becomes 0; integers
/// wrap; everything else rounds to nearest even.
class Converter final : public SelectionPart {
 public:
  Converter(Context& context, Vectors& vectors, Masks& masks)
      : SelectionPart(context), vectors_(vectors), masks_(masks) {}

  Value converted(const Value& v, DType to);
  Value to_single(const Value& v);
  /// Integers of 16 or 32 bits, in their lanes, as a narrower integer type `to` would hold them.
  Value wrapped(const Value& v, DType to);

 private:
  Value bits_of_mask(const Value& mask, DType to);
  /// Rounds a double to a single that is then rounded to 16 bits. Where any bit is lost, the last
  /// bit that stays is set (round to odd). Only the second rounding then counts. Denormal singles
  /// lose more bits: they are 0 in f16, and may be rounded twice in bf16.
  Value to_sticky_single(const Value& v);
  Value to_double(const Value& v);
  /// AVX2: 64-bit integers, lane by lane.
  Value integer_lanes_to_float(const Value& v, DType to);
  Value float_to_half(const Value& v);
  /// By integer arithmetic: the instruction flushes denormals, which are values here.
  Value float_to_bfloat(const Value& v);
  /// By way of f16, which has the exponents of both 8-bit floats.
  Value byte_to_single(const Value& v);
  /// The float's bits, rounded as integers; where the result is denormal, rounded by adding a float
  /// whose last bit is the least of the type.
  Value float_to_byte(const Value& v, DType to);
  /// Beyond an integer's range the instruction gives the least of its type, which is right below.
  /// All above is cut before where a float says the greatest exactly, else turned after.
  Value float_to_integer(const Value& v, DType to);
  Value cut(X86 op, const Value& v, const Value& number, DType to);
  Value narrowed(const Value& v, DType to);
  Value float_to_quad(const Value& v);
  /// Integers of another size: extended as their type says, or their low bytes.
  Value resize_integer(const Value& v, DType to);
  Value narrow_wide(const Value& v, DType to);
  /// AVX2: the low bytes side by side in each half of a register, then the halves together.
  Value narrow_shuffled(const Value& v, DType to);

  Vectors& vectors_;
  Masks& masks_;
};

}  // namespace hone::jit
