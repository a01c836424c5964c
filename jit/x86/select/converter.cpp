// SPDX-License-Identifier: Apache-2.0
#include "jit/x86/select/converter.h"

#include <algorithm>

namespace hone::jit {

using ir::Op;

Value Converter::converted(const Value& v, DType to) {
  if (v.type == to) return v;
  if (v.type == DType::kBool) return bits_of_mask(v, to);
  if (to == DType::kBool) {
    const Value number = is_narrow_float(v.type) ? to_single(v) : v;
    return masks_.compare(Op::kNe, number, vectors_.constant_bits(number.type, 0));
  }
  switch (to) {
    case DType::kF64:
      return to_double(v);
    case DType::kF32:
      return to_single(v);
    case DType::kF16:
      return float_to_half(to_sticky_single(v));
    case DType::kBF16:
      return float_to_bfloat(to_sticky_single(v));
    case DType::kF8E4M3:
    case DType::kF8E5M2:
      return float_to_byte(to_sticky_single(v), to);
    default:
      break;
  }
  if (is_float(v.type)) return float_to_integer(is_narrow_float(v.type) ? to_single(v) : v, to);
  return resize_integer(v, to);
}

Value Converter::bits_of_mask(const Value& mask, DType to) {
  const DType made =
      to == DType::kI64 && width(DType::kI64) > target_.vector_bytes() ? DType::kI32 : to;
  return masks_.blend(mask, vectors_.constant_bits(made, bits_of(to, 1, 1)),
                      vectors_.constant_bits(made, 0));
}

Value Converter::to_single(const Value& v) {
  switch (v.type) {
    case DType::kF32:
      return v;
    case DType::kF64:
      return vectors_.op2(X86::vcvtpd2ps, v, DType::kF32);
    case DType::kF16:
      return vectors_.op2(X86::vcvtph2ps, v, DType::kF32);
    case DType::kBF16: {
      const Value u = vectors_.op2(X86::vpmovzxwd, v, DType::kI32);
      const int w = width(DType::kF32);
      return {code_.define(RegClass::kVec, w, X86::vpslld, {vreg(u.reg, w), imm(16)}), DType::kF32,
              4};
    }
    case DType::kF8E4M3:
    case DType::kF8E5M2:
      return byte_to_single(v);
    case DType::kI64:
      if (wide()) return vectors_.op2(X86::vcvtqq2ps, v, DType::kF32);
      break;
    case DType::kI32:
      return vectors_.op2(X86::vcvtdq2ps, v, DType::kF32);
    default:
      return vectors_.op2(X86::vcvtdq2ps, resize_integer(v, DType::kI32), DType::kF32);
  }
  return integer_lanes_to_float(v, DType::kF32);
}

Value Converter::to_sticky_single(const Value& v) {
  if (v.type != DType::kF64) return to_single(v);
  // Fixed by: the formats of f32 and f64.
  constexpr uint64_t kLost = (uint64_t{1} << 29) - 1;
  const Value lost = vectors_.constant_bits(DType::kF64, kLost);
  const Value carry = vectors_.op3(X86::vpaddq, vectors_.op3(X86::vandps, v, lost), lost);
  const Value kept = vectors_.constant_bits(DType::kF64, ~kLost);
  return to_single(vectors_.op3(X86::vandps, vectors_.op3(X86::vorps, v, carry), kept));
}

Value Converter::to_double(const Value& v) {
  switch (v.type) {
    case DType::kF64:
      return v;
    case DType::kI64:
      return wide() ? vectors_.op2(X86::vcvtqq2pd, v, DType::kF64)
                    : integer_lanes_to_float(v, DType::kF64);
    case DType::kI32:
      return vectors_.op2(X86::vcvtdq2pd, v, DType::kF64);
    case DType::kF32:
      return vectors_.op2(X86::vcvtps2pd, v, DType::kF64);
    case DType::kF16:
    case DType::kBF16:
    case DType::kF8E4M3:
    case DType::kF8E5M2:
      return vectors_.op2(X86::vcvtps2pd, to_single(v), DType::kF64);
    default:
      return vectors_.op2(X86::vcvtdq2pd, resize_integer(v, DType::kI32), DType::kF64);
  }
}

Value Converter::integer_lanes_to_float(const Value& v, DType to) {
  const Reg zero = vectors_.constant_bits(DType::kI32, 0).reg;
  const bool exact = to == DType::kF64;
  return vectors_.gprs_to_lanes(to, [&](int i) {
    const Reg r = vectors_.lane_to_gpr(v, i);
    const Reg x = code_.define(RegClass::kVec, 16, exact ? X86::vcvtsi2sd : X86::vcvtsi2ss,
                               {vreg(zero, 16), greg(r)});
    return exact ? code_.define(RegClass::kGpr, 8, X86::vmovq, {vreg(x, 16)})
                 : code_.define(RegClass::kGpr, 4, X86::vmovd, {vreg(x, 16)});
  });
}

Value Converter::float_to_half(const Value& v) {
  return {code_.define(RegClass::kVec, width(DType::kF16), X86::vcvtps2ph,
                       {vreg(v.reg, width(DType::kF32)), imm(0)}),
          DType::kF16, 2};
}

Value Converter::float_to_bfloat(const Value& v) {
  const int w = width(DType::kF32);
  const auto shift = [&](X86 op, Reg x, int n) {
    return code_.define(RegClass::kVec, w, op, {vreg(x, w), imm(n)});
  };
  const Value bits{v.reg, DType::kI32, 4};
  const Value odd{shift(X86::vpsrld, shift(X86::vpslld, v.reg, 15), 31), DType::kI32, 4};
  const Value bias = vectors_.constant_bits(DType::kI32, 0x7fff);
  const Value sum = vectors_.op3(X86::vpaddd, vectors_.op3(X86::vpaddd, bits, bias), odd);
  const Value quiet =
      vectors_.op3(X86::vorps, bits, vectors_.constant_bits(DType::kI32, 0x00400000));
  const Value unordered = masks_.unordered(v);
  const Value picked = masks_.blend(unordered, quiet, sum);
  const Value high{shift(X86::vpsrld, picked.reg, 16), DType::kI32, 4};
  const Value narrow = resize_integer(high, DType::kI16);
  return {narrow.reg, DType::kBF16, 2};
}

Value Converter::byte_to_single(const Value& v) {
  const bool e5m2 = v.type == DType::kF8E5M2;
  const Value byte{v.reg, e5m2 ? DType::kU8 : DType::kI8, 1};
  const Value word = resize_integer(byte, DType::kI16);
  const int w = width(DType::kF16);
  const auto up = [&](const Value& x, int n) {
    return Value{code_.define(RegClass::kVec, w, X86::vpsllw, {vreg(x.reg, w), imm(n)}),
                 DType::kI16, 2};
  };
  const auto words = [&](uint64_t bits) { return vectors_.constant_bits(DType::kI16, bits); };
  if (e5m2) return to_single({up(word, 8).reg, DType::kF16, 2});
  // Exponent and mantissa of 0x7f are all ones: one more reaches the exponent's first bit in f16,
  // and makes a NaN of it. The exponent's bias is smaller there by 8.
  const Value first = words(0x4000);
  const Value number = vectors_.op3(X86::vandnps, first, up(word, 7));
  const Value next = vectors_.op3(X86::vpaddw, number, words(0x80));
  Value bits = number;
  if (wide()) {
    // Fixed by: x86. The first operand, or the others' common bits.
    constexpr int kOrAnd = 0xf8;
    bits.reg = code_.update(RegClass::kVec, w, number.reg, X86::vpternlogd,
                            {vreg(next.reg, w), vreg(first.reg, w), imm(kOrAnd)});
  } else {
    bits = vectors_.op3(X86::vorps, number, vectors_.op3(X86::vandps, next, first));
  }
  const Value single = to_single({bits.reg, DType::kF16, 2});
  return vectors_.op3(X86::vmulps, single,
                      vectors_.constant_bits(DType::kF32, bits_of(DType::kF32, 0x1p8, 0)));
}

Value Converter::float_to_byte(const Value& v, DType to) {
  // Fixed by: the formats.
  const bool e5m2 = to == DType::kF8E5M2;
  const int mantissa = e5m2 ? 2 : 3, bias = e5m2 ? 15 : 7, away = 23 - mantissa;
  const uint64_t most = e5m2 ? 0x7c : 0x7e, nan = e5m2 ? 0x7e : 0x7f;
  const float least = e5m2 ? 0x1p-16f : 0x1p-9f;
  const int w = width(DType::kF32);
  const auto shift = [&](X86 op, const Value& x, int n) {
    return Value{code_.define(RegClass::kVec, w, op, {vreg(x.reg, w), imm(n)}), DType::kI32, 4};
  };
  const auto whole = [&](uint64_t x) { return vectors_.constant_bits(DType::kI32, x); };
  const Value bits{v.reg, DType::kI32, 4};
  const Value magnitude = vectors_.op3(X86::vandps, bits, whole(0x7fffffff));
  const Value odd = vectors_.op3(X86::vandps, shift(X86::vpsrld, magnitude, away), whole(1));
  const Value half = whole((uint64_t{1} << (away - 1)) - 1);
  const Value sum = vectors_.op3(X86::vpaddd, vectors_.op3(X86::vpaddd, magnitude, half), odd);
  const Value normal = vectors_.op3(X86::vpsubd, shift(X86::vpsrld, sum, away),
                                    whole(static_cast<uint64_t>(127 - bias) << mantissa));
  const uint64_t unit = bits_of(DType::kF32, least * 0x1p23, 0);
  const Value at{magnitude.reg, DType::kF32, 4};
  const Value added = vectors_.op3(X86::vaddps, at, vectors_.constant_bits(DType::kF32, unit));
  const Value denormal = vectors_.op3(X86::vpsubd, {added.reg, DType::kI32, 4}, whole(unit));
  const Value first = whole(static_cast<uint64_t>(128 - bias) << 23);  // the least normal number
  Value code = masks_.blend(masks_.compare(Op::kLt, magnitude, first), denormal, normal);
  code = vectors_.op3(X86::vpminsd, code, whole(most));
  code = masks_.blend(masks_.unordered(v), whole(nan), code);
  const Value sign = vectors_.op3(X86::vandps, shift(X86::vpsrld, bits, 24), whole(0x80));
  const Value narrow = resize_integer(vectors_.op3(X86::vorps, code, sign), DType::kI8);
  return {narrow.reg, to, 1};
}

/// Lanes as integers cut towards zero, 0 where `v` is no number. All that is outside of them
/// becomes the least, as instructions give it.
Value Converter::cut(X86 op, const Value& v, const Value& number, DType to) {
  if (wide()) {
    return {code_.define(RegClass::kVec, width(to), op, {vreg(v.reg, width(v.type))}, number.reg,
                         /*zeroing=*/true),
            to, size_of(to)};
  }
  return vectors_.op3(X86::vandps, vectors_.op2(op, v, to),
                      {masks_.as_element(number, size_of(to)).reg, to, size_of(to)});
}

Value Converter::float_to_integer(const Value& v, DType to) {
  if (to == DType::kI64) return float_to_quad(v.type == DType::kF64 ? v : to_double(v));
  const bool single = v.type == DType::kF32;
  const X86 cuts = single ? X86::vcvttps2dq : X86::vcvttpd2dq;
  const auto number = [&](double x) {
    return vectors_.constant_bits(v.type, bits_of(v.type, x, 0));
  };
  const auto at_most = [&](const Value& x, double most) {
    return vectors_.op3(single ? X86::vminps : X86::vminpd, x, number(most));
  };
  const auto at_least = [&](const Value& x, double least) {
    return vectors_.op3(single ? X86::vmaxps : X86::vmaxpd, x, number(least));
  };
  const int bits = 8 * size_of(to);
  const double most = static_cast<double>((uint64_t{1} << (bits - 1)) - 1);
  if (to == DType::kU8) {
    // What is no number becomes the second operand, as the greater of two.
    Value x = at_least(v, 0);
    if (!wide()) x = at_most(x, 255);
    return narrowed(vectors_.op2(cuts, x, DType::kI32), to);
  }
  const Value is_number = masks_.ordered(v);
  if (bits < 32) {
    Value x = at_most(v, most);
    if (!wide()) x = at_least(x, -most - 1);
    return narrowed(cut(cuts, x, is_number, DType::kI32), to);
  }
  if (!single) {
    const Value x = at_most(v, most);
    return cut(cuts, wide() ? x : at_least(x, -most - 1), is_number, to);
  }
  // 2^31 is a float, one less is none. The least integer is the greatest with all bits turned.
  const Value over = masks_.compare(Op::kLe, number(most), v);
  const Value i = cut(cuts, v, is_number, to);
  if (wide()) return masks_.blend(over, vectors_.constant_bits(to, 0x7fffffff), i);
  return vectors_.op3(X86::vxorps, i, {over.reg, to, 4});
}

/// Integers of 32 bits as shorter ones: with AVX-512 those outside become the nearest.
Value Converter::narrowed(const Value& v, DType to) {
  if (!wide()) return resize_integer(v, to);
  const X86 op = to == DType::kU8   ? X86::vpmovusdb
                 : size_of(to) == 1 ? X86::vpmovsdb
                                    : X86::vpmovsdw;
  const int made = std::max(16, width(v.type) * size_of(to) / 4);
  return {code_.define(RegClass::kVec, made, op, {vreg(v.reg, width(v.type))}), to, size_of(to)};
}

Value Converter::float_to_quad(const Value& v) {
  const Value limit = vectors_.constant_bits(DType::kF64, bits_of(DType::kF64, 0x1p63, 0));
  const Value over = masks_.compare(Op::kLe, limit, v), is_number = masks_.ordered(v);
  if (wide()) {
    const Value greatest = vectors_.constant_bits(DType::kI64, 0x7fffffffffffffff);
    return masks_.blend(over, greatest, cut(X86::vcvttpd2qq, v, is_number, DType::kI64));
  }
  std::vector<Reg> out;
  for (int lane = 0; lane < lanes_.count; ++lane) {
    int within = 0;
    Reg x = vectors_.quarter_of(v, lane, within);
    // Fixed by: x86.
    constexpr int kHighPair = 0xee;
    if (within == 1)
      x = code_.define(RegClass::kVec, 16, X86::vpshufd, {vreg(x, 16), imm(kHighPair)});
    out.push_back(code_.define(RegClass::kGpr, 8, X86::vcvttsd2si, {vreg(x, 16)}));
  }
  const Value i =
      vectors_.gprs_to_lanes(DType::kI64, [&](int lane) { return out[static_cast<size_t>(lane)]; });
  const Value numbers = vectors_.op3(X86::vandps, i, {is_number.reg, DType::kI64, 8});
  return vectors_.op3(X86::vxorps, numbers, {over.reg, DType::kI64, 8});
}

Value Converter::resize_integer(const Value& v, DType to) {
  const int from_size = size_of(v.type), size = size_of(to);
  if (from_size == size) return {v.reg, to, size};
  if (width(to) > target_.vector_bytes() || width(v.type) > target_.vector_bytes()) {
    refuse("64-bit integers do not fit the lanes of the vector loop");
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
    return {code_.define(RegClass::kVec, width(to), op, {vreg(v.reg, source)}), to, size};
  }
  return wide() ? narrow_wide(v, to) : narrow_shuffled(v, to);
}

Value Converter::narrow_wide(const Value& v, DType to) {
  const int from = size_of(v.type), size = size_of(to);
  X86 op = X86::vpmovwb;
  if (from == 8) op = size == 4 ? X86::vpmovqd : size == 2 ? X86::vpmovqw : X86::vpmovqb;
  if (from == 4) op = size == 2 ? X86::vpmovdw : X86::vpmovdb;
  const int made = std::max(16, width(v.type) * size / from);
  return {code_.define(RegClass::kVec, made, op, {vreg(v.reg, width(v.type))}), to, size};
}

Value Converter::narrow_shuffled(const Value& v, DType to) {
  if (size_of(v.type) == 8) {
    Reg high = v.reg;
    if (width(v.type) == 32) {
      high = code_.define(RegClass::kVec, 16, X86::vextracti128, {vreg(v.reg, 32), imm(1)});
    }
    // Fixed by: x86.
    constexpr int kEvenLanes = 0x88;
    const Reg packed = code_.define(RegClass::kVec, 16, X86::vshufps,
                                    {vreg(v.reg, 16), vreg(high, 16), imm(kEvenLanes)});
    const Value half{packed, DType::kI32, 4};
    return size_of(to) == 4 ? Value{packed, to, 4} : narrow_shuffled(half, to);
  }
  const int from = size_of(v.type), size = size_of(to), w = std::max(16, width(v.type));
  // In each 16 bytes the bytes that stay come first.
  std::vector<uint8_t> order(static_cast<size_t>(w), 0x80);
  for (int i = 0; i < w; ++i) {
    const int lane = i % 16 / size;
    if (lane * from < 16)
      order[static_cast<size_t>(i)] = static_cast<uint8_t>(lane * from + i % size);
  }
  const Reg places = code_.load_pool(w, X86::vmovups, code_.pool(order.data(), w));
  const Reg first =
      code_.define(RegClass::kVec, w, X86::vpshufb, {vreg(v.reg, w), vreg(places, w)});
  if (w == 16) return {first, to, size};
  if (from == 2 * size) {
    // Fixed by: x86.
    constexpr int kEvenQuarters = 0x08;
    const Reg joined =
        code_.define(RegClass::kVec, 32, X86::vpermq, {vreg(first, 32), imm(kEvenQuarters)});
    return {joined, to, size};
  }
  const Reg high = code_.define(RegClass::kVec, 16, X86::vextracti128, {vreg(first, 32), imm(1)});
  return {code_.define(RegClass::kVec, 16, X86::vpunpckldq, {vreg(first, 16), vreg(high, 16)}), to,
          size};
}

Value Converter::wrapped(const Value& v, DType to) {
  const int bits = 8 * size_of(to), w = width(v.type);
  if (to == DType::kU8) return vectors_.op3(X86::vandps, v, vectors_.constant_bits(v.type, 0xff));
  const bool words = size_of(v.type) == 2;
  const int away = 8 * size_of(v.type) - bits;
  const Reg up = code_.define(RegClass::kVec, w, words ? X86::vpsllw : X86::vpslld,
                              {vreg(v.reg, w), imm(away)});
  return {
      code_.define(RegClass::kVec, w, words ? X86::vpsraw : X86::vpsrad, {vreg(up, w), imm(away)}),
      v.type, v.element};
}

}  // namespace hone::jit
