// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>

namespace hone::ir {

/// `v` rounded to nearest even in a 16-bit format of one sign, ExponentBits and MantissaBits bits.
/// A NaN becomes the quiet NaN of its sign.
template <int ExponentBits, int MantissaBits>
constexpr uint16_t narrow_to_16(double v) {
  constexpr int kBias = (1 << (ExponentBits - 1)) - 1;
  constexpr uint32_t kInfinity = ((1u << ExponentBits) - 1) << MantissaBits;
  const uint64_t bits = std::bit_cast<uint64_t>(v);
  const uint32_t sign = static_cast<uint32_t>(bits >> 63) << 15;
  const int biased = static_cast<int>((bits >> 52) & 0x7ff);
  const uint64_t fraction = bits & ((uint64_t{1} << 52) - 1);
  if (biased == 0x7ff) {
    const uint32_t quiet = fraction != 0 ? 1u << (MantissaBits - 1) : 0;
    return static_cast<uint16_t>(sign | kInfinity | quiet);
  }
  // A double's denormals lie far below half the smallest 16-bit value: they fall to zero.
  if (biased == 0) return static_cast<uint16_t>(sign);
  const int exponent = biased - 1023 + kBias;
  const int shift = 52 - MantissaBits + (exponent <= 0 ? 1 - exponent : 0);
  if (shift > 63) return static_cast<uint16_t>(sign);
  const uint64_t significand = fraction | (uint64_t{1} << 52);
  const uint64_t half = uint64_t{1} << (shift - 1);
  const uint64_t rest = significand & ((uint64_t{1} << shift) - 1);
  uint64_t kept = significand >> shift;
  kept += rest > half || (rest == half && (kept & 1) != 0);
  // The hidden bit of a normal number adds the one that its exponent field is short of.
  uint64_t magnitude = kept;
  if (exponent > 0) magnitude += static_cast<uint64_t>(exponent - 1) << MantissaBits;
  if (magnitude > kInfinity) magnitude = kInfinity;
  return static_cast<uint16_t>(sign | static_cast<uint32_t>(magnitude));
}

/// The f16 (binary16) bits nearest to `v`, ties to even.
constexpr uint16_t f16_from(double v) { return narrow_to_16<5, 10>(v); }

/// The bf16 bits nearest to `v`, ties to even.
constexpr uint16_t bf16_from(double v) { return narrow_to_16<8, 7>(v); }

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

}  // namespace hone::ir
