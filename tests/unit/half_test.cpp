// SPDX-License-Identifier: Apache-2.0
#include "jit/ir/half.h"

#include <doctest/doctest.h>

#include <cmath>

using namespace hone;

namespace {

/// The value of float bits, by the definition of the format.
double defined_value(uint32_t bits, int exponent_bits, int mantissa_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const uint32_t exponent = (bits >> mantissa_bits) & ((1u << exponent_bits) - 1);
  const double fraction = std::ldexp(bits & ((1u << mantissa_bits) - 1), -mantissa_bits);
  const double sign = (bits >> (exponent_bits + mantissa_bits)) != 0 ? -1 : 1;
  if (exponent == (1u << exponent_bits) - 1) return fraction == 0 ? sign * INFINITY : NAN;
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias);
  return sign * std::ldexp(1 + fraction, static_cast<int>(exponent) - bias);
}

template <class Widen, class Narrow>
void check_format(int exponent_bits, int mantissa_bits, Widen widen, Narrow narrow) {
  const uint32_t infinity = ((1u << exponent_bits) - 1) << mantissa_bits;
  int wrong = 0;
  const uint32_t count = 2u << (exponent_bits + mantissa_bits);
  for (uint32_t b = 0; b < count; ++b) {
    using Bits = decltype(narrow(1.0));
    const double v = widen(static_cast<Bits>(b));
    const double want = defined_value(b, exponent_bits, mantissa_bits);
    if (std::isnan(want)) {
      wrong += !std::isnan(v) || !std::isnan(widen(narrow(v)));
      continue;
    }
    wrong += v != want || std::signbit(v) != std::signbit(want) || narrow(v) != b;
    // Between neighbours: the middle goes to the even one, either side of it to the nearer one.
    const uint32_t magnitude = b & (count / 2 - 1);
    if (magnitude >= infinity) continue;
    const double next = magnitude + 1 == infinity
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

TEST_CASE("half: all 2^8 values of f8e5m2 convert both ways, ties to even") {
  check_format(5, 2, ir::f8e5m2_value, ir::f8e5m2_from);
}

TEST_CASE("half: all 2^8 values of f8e4m3 convert both ways, ties to even, and saturate") {
  for (int b = 0; b < 256; ++b) {
    const auto code = static_cast<uint8_t>(b);
    const double v = ir::f8e4m3_value(code), sign = b >= 128 ? -1 : 1;
    const int exponent = b >> 3 & 15, fraction = b & 7;
    if ((b & 127) == 127) {
      CHECK(std::isnan(v));
      CHECK(ir::f8e4m3_from(std::copysign(v, sign)) == code);
      continue;
    }
    const double want =
        exponent == 0 ? std::ldexp(fraction, -9) : std::ldexp(8 + fraction, exponent - 10);
    CHECK(v == sign * want);
    CHECK(std::signbit(v) == (b >= 128));
    CHECK(ir::f8e4m3_from(v) == code);
    if ((b & 127) == 126) continue;
    const double next = ir::f8e4m3_value(static_cast<uint8_t>(b + 1)), middle = (v + next) / 2;
    CHECK(ir::f8e4m3_from(middle) == (b % 2 != 0 ? b + 1 : b));
    CHECK(ir::f8e4m3_from(std::nextafter(middle, v)) == code);
    CHECK(ir::f8e4m3_from(std::nextafter(middle, next)) == b + 1);
  }
  for (const double large : {449.0, 464.0, 1e4, 1e300, static_cast<double>(INFINITY)}) {
    CHECK(ir::f8e4m3_from(large) == 0x7e);
    CHECK(ir::f8e4m3_from(-large) == 0xfe);
  }
}

TEST_CASE("half: all 2^16 values of bf16 convert both ways, ties to even") {
  check_format(8, 7, ir::bf16_value, ir::bf16_from);
}
