// SPDX-License-Identifier: Apache-2.0
// Numbers of the device's types.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

namespace emulation {

/// Rounds a double to a float so that rounding again is as rounding once: odd where inexact.
inline float odd_float(double d) {
  float f = static_cast<float>(d);
  if (f != f || static_cast<double>(f) == d) return f;
  if (std::fabs(static_cast<double>(f)) > std::fabs(d)) f = std::nextafterf(f, 0.0f);
  uint32_t bits;
  std::memcpy(&bits, &f, 4);
  bits |= 1;
  std::memcpy(&f, &bits, 4);
  return f;
}

inline float half_value(uint16_t h) {
  const int exponent = h >> 10 & 31, fraction = h & 1023;
  float f = exponent == 31 ? (fraction ? NAN : INFINITY)
            : exponent     ? std::ldexp(static_cast<float>(1024 + fraction), exponent - 25)
                           : std::ldexp(static_cast<float>(fraction), -24);
  return h >> 15 ? -f : f;
}

inline uint16_t half_of(double d) {
  const uint16_t sign = std::signbit(d) ? 0x8000 : 0;
  const double a = std::fabs(d);
  if (d != d) return 0x7fff;
  if (a >= 65520) return sign | 0x7c00;
  if (a < 6.103515625e-05) return sign | static_cast<uint16_t>(std::nearbyint(std::ldexp(a, 24)));
  int exponent = 0;
  std::frexp(a, &exponent);
  const auto significand = static_cast<int>(std::nearbyint(std::ldexp(a, 11 - exponent)));
  return sign | static_cast<uint16_t>(((exponent + 14) << 10) + significand - 1024);
}

}  // namespace emulation
