// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>

namespace hone::ir {

/// `v` rounded to nearest even in a format of one sign, ExponentBits and MantissaBits bits. What is
/// larger than the code kMost, infinity included, becomes it; a NaN becomes kNan of its sign.
template <int ExponentBits, int MantissaBits, uint32_t kMost, uint32_t kNan>
constexpr uint32_t narrowed(double v) {
  constexpr int kBias = (1 << (ExponentBits - 1)) - 1;
  const uint64_t bits = std::bit_cast<uint64_t>(v);
  const uint32_t sign = static_cast<uint32_t>(bits >> 63) << (ExponentBits + MantissaBits);
  const int biased = static_cast<int>((bits >> 52) & 0x7ff);
  const uint64_t fraction = bits & ((uint64_t{1} << 52) - 1);
  if (biased == 0x7ff) return sign | (fraction != 0 ? kNan : kMost);
  // A double's denormals lie far below half the smallest narrow value: they fall to zero.
  if (biased == 0) return sign;
  const int exponent = biased - 1023 + kBias;
  const int shift = 52 - MantissaBits + (exponent <= 0 ? 1 - exponent : 0);
  if (shift > 63) return sign;
  const uint64_t significand = fraction | (uint64_t{1} << 52);
  const uint64_t half = uint64_t{1} << (shift - 1);
  const uint64_t rest = significand & ((uint64_t{1} << shift) - 1);
  uint64_t kept = significand >> shift;
  kept += rest > half || (rest == half && (kept & 1) != 0);
  // The hidden bit of a normal number adds the one that its exponent field is short of.
  uint64_t magnitude = kept;
  if (exponent > 0) magnitude += static_cast<uint64_t>(exponent - 1) << MantissaBits;
  if (magnitude > kMost) magnitude = kMost;
  return sign | static_cast<uint32_t>(magnitude);
}

/// The f16 (binary16) bits nearest to `v`, ties to even.
constexpr uint16_t f16_from(double v) {
  return static_cast<uint16_t>(narrowed<5, 10, 0x7c00, 0x7e00>(v));
}

/// The bf16 bits nearest to `v`, ties to even.
constexpr uint16_t bf16_from(double v) {
  return static_cast<uint16_t>(narrowed<8, 7, 0x7f80, 0x7fc0>(v));
}

/// The f8e4m3 bits nearest to `v`, ties to even. There are no infinities: what is too large becomes
/// 448 of its sign.
constexpr uint8_t f8e4m3_from(double v) {
  return static_cast<uint8_t>(narrowed<4, 3, 0x7e, 0x7f>(v));
}

/// The f8e5m2 bits nearest to `v`, ties to even.
constexpr uint8_t f8e5m2_from(double v) {
  return static_cast<uint8_t>(narrowed<5, 2, 0x7c, 0x7e>(v));
}

/// The value of bf16 bits; exact.
constexpr float bf16_value(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

/// The value of f16 bits; exact.
constexpr float f16_value(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  const uint32_t exponent = (bits >> 10) & 0x1f;
  const uint32_t fraction = bits & 0x3ff;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000 | (fraction << 13));
  if (exponent == 0) {
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return sign != 0 ? -magnitude : magnitude;
  }
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (fraction << 13));
}

/// The value of f8e5m2 bits, which are the upper ones of an f16; exact.
constexpr float f8e5m2_value(uint8_t bits) { return f16_value(static_cast<uint16_t>(bits << 8)); }

/// The value of f8e4m3 bits; exact. The one NaN of each sign has all bits set.
constexpr float f8e4m3_value(uint8_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x80) << 24;
  const uint32_t magnitude = bits & 0x7f;
  if (magnitude == 0x7f) return std::bit_cast<float>(sign | 0x7fc00000);
  if (magnitude < 8) {
    const float small = static_cast<float>(magnitude) * 0x1p-9f;
    return sign != 0 ? -small : small;
  }
  return std::bit_cast<float>(sign | ((magnitude << 20) + (120u << 23)));
}

}  // namespace hone::ir
