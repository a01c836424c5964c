// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

// Definitions in f64 of the functions that the C library has not.
namespace hone::ir {

/// log(1 + e^x) without overflow.
inline double softplus(double x) {
  return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
}

inline double sigmoid(double x) {
  if (x >= 0) return 1 / (1 + std::exp(-x));
  const double e = std::exp(x);
  return e / (1 + e);
}

/// 0.5 * x * (1 + erf(x / sqrt 2)); minus infinity gives -0, its limit.
inline double gelu(double x) {
  // Fixed by: mathematics.
  constexpr double kSqrtHalf = 0.70710678118654752440;
  return x == -INFINITY ? -0.0 : 0.5 * x * std::erfc(-x * kSqrtHalf);
}

/// gelu with tanh in place of erf, as most networks have it.
inline double gelu_tanh(double x) {
  // Fixed by: mathematics.
  constexpr double kSqrtTwoOverPi = 0.79788456080286535588;
  if (x == -INFINITY) return -0.0;
  return x * sigmoid(2 * kSqrtTwoOverPi * (x + 0.044715 * x * x * x));
}

inline double silu(double x) { return x == -INFINITY ? -0.0 : x * sigmoid(x); }

/// Powers of negative numbers are numbers where the exponent is whole alone. NaN to the power of 0
/// is 1, and so is 1 to the power of NaN.
inline bool pow_jumps(double a, double ea, double b, double eb) {
  const bool not_whole = eb > 0 && a - ea < 0;
  const bool not_zero = a != a && eb > 0 && std::fabs(b) <= eb;
  const bool not_one = b != b && ea > 0 && std::fabs(a - 1) <= ea;
  return not_whole || not_zero || not_one;
}

/// Left of the origin the angle goes from pi to -pi.
inline bool atan2_jumps(double y, double ey, double x, double ex) {
  return (ey > 0 || ex > 0) && x - ex <= 0 && std::fabs(y) <= ey;
}

/// At its poles the tangent goes from infinity to minus infinity. The cosine of an angle is at most
/// as far from 0 as the angle from a pole.
inline bool tan_jumps(double a, double ea, double, double) {
  return ea > 0 && std::fabs(std::cos(a)) <= ea;
}

/// No angle changes its sine by more, nor a sine by more than from -1 to 1.
inline double swing_of_angle(double, double ea) { return ea < 2 ? ea : 2; }

/// Of a function that turns once, at `turn`.
inline double swing_over(double (*f)(double), double turn, double a, double ea) {
  return std::fabs(turn - a) < ea ? std::fabs(f(turn) - f(a)) : 0;
}

}  // namespace hone::ir
