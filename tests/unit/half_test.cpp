// SPDX-License-Identifier: Apache-2.0
#include "jit/ir/half.h"

#include <doctest/doctest.h>

#include <cmath>

using namespace hone;

namespace {

/// The value of 16-bit float bits, by the definition of the format.
double defined_value(uint32_t bits, int exponent_bits, int mantissa_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const uint32_t exponent = (bits >> mantissa_bits) & ((1u << exponent_bits) - 1);
  const double fraction = std::ldexp(bits & ((1u << mantissa_bits) - 1), -mantissa_bits);
  const double sign = (bits >> 15) != 0 ? -1 : 1;
  if (exponent == (1u << exponent_bits) - 1) return fraction == 0 ? sign * INFINITY : NAN;
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias);
  return sign * std::ldexp(1 + fraction, static_cast<int>(exponent) - bias);
}

template <class Widen, class Narrow>
void check_format(int exponent_bits, int mantissa_bits, Widen widen, Narrow narrow) {
  const uint32_t infinity = ((1u << exponent_bits) - 1) << mantissa_bits;
  int wrong = 0;
  for (uint32_t b = 0; b < 0x10000; ++b) {
    const double v = widen(static_cast<uint16_t>(b));
    const double want = defined_value(b, exponent_bits, mantissa_bits);
    if (std::isnan(want)) {
      wrong += !std::isnan(v) || !std::isnan(widen(narrow(v)));
      continue;
    }
    wrong += v != want || std::signbit(v) != std::signbit(want) || narrow(v) != b;
    // Between neighbours: the middle goes to the even one, either side of it to the nearer one.
    if ((b & 0x7fff) >= infinity) continue;
    const double next = (b & 0x7fff) + 1 == infinity
                            ? std::copysign(std::ldexp(1.0, (1 << (exponent_bits - 1))), want)
                            : defined_value(b + 1, exponent_bits, mantissa_bits);
    const double middle = (want + next) / 2;
    wrong += narrow(middle) != ((b & 1) != 0 ? b + 1 : b);
    wrong += narrow(std::nextafter(middle, want)) != b;
    wrong += narrow(std::nextafter(middle, next)) != b + 1;
  }
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("half: all 2^16 values of f16 convert both ways, ties to even") {
  check_format(5, 10, ir::f16_value, ir::f16_from);
}

TEST_CASE("half: all 2^16 values of bf16 convert both ways, ties to even") {
  check_format(8, 7, ir::bf16_value, ir::bf16_from);
}
