// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <immintrin.h>

#include <array>
#include <cstdint>

namespace hone::jit {

/// A builder that runs the functions of jit/x86/math on the machine itself, one intrinsic a method:
/// on AVX-512 where the translation unit is compiled for it, else on AVX2 and FMA.
template <class F>
struct HardwareBuilder;

// S is the suffix of float intrinsics, I of integer ones, IW the integer type set1 takes.
#define HONE_COMMON(F, PRE, S, I, IW, SET1I, CASTI, CASTF, INT)               \
  static INT i(V a) { return CASTI(a); }                                      \
  static V f(INT a) { return CASTF(a); }                                      \
  static V load(const F* p) { return PRE##loadu_##S(p); }                     \
  static void store(F* p, V a) { PRE##storeu_##S(p, a); }                     \
  static V constant(double d) { return PRE##set1_##S(static_cast<F>(d)); }    \
  static V constant_bits(uint64_t u) { return f(SET1I(static_cast<IW>(u))); } \
  static V add(V a, V c) { return PRE##add_##S(a, c); }                       \
  static V sub(V a, V c) { return PRE##sub_##S(a, c); }                       \
  static V mul(V a, V c) { return PRE##mul_##S(a, c); }                       \
  static V div(V a, V c) { return PRE##div_##S(a, c); }                       \
  static V sqrt(V a) { return PRE##sqrt_##S(a); }                             \
  static V min(V a, V c) { return PRE##min_##S(a, c); }                       \
  static V max(V a, V c) { return PRE##max_##S(a, c); }                       \
  static V fma(V a, V c, V d) { return PRE##fmadd_##S(a, c, d); }             \
  static V fnma(V a, V c, V d) { return PRE##fnmadd_##S(a, c, d); }           \
  static V fms(V a, V c, V d) { return PRE##fmsub_##S(a, c, d); }             \
  static V and_(V a, V c) { return PRE##and_##S(a, c); }                      \
  static V or_(V a, V c) { return PRE##or_##S(a, c); }                        \
  static V xor_(V a, V c) { return PRE##xor_##S(a, c); }                      \
  static V andnot(V a, V c) { return PRE##andnot_##S(a, c); }                 \
  static V shl(V a, int n) { return f(PRE##slli_##I(i(a), n)); }              \
  static V shr(V a, int n) { return f(PRE##srli_##I(i(a), n)); }              \
  static V iadd(V a, V c) { return f(PRE##add_##I(i(a), i(c))); }             \
  static V isub(V a, V c) { return f(PRE##sub_##I(i(a), i(c))); }

#if defined(__AVX512F__)

#define HONE_COMPARE(name, S, predicate) \
  static M name(V a, V c) { return _mm512_cmp_##S##_mask(a, c, predicate); }

#define HONE_AVX512(S, I)                                                                        \
  static bool has_avx512() { return true; }                                                      \
  static V round(V a) { return _mm512_roundscale_##S(a, 8); }                                    \
  static V floor(V a) { return _mm512_roundscale_##S(a, 9); }                                    \
  static V ceil(V a) { return _mm512_roundscale_##S(a, 10); }                                    \
  static V trunc(V a) { return _mm512_roundscale_##S(a, 11); }                                   \
  static V copysign(V a, V s) {                                                                  \
    const V all_but_sign = f(_mm512_srli_##I(_mm512_set1_epi32(-1), 1));                         \
    return f(_mm512_ternarylogic_##I(i(all_but_sign), i(a), i(s), 0xca));                        \
  }                                                                                              \
  static V scalef(V a, V n) { return _mm512_scalef_##S(a, n); }                                  \
  static V scalef_where(M m, V a, V n) { return _mm512_maskz_scalef_##S(m, a, n); }              \
  static V where(M m, V a) { return _mm512_maskz_mov_##S(m, a); }                                \
  static V getexp(V a) { return _mm512_getexp_##S(a); }                                          \
  static V getmant(V a) {                                                                        \
    return _mm512_getmant_##S(a, _MM_MANT_NORM_p75_1p5, static_cast<_MM_MANTISSA_SIGN_ENUM>(3)); \
  }                                                                                              \
  static V fraction(V a) { return _mm512_reduce_##S(a, 9); }                                     \
  HONE_COMPARE(lt, S, _CMP_LT_OQ)                                                                \
  HONE_COMPARE(le, S, _CMP_LE_OQ)                                                                \
  HONE_COMPARE(gt, S, _CMP_GT_OQ)                                                                \
  HONE_COMPARE(ge, S, _CMP_GE_OQ)                                                                \
  HONE_COMPARE(eq, S, _CMP_EQ_OQ)                                                                \
  HONE_COMPARE(neq, S, _CMP_NEQ_UQ)                                                              \
  HONE_COMPARE(unord, S, _CMP_UNORD_Q)                                                           \
  HONE_COMPARE(nlt, S, _CMP_NLT_UQ)                                                              \
  static V select(M m, V a, V c) { return _mm512_mask_blend_##S(m, c, a); }                      \
  static M both(M a, M c) { return a & c; }                                                      \
  static M either(M a, M c) { return a | c; }                                                    \
  template <class Make>                                                                          \
  static V slow_path(M m, V v, Make make) {                                                      \
    return m ? select(m, make(), v) : v;                                                         \
  }

template <>
struct HardwareBuilder<float> {
  using V = __m512;
  using M = __mmask16;
  HONE_COMMON(float, _mm512_, ps, epi32, int, _mm512_set1_epi32, _mm512_castps_si512,
              _mm512_castsi512_ps, __m512i)
  HONE_AVX512(ps, epi32)
  static V lookup16(const std::array<double, 16>& table, V index) {
    float values[16];
    for (int k = 0; k < 16; ++k) values[k] = static_cast<float>(table[k]);
    return _mm512_permutexvar_ps(i(index), load(values));
  }
};

template <>
struct HardwareBuilder<double> {
  using V = __m512d;
  using M = __mmask8;
  HONE_COMMON(double, _mm512_, pd, epi64, long long, _mm512_set1_epi64, _mm512_castpd_si512,
              _mm512_castsi512_pd, __m512i)
  HONE_AVX512(pd, epi64)
  static V lookup16(const std::array<double, 16>& table, V index) {
    return _mm512_permutex2var_pd(load(table.data()), i(index), load(table.data() + 8));
  }
};

#undef HONE_AVX512

#elif defined(__AVX2__)

#define HONE_COMPARE(name, S, predicate) \
  static M name(V a, V c) { return _mm256_cmp_##S(a, c, predicate); }

#define HONE_AVX2(S)                                                    \
  static bool has_avx512() { return false; }                            \
  static V round(V a) { return _mm256_round_##S(a, 8); }                \
  static V floor(V a) { return _mm256_round_##S(a, 9); }                \
  static V ceil(V a) { return _mm256_round_##S(a, 10); }                \
  static V trunc(V a) { return _mm256_round_##S(a, 11); }               \
  static V copysign(V a, V s) {                                         \
    const V sign = constant(-0.0);                                      \
    return or_(andnot(sign, a), and_(sign, s));                         \
  }                                                                     \
  static V scalef(V a, V) { return a; }                                 \
  static V scalef_where(M, V a, V) { return a; }                        \
  static V where(M m, V a) { return and_(m, a); }                       \
  static V getexp(V a) { return a; }                                    \
  static V getmant(V a) { return a; }                                   \
  static V fraction(V a) { return a; }                                  \
  HONE_COMPARE(lt, S, _CMP_LT_OQ)                                       \
  HONE_COMPARE(le, S, _CMP_LE_OQ)                                       \
  HONE_COMPARE(gt, S, _CMP_GT_OQ)                                       \
  HONE_COMPARE(ge, S, _CMP_GE_OQ)                                       \
  HONE_COMPARE(eq, S, _CMP_EQ_OQ)                                       \
  HONE_COMPARE(neq, S, _CMP_NEQ_UQ)                                     \
  HONE_COMPARE(unord, S, _CMP_UNORD_Q)                                  \
  HONE_COMPARE(nlt, S, _CMP_NLT_UQ)                                     \
  static V select(M m, V a, V c) { return _mm256_blendv_##S(c, a, m); } \
  static M both(M a, M c) { return and_(a, c); }                        \
  static M either(M a, M c) { return or_(a, c); }                       \
  template <class Make>                                                 \
  static V slow_path(M m, V v, Make make) {                             \
    return _mm256_movemask_##S(m) ? select(m, make(), v) : v;           \
  }

template <>
struct HardwareBuilder<float> {
  using V = __m256;
  using M = __m256;
  HONE_COMMON(float, _mm256_, ps, epi32, int, _mm256_set1_epi32, _mm256_castps_si256,
              _mm256_castsi256_ps, __m256i)
  HONE_AVX2(ps)
  static V lookup16(const std::array<double, 16>& table, V index) {
    float values[16];
    for (int k = 0; k < 16; ++k) values[k] = static_cast<float>(table[k]);
    const V low = _mm256_permutevar8x32_ps(load(values), i(index));
    const V high = _mm256_permutevar8x32_ps(load(values + 8), i(index));
    return select(shl(index, 28), high, low);
  }
};

template <>
struct HardwareBuilder<double> {
  using V = __m256d;
  using M = __m256d;
  HONE_COMMON(double, _mm256_, pd, epi64, long long, _mm256_set1_epi64x, _mm256_castpd_si256,
              _mm256_castsi256_pd, __m256i)
  HONE_AVX2(pd)
  static V lookup16(const std::array<double, 16>& table, V index) {
    return _mm256_i64gather_pd(table.data(), _mm256_and_si256(i(index), _mm256_set1_epi64x(15)), 8);
  }
};

#undef HONE_AVX2

#endif
#undef HONE_COMMON
#undef HONE_COMPARE

}  // namespace hone::jit
