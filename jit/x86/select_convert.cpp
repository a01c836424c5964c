// SPDX-License-Identifier: Apache-2.0
// Conversions between types. Floats to integers truncate and saturate, NaN becomes 0; integers
// wrap; everything else rounds to nearest even.
#include <algorithm>

#include "jit/x86/select_context.h"

namespace hone::jit {

using ir::Op;

Value Selector::op2(X86 op, const Value& v, DType to) {
  return {code.define(RegClass::kVec, width(to), op, {vreg(v.reg, width(v.type))}), to,
          size_of(to)};
}

Value Selector::convert(const ir::Expr& e) {
  const ir::Expr& from = e->args[0];
  const DType to = e->type;
  if (from->type == to) return value(from);
  if (from->type == DType::kI64 && !depends_on_lane(from) && steers(from)) {
    // The same in all lanes: converted once, as a scalar.
    const Reg r = gpr(affine(from));
    if (failed()) return {};
    if (is_int(to)) return splat(r, to);
    if (to == DType::kBool)
      return compare_values(Op::kNe, splat(r, DType::kI64), constant_bits(DType::kI64, 0));
    const bool exact = to == DType::kF64;
    const Reg zero = constant_bits(DType::kI32, 0).reg;
    Operand source = greg(r);
    const Reg x = code.define(RegClass::kVec, 16, exact ? X86::vcvtsi2sd : X86::vcvtsi2ss,
                              {vreg(zero, 16), source});
    const DType made = exact ? DType::kF64 : DType::kF32;
    Value v{x, made, size_of(made)};
    if (lanes_.count > 1) {
      const int w = width(made);
      // vmovddup repeats within 16 bytes what vbroadcastsd would.
      v.reg = code.define(RegClass::kVec, w, broadcast_of(size_of(made), w), {vreg(x, 16)});
    }
    return converted(v, to);
  }
  return converted(value(from), to);
}

Value Selector::converted(const Value& v, DType to) {
  if (failed() || v.type == to) return v;
  if (v.type == DType::kBool) return bits_of_mask(v, to);
  if (to == DType::kBool)
    return compare_values(
        Op::kNe, is_float(v.type) && size_of(v.type) == 2 ? to_single(v) : v,
        constant_bits(is_float(v.type) && size_of(v.type) == 2 ? DType::kF32 : v.type, 0));
  switch (to) {
    case DType::kF64:
      return to_double(v);
    case DType::kF32:
      return to_single(v);
    case DType::kF16:
      return float_to_half(to_sticky_single(v));
    case DType::kBF16:
      return float_to_bfloat(to_sticky_single(v));
    default:
      break;
  }
  if (is_float(v.type)) return float_to_integer(size_of(v.type) == 2 ? to_single(v) : v, to);
  return resize_integer(v, to);
}

Value Selector::bits_of_mask(const Value& mask, DType to) {
  const DType made =
      to == DType::kI64 && width(DType::kI64) > target_.vector_bytes() ? DType::kI32 : to;
  return blend(mask, constant_bits(made, bits_of(to, 1, 1)), constant_bits(made, 0));
}

Value Selector::to_single(const Value& v) {
  switch (v.type) {
    case DType::kF32:
      return v;
    case DType::kF64:
      return op2(X86::vcvtpd2ps, v, DType::kF32);
    case DType::kF16:
      return op2(X86::vcvtph2ps, v, DType::kF32);
    case DType::kBF16: {
      const Value u = op2(X86::vpmovzxwd, v, DType::kI32);
      const int w = width(DType::kF32);
      return {code.define(RegClass::kVec, w, X86::vpslld, {vreg(u.reg, w), imm(16)}), DType::kF32,
              4};
    }
    case DType::kI64:
      if (wide()) return op2(X86::vcvtqq2ps, v, DType::kF32);
      break;
    case DType::kI32:
      return op2(X86::vcvtdq2ps, v, DType::kF32);
    default:
      return op2(X86::vcvtdq2ps, resize_integer(v, DType::kI32), DType::kF32);
  }
  return integer_lanes_to_float(v, DType::kF32);
}

/// To be rounded once more, to 16 bits: of a double, whose low bits a single has no place for, the
/// last bit that stays is set where any of those is, so that the second rounding is the only one.
/// Denormal singles lose more bits: they are 0 in f16, and may be rounded twice in bf16.
Value Selector::to_sticky_single(const Value& v) {
  if (v.type != DType::kF64) return to_single(v);
  constexpr uint64_t kLost = (uint64_t{1} << 29) - 1;
  const Value lost = constant_bits(DType::kF64, kLost);
  const Value carry = op3(X86::vpaddq, op3(X86::vandps, v, lost), lost);
  const Value kept = constant_bits(DType::kF64, ~kLost);
  return to_single(op3(X86::vandps, op3(X86::vorps, v, carry), kept));
}

Value Selector::to_double(const Value& v) {
  switch (v.type) {
    case DType::kF64:
      return v;
    case DType::kI64:
      return wide() ? op2(X86::vcvtqq2pd, v, DType::kF64) : integer_lanes_to_float(v, DType::kF64);
    case DType::kI32:
      return op2(X86::vcvtdq2pd, v, DType::kF64);
    case DType::kF32:
      return op2(X86::vcvtps2pd, v, DType::kF64);
    case DType::kF16:
    case DType::kBF16:
      return op2(X86::vcvtps2pd, to_single(v), DType::kF64);
    default:
      return op2(X86::vcvtdq2pd, resize_integer(v, DType::kI32), DType::kF64);
  }
}

/// AVX2: 64-bit integers, lane by lane.
Value Selector::integer_lanes_to_float(const Value& v, DType to) {
  const Reg zero = constant_bits(DType::kI32, 0).reg;
  const bool exact = to == DType::kF64;
  return gprs_to_lanes(to, [&](int i) {
    const Reg r = lane_to_gpr(v, i);
    const Reg x = code.define(RegClass::kVec, 16, exact ? X86::vcvtsi2sd : X86::vcvtsi2ss,
                              {vreg(zero, 16), greg(r)});
    return exact ? code.define(RegClass::kGpr, 8, X86::vmovq, {vreg(x, 16)})
                 : code.define(RegClass::kGpr, 4, X86::vmovd, {vreg(x, 16)});
  });
}

Value Selector::float_to_half(const Value& v) {
  return {code.define(RegClass::kVec, width(DType::kF16), X86::vcvtps2ph,
                      {vreg(v.reg, width(DType::kF32)), imm(0)}),
          DType::kF16, 2};
}

/// By integer arithmetic: the instruction flushes denormals, which are values here.
Value Selector::float_to_bfloat(const Value& v) {
  const int w = width(DType::kF32);
  const auto shift = [&](X86 op, Reg x, int n) {
    return code.define(RegClass::kVec, w, op, {vreg(x, w), imm(n)});
  };
  const Value bits{v.reg, DType::kI32, 4};
  const Value odd{shift(X86::vpsrld, shift(X86::vpslld, v.reg, 15), 31), DType::kI32, 4};
  const Value bias = constant_bits(DType::kI32, 0x7fff);
  const Value sum = arithmetic(Op::kAdd, arithmetic(Op::kAdd, bits, bias), odd);
  const Value quiet = op3(X86::vorps, bits, constant_bits(DType::kI32, 0x00400000));
  const Value unordered = unordered_lanes(v);
  const Value picked = blend(unordered, quiet, sum);
  const Value high{shift(X86::vpsrld, picked.reg, 16), DType::kI32, 4};
  const Value narrow = resize_integer(high, DType::kI16);
  return {narrow.reg, DType::kBF16, 2};
}

Value Selector::unordered_lanes(const Value& v) {
  constexpr int kUnordered = 3;
  const int w = width(v.type), size = size_of(v.type);
  return {code.define(wide() ? RegClass::kMask : RegClass::kVec, w,
                      size == 4 ? X86::vcmpps : X86::vcmppd,
                      {vreg(v.reg, w), vreg(v.reg, w), imm(kUnordered)}),
          DType::kBool, size};
}

/// Limits in the float's own type where they are exact; beyond, the instruction gives MIN, which
/// positive overflow turns into MAX.
Value Selector::float_to_integer(const Value& v, DType to) {
  const Value nan = unordered_lanes(v);
  const int bits = 8 * size_of(to);
  const double most = to == DType::kU8 ? 255 : static_cast<double>((uint64_t{1} << (bits - 1)) - 1);
  const double least = to == DType::kU8 ? 0 : -static_cast<double>(uint64_t{1} << (bits - 1));
  if (to == DType::kI64) return float_to_quad(v.type == DType::kF64 ? v : to_double(v));
  Value x = v;
  const bool single = v.type == DType::kF32;
  const bool exact = !(single && to == DType::kI32);
  const Value high = constant_bits(v.type, bits_of(v.type, most, 0));
  const Value low = constant_bits(v.type, bits_of(v.type, least, 0));
  if (exact) x = op3(single ? X86::vminps : X86::vminpd, x, high);
  x = op3(single ? X86::vmaxps : X86::vmaxpd, x, low);
  Value i = op2(single ? X86::vcvttps2dq : X86::vcvttpd2dq, x, DType::kI32);
  if (!exact) {
    // `high` is 2^31 here.
    const Value over = compare_values(Op::kLe, high, v);
    i = blend(over, constant_bits(DType::kI32, 0x7fffffff), i);
  }
  i = blend(nan, constant_bits(DType::kI32, 0), i);
  return resize_integer(i, to);
}

Value Selector::float_to_quad(const Value& v) {
  const Value limit = constant_bits(DType::kF64, bits_of(DType::kF64, 0x1p63, 0));
  const Value over = compare_values(Op::kLe, limit, v);
  const Value nan = unordered_lanes(v);
  Value i;
  if (wide()) {
    i = op2(X86::vcvttpd2qq, v, DType::kI64);
  } else {
    std::vector<Reg> out;
    for (int lane = 0; lane < lanes_.count; ++lane) {
      int within = 0;
      Reg x = quarter_of(v, lane, within);
      constexpr int kHighPair = 0xee;
      if (within == 1)
        x = code.define(RegClass::kVec, 16, X86::vpshufd, {vreg(x, 16), imm(kHighPair)});
      out.push_back(code.define(RegClass::kGpr, 8, X86::vcvttsd2si, {vreg(x, 16)}));
    }
    i = gprs_to_lanes(DType::kI64, [&](int lane) { return out[static_cast<size_t>(lane)]; });
  }
  i = blend(over, constant_bits(DType::kI64, 0x7fffffffffffffff), i);
  return blend(nan, constant_bits(DType::kI64, 0), i);
}

/// Integers of another size: extended as their type says, or their low bytes.
Value Selector::resize_integer(const Value& v, DType to) {
  if (failed()) return {};
  const int from_size = size_of(v.type), size = size_of(to);
  if (from_size == size) return {v.reg, to, size};
  if (width(to) > target_.vector_bytes() || width(v.type) > target_.vector_bytes()) {
    refuse("64-bit integers do not fit the lanes of the vector loop");
    return {};
  }
  if (size > from_size) {
    const bool zero = v.type == DType::kU8;
    X86 op = X86::vpmovsxdq;
    if (from_size == 1) {
      op = size == 2   ? (zero ? X86::vpmovzxbw : X86::vpmovsxbw)
           : size == 4 ? (zero ? X86::vpmovzxbd : X86::vpmovsxbd)
                       : (zero ? X86::vpmovzxbq : X86::vpmovsxbq);
    } else if (from_size == 2) {
      op = size == 4 ? X86::vpmovsxwd : X86::vpmovsxwq;
    }
    const int source = std::max(16, width(to) * from_size / size);
    return {code.define(RegClass::kVec, width(to), op, {vreg(v.reg, source)}), to, size};
  }
  return wide() ? narrow_wide(v, to) : narrow_packed(v, to);
}

Value Selector::narrow_wide(const Value& v, DType to) {
  const int from = size_of(v.type), size = size_of(to);
  X86 op = X86::vpmovwb;
  if (from == 8) op = size == 4 ? X86::vpmovqd : size == 2 ? X86::vpmovqw : X86::vpmovqb;
  if (from == 4) op = size == 2 ? X86::vpmovdw : X86::vpmovdb;
  const int made = std::max(16, width(v.type) * size / from);
  return {code.define(RegClass::kVec, made, op, {vreg(v.reg, width(v.type))}), to, size};
}

/// AVX2: halving the size by packing, after clearing what saturation would look at.
Value Selector::narrow_packed(const Value& v, DType to) {
  Value x = v;
  while (size_of(x.type) > size_of(to)) {
    const int from = size_of(x.type), w = width(x.type);
    const DType half = from == 8 ? DType::kI32 : from == 4 ? DType::kI16 : DType::kI8;
    Value cleared = x;
    if (from < 8) cleared = op3(X86::vandps, x, constant_bits(x.type, from == 4 ? 0xffff : 0xff));
    Reg low = cleared.reg, high = cleared.reg;
    if (w == 32)
      high = code.define(RegClass::kVec, 16, X86::vextracti128, {vreg(cleared.reg, 32), imm(1)});
    constexpr int kEvenLanes = 0x88;
    const Reg packed =
        from == 8 ? code.define(RegClass::kVec, 16, X86::vshufps,
                                {vreg(low, 16), vreg(high, 16), imm(kEvenLanes)})
                  : code.define(RegClass::kVec, 16, from == 4 ? X86::vpackusdw : X86::vpackuswb,
                                {vreg(low, 16), vreg(high, 16)});
    x = {packed, half, from / 2};
  }
  return {x.reg, to, size_of(to)};
}

}  // namespace hone::jit
