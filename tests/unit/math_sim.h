// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "jit/x86/math/builder.h"

namespace hone::jit {

/// A builder whose vectors have one element and whose methods compute what the instruction does,
/// with or without the AVX-512 ones, on any host. `operations` counts instructions, constants
/// apart.
template <class F>
struct SimBuilder {
  using V = F;
  using M = bool;
  using U = std::conditional_t<sizeof(F) == 4, uint32_t, uint64_t>;

  bool avx512;
  bool slow_paths = true;  ///< false: as if no lane ever took one
  int operations = 0;      ///< instructions so far, constants apart
  int products = 0;        ///< of those, that multiply or divide
  int divisions = 0;       ///< of those, divisions and roots

  static U bits(F a) { return std::bit_cast<U>(a); }
  static F value(U u) { return std::bit_cast<F>(u); }
  F counted(F a) { return ++operations, a; }
  F product(F a) { return ++products, counted(a); }
  F division(F a) { return ++divisions, product(a); }
  M compared(M m) { return ++operations, m; }

  bool has_avx512() const { return avx512; }
  V constant(double d) { return static_cast<F>(d); }
  V constant_bits(uint64_t u) { return value(static_cast<U>(u)); }
  V add(V a, V b) { return counted(a + b); }
  V sub(V a, V b) { return counted(a - b); }
  V mul(V a, V b) { return product(a * b); }
  V div(V a, V b) { return division(a / b); }
  V sqrt(V a) { return division(std::sqrt(a)); }
  V min(V a, V b) { return counted(a < b ? a : b); }
  V max(V a, V b) { return counted(a > b ? a : b); }
  V fma(V a, V b, V c) { return product(std::fma(a, b, c)); }
  V fnma(V a, V b, V c) { return product(std::fma(-a, b, c)); }
  V fms(V a, V b, V c) { return product(std::fma(a, b, -c)); }
  V round(V a) { return counted(std::nearbyint(a)); }
  V floor(V a) { return counted(std::floor(a)); }
  V ceil(V a) { return counted(std::ceil(a)); }
  V trunc(V a) { return counted(std::trunc(a)); }
  V and_(V a, V b) { return counted(value(bits(a) & bits(b))); }
  V or_(V a, V b) { return counted(value(bits(a) | bits(b))); }
  V xor_(V a, V b) { return counted(value(bits(a) ^ bits(b))); }
  V andnot(V a, V b) { return counted(value(~bits(a) & bits(b))); }
  V shl(V a, int n) { return counted(value(bits(a) << n)); }
  V shr(V a, int n) { return counted(value(bits(a) >> n)); }
  V iadd(V a, V b) { return counted(value(bits(a) + bits(b))); }
  V isub(V a, V b) { return counted(value(bits(a) - bits(b))); }
  V copysign(V a, V b) {
    operations += avx512 ? 0 : 2;
    return counted(std::copysign(a, b));
  }
  M lt(V a, V b) { return compared(a < b); }
  M le(V a, V b) { return compared(a <= b); }
  M gt(V a, V b) { return compared(a > b); }
  M ge(V a, V b) { return compared(a >= b); }
  M eq(V a, V b) { return compared(a == b); }
  M neq(V a, V b) { return compared(!(a == b)); }
  M unord(V a, V b) { return compared(a != a || b != b); }
  M nlt(V a, V b) { return compared(!(a < b)); }
  V where(M m, V a) { return counted(m ? a : 0); }
  V select(M m, V a, V b) { return counted(m ? a : b); }
  M both(M a, M b) { return compared(a && b); }
  M either(M a, M b) { return compared(a || b); }
  V lookup16(const std::array<double, 16>& table, V index) {
    operations += avx512 ? 0 : 3;
    return counted(static_cast<F>(table[bits(index) & 15]));
  }
  template <class Make>
  V slow_path(M m, V v, Make make) {
    ++operations;  // the test of the mask
    if (!slow_paths || !m) return v;
    return select(m, make(), v);
  }

  V scalef(V a, V n) {
    ++operations, ++products;
    if (std::isnan(a) || std::isnan(n)) return a + n;
    if (std::isinf(n)) {
      if (n > 0) return a == 0 ? std::numeric_limits<F>::quiet_NaN() : std::copysign(n, a);
      return std::isinf(a) ? std::numeric_limits<F>::quiet_NaN() : std::copysign(F{0}, a);
    }
    return std::ldexp(a, static_cast<int>(std::fmin(std::fmax(std::floor(n), F(-5000)), F(5000))));
  }
  V scalef_where(M m, V a, V n) {
    const V scaled = scalef(a, n);
    return m ? scaled : 0;
  }
  V getexp(V a) {
    return counted(a == 0 || std::isinf(a) || std::isnan(a) ? special_exponent(a) : std::logb(a));
  }
  V getmant(V a) {
    ++operations;
    if (std::isnan(a)) return a;
    if (a == 0) return 1;
    if (a < 0) return std::numeric_limits<F>::quiet_NaN();
    if (std::isinf(a)) return 1;
    const F m = std::ldexp(a, -static_cast<int>(std::logb(a)));
    return m >= F(1.5) ? m / 2 : m;
  }
  V fraction(V a) {
    ++operations;
    if (std::isinf(a)) return 0;
    // vreduce rounds its difference as it rounds to the integer: down.
    const F whole = std::floor(a);
    const F near = a - whole;
    const F above = near - a;
    const F left = (a - (near - above)) - (whole + above);
    return left < 0 ? std::nextafter(near, F(-1)) : near;
  }

 private:
  static F special_exponent(F a) {
    if (a == 0) return -std::numeric_limits<F>::infinity();
    return std::isinf(a) ? std::numeric_limits<F>::infinity() : a;
  }
};

}  // namespace hone::jit
