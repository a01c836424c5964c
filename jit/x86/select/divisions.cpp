// SPDX-License-Identifier: Apache-2.0
#include "jit/x86/select/divisions.h"

#include <algorithm>
#include <bit>

namespace hone::jit {

using ir::Op;

namespace {

/// What a dividend in f32 never exceeds. A quotient is 1/b from the next whole number. Rounded by a
/// part in 2^24 of itself, it stays on its side. So it is while a + b is below 2^24, and where b is
/// larger than twice a.
/// Fixed by: f32.
constexpr int64_t kMostDividend = int64_t{1} << 22;

/// The same where it is multiplied by the inverse of a constant. That is rounded twice, and a + 1/2
/// is only 1/2b from the next multiple.
/// Fixed by: f32.
constexpr int64_t kMostMultiplied = int64_t{1} << 20;

}  // namespace

Value Divisions::divide(Op op, const Value& a, int64_t most_a, const Value& b, int64_t most_b) {
  if (size_of(a.type) == 8) return wide() ? long_quotient(op, a, b) : by_lanes(op, a, b);
  const DType real = most_a <= kMostDividend ? DType::kF32 : DType::kF64;
  const bool exact = real == DType::kF64 || most_b <= kMostDividend;
  return in_parts(real, a, b,
                  [&](const Value& x, const Value& y) { return quotient(op, real, x, y, exact); });
}

Value Divisions::divide_by(Op op, const Value& a, int64_t most_a, int64_t divisor) {
  const auto bits = static_cast<uint64_t>(divisor);
  if (std::has_single_bit(bits)) return by_power(op, a, std::countr_zero(bits));
  if (size_of(a.type) == 8) {
    return divide(op, a, most_a, vectors_.constant_bits(a.type, bits), divisor);
  }
  if (size_of(a.type) == 2 && divisor <= INT16_MAX) return short_quotient(op, a, divisor);
  const DType real = std::max(most_a, divisor) <= kMostMultiplied ? DType::kF32 : DType::kF64;
  return in_parts(real, a, a,
                  [&](const Value& x, const Value&) { return quotient_by(op, real, x, divisor); });
}

Value Divisions::by_power(Op op, const Value& a, int power) {
  const int size = size_of(a.type), w = width(a.type);
  if (op == Op::kMod) {
    return vectors_.op3(X86::vandps, a, vectors_.constant_bits(a.type, (uint64_t{1} << power) - 1));
  }
  if (power == 0) return a;
  const auto shifted = [&](X86 x) {
    return Value{code_.define(RegClass::kVec, w, x, {vreg(a.reg, w), imm(power)}), a.type, size};
  };
  if (size == 2) return shifted(X86::vpsraw);
  if (size == 4) return shifted(X86::vpsrad);
  if (size == 8 && wide()) return shifted(X86::vpsraq);
  // Without an arithmetic shift: a logical one, and the sign extended from where it is now.
  Value logical = shifted(size == 8 ? X86::vpsrlq : X86::vpsrlw);
  if (size == 1)
    logical = vectors_.op3(X86::vandps, logical, vectors_.constant_bits(a.type, 0xffu >> power));
  if (a.type == DType::kU8) return logical;
  const Value sign = vectors_.constant_bits(a.type, uint64_t{1} << (8 * size - 1 - power));
  return vectors_.op3(size == 8 ? X86::vpsubq : X86::vpsubb,
                      vectors_.op3(X86::vxorps, logical, sign), sign);
}

/// A number of 15 bits times the inverse, rounded up in 16 bits and some zeros in front, is off by
/// less than 1/divisor. A negative one is the complement of such a number, and so is its quotient.
Value Divisions::short_quotient(Op op, const Value& a, int64_t divisor) {
  const int w = width(a.type);
  const int zeros = static_cast<int>(std::bit_width(static_cast<uint64_t>(divisor))) - 1;
  const int64_t one = int64_t{1} << (16 + zeros);
  const auto inverse = static_cast<uint64_t>((one + divisor - 1) / divisor);
  const auto shifted = [&](X86 x, Reg r, int by) {
    return Value{code_.define(RegClass::kVec, w, x, {vreg(r, w), imm(by)}), a.type, 2};
  };
  const Value sign = shifted(X86::vpsraw, a.reg, 15);
  const Value high = vectors_.op3(X86::vpmulhuw, vectors_.op3(X86::vxorps, a, sign),
                                  vectors_.constant_bits(a.type, inverse));
  const Value q = vectors_.op3(X86::vxorps, shifted(X86::vpsrlw, high.reg, zeros), sign);
  if (op == Op::kDiv) return q;
  const Value whole =
      vectors_.op3(X86::vpmullw, q, vectors_.constant_bits(a.type, static_cast<uint64_t>(divisor)));
  return vectors_.op3(X86::vpsubw, a, whole);
}

Value Divisions::by_lanes(Op op, const Value& a, const Value& b) {
  const Pseudo divide = op == Op::kDiv ? Pseudo::floor_div : Pseudo::floor_mod;
  return vectors_.gprs_to_lanes(a.type, [&](int i) {
    const Reg x = vectors_.lane_to_gpr(a, i), y = vectors_.lane_to_gpr(b, i);
    return code_.define(RegClass::kGpr, 8, divide, {greg(x), greg(y)});
  });
}

/// The nearest quotient in f64 is off by some thousands at most, since a and b are below 2^63. The
/// rest of `a` is as small a multiple of `b`, and its own quotient is off by a half and a little.
/// The rest of that is less than `b`, and at most its sign is wrong. Where f64 comes to 2^63 the
/// conversion makes it MIN, which is the same number to sums and products that wrap around.
Value Divisions::long_quotient(Op op, const Value& a, const Value& b) {
  const Value y = vectors_.op2(X86::vcvtqq2pd, b, DType::kF64);
  const auto nearest = [&](const Value& x) {
    const Value real = vectors_.op2(X86::vcvtqq2pd, x, DType::kF64);
    return vectors_.op2(X86::vcvtpd2qq, vectors_.op3(X86::vdivpd, real, y), a.type);
  };
  const auto without = [&](const Value& x, const Value& q) {
    return vectors_.op3(X86::vpsubq, x, vectors_.op3(X86::vpmullq, q, b));
  };
  const Value first = nearest(a), left = without(a, first);
  const Value second = nearest(left), rest = without(left, second);
  const Value zero = vectors_.constant_bits(a.type, 0);
  const Value apart = masks_.compare(Op::kLt, vectors_.op3(X86::vpxorq, rest, b), zero);
  const Value wrong = masks_.logic(Op::kAnd, apart, masks_.compare(Op::kNe, rest, zero));
  Value result = op == Op::kDiv ? vectors_.op3(X86::vpaddq, first, second) : rest;
  const Value step = op == Op::kDiv ? vectors_.constant_bits(a.type, ~uint64_t{0}) : b;
  result = masks_.blend(wrong, vectors_.op3(X86::vpaddq, result, step), result);
  return masks_.blend(masks_.compare(Op::kNe, b, zero), result, zero);
}

template <class Part>
Value Divisions::in_parts(DType real, const Value& a, const Value& b, const Part& part) {
  if (lanes_.count * size_of(real) <= target_.vector_bytes()) return part(a, b);
  const Value high_a = vectors_.upper_half(a), high_b = vectors_.upper_half(b);
  const Lanes all = lanes_;
  lanes_.count /= 2;
  lanes_.active = lanes_.count;
  lanes_.condition = {};
  const Value low = in_parts(real, a, b, part);
  const Value high = in_parts(real, high_a, high_b, part);
  lanes_ = all;
  return vectors_.joined(low, high);
}

Value Divisions::quotient(Op op, DType real, const Value& a, const Value& b, bool exact) {
  const Value x = converter_.converted(a, real), y = converter_.converted(b, real);
  const Value zero = vectors_.constant_bits(real, 0);
  const X86 divide = real == DType::kF64 ? X86::vdivpd : X86::vdivps;
  const Value q = floor(vectors_.op3(divide, x, y));
  const Value divides = masks_.compare(Op::kNe, y, zero);
  if (op == Op::kMod && !exact) {
    const Value product = vectors_.op3(X86::vpmulld, whole(q, b.type), b);
    const Value rest = vectors_.op3(X86::vpsubd, a, product);
    return masks_.blend(divides, rest, vectors_.constant_bits(a.type, 0));
  }
  const Value result = op == Op::kDiv ? q : rest(x, q, y);
  return whole(masks_.blend(divides, result, zero), a.type);
}

/// (a + 1/2) / b is at least 1/2b from the whole numbers, and twice rounded it stays on its side.
Value Divisions::quotient_by(Op op, DType real, const Value& a, int64_t divisor) {
  const bool eight = real == DType::kF64;
  const int w = width(real);
  const auto constant = [&](double value) {
    return vectors_.constant_bits(real, bits_of(real, value, 0));
  };
  const double inverse =
      eight ? 1.0 / static_cast<double>(divisor) : double{1.0f / static_cast<float>(divisor)};
  const Value x = converter_.converted(a, real);
  const Reg shifted =
      code_.update(RegClass::kVec, w, x.reg, eight ? X86::vfmadd213pd : X86::vfmadd213ps,
                   {vreg(constant(inverse).reg, w), vreg(constant(inverse / 2).reg, w)});
  const Value q = floor({shifted, real, size_of(real)});
  if (op == Op::kDiv) return whole(q, a.type);
  return whole(rest(x, q, constant(static_cast<double>(divisor))), a.type);
}

Value Divisions::rest(const Value& x, const Value& q, const Value& y) {
  const int w = width(x.type);
  const X86 op = x.type == DType::kF64 ? X86::vfnmadd231pd : X86::vfnmadd231ps;
  return {code_.update(RegClass::kVec, w, x.reg, op, {vreg(q.reg, w), vreg(y.reg, w)}), x.type,
          size_of(x.type)};
}

Value Divisions::floor(const Value& x) {
  // Fixed by: x86.
  constexpr int kDownQuietly = 9;
  const bool eight = x.type == DType::kF64;
  const X86 op = wide() ? (eight ? X86::vrndscalepd : X86::vrndscaleps)
                        : (eight ? X86::vroundpd : X86::vroundps);
  const int w = width(x.type);
  return {code_.define(RegClass::kVec, w, op, {vreg(x.reg, w), imm(kDownQuietly)}), x.type,
          size_of(x.type)};
}

Value Divisions::whole(const Value& x, DType to) {
  // 2^31 is beyond, and becomes MIN, as it is to.
  const X86 op = x.type == DType::kF64 ? X86::vcvttpd2dq : X86::vcvttps2dq;
  return converter_.converted(vectors_.op2(op, x, DType::kI32), to);
}

}  // namespace hone::jit
