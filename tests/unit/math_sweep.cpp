// SPDX-License-Identifier: Apache-2.0
// The largest error of every f32 function over all 2^32 arguments, or 2^32 pairs of them, one line
// a function; see jit/x86/math/README.md. Built twice, for AVX2 and for AVX-512. Arguments: a
// stride (1 for all) and names. The reference is the C library's vector functions in f64, good to 4
// units of 2^-53, and the definition where there are none.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <string_view>

#include "jit/ir/functions/function.h"
#include "jit/x86/math/functions.h"
#include "tests/unit/math_hardware.h"

namespace {

using namespace hone::jit;
using Builder = HardwareBuilder<float>;

constexpr int kBlock = 4096;
constexpr int kLanes = sizeof(Builder::V) / sizeof(float);
constexpr int kStep = kLanes / 2;

#if defined(__AVX512F__)
constexpr const char* kIsa = "avx512";
using Doubles = __m512d;
Doubles widened(const float* x) { return _mm512_cvtps_pd(_mm256_loadu_ps(x)); }
#define HONE_REFERENCE(name) extern "C" Doubles _ZGVeN8v_##name(Doubles)
#define HONE_REFERENCE_OF_TWO(name) extern "C" Doubles _ZGVeN8vv_##name(Doubles, Doubles)
#define HONE_CALL_OF_TWO(name) _ZGVeN8vv_##name
#define HONE_CALL(name) _ZGVeN8v_##name
#else
constexpr const char* kIsa = "avx2";
using Doubles = __m256d;
Doubles widened(const float* x) { return _mm256_cvtps_pd(_mm_loadu_ps(x)); }
#define HONE_REFERENCE(name) extern "C" Doubles _ZGVdN4v_##name(Doubles)
#define HONE_REFERENCE_OF_TWO(name) extern "C" Doubles _ZGVdN4vv_##name(Doubles, Doubles)
#define HONE_CALL_OF_TWO(name) _ZGVdN4vv_##name
#define HONE_CALL(name) _ZGVdN4v_##name
#endif

}  // namespace

HONE_REFERENCE(acos);
HONE_REFERENCE(acosh);
HONE_REFERENCE(asin);
HONE_REFERENCE(asinh);
HONE_REFERENCE(atan);
HONE_REFERENCE(atanh);
HONE_REFERENCE(cbrt);
HONE_REFERENCE(cos);
HONE_REFERENCE(cosh);
HONE_REFERENCE(erf);
HONE_REFERENCE(erfc);
HONE_REFERENCE(exp);
HONE_REFERENCE(exp2);
HONE_REFERENCE(expm1);
HONE_REFERENCE(log);
HONE_REFERENCE(log10);
HONE_REFERENCE(log1p);
HONE_REFERENCE(log2);
HONE_REFERENCE(sin);
HONE_REFERENCE(sinh);
HONE_REFERENCE(tan);
HONE_REFERENCE(tanh);
HONE_REFERENCE_OF_TWO(atan2);
HONE_REFERENCE_OF_TWO(pow);

namespace {

using Vector = HardwareBuilder<double>;

Doubles one() { return Vector::constant(1); }

/// x within [-700, 700], where f32 results have long ended and f64 has its fast path.
Doubles within(Doubles x) {
  return Vector::min(Vector::constant(700), Vector::max(Vector::constant(-700), x));
}

/// e^-|x|; beyond -700 it is as good as 0, and slow.
Doubles decay(Doubles x) {
  const Doubles below = Vector::or_(x, Vector::constant(-0.0));
  return HONE_CALL(exp)(Vector::max(Vector::constant(-700), below));
}

/// 1 / (1 + e^-x) from the side where nothing cancels or overflows.
Doubles sigmoid(Doubles x) {
  const Doubles e = decay(x);
  const Doubles top = Vector::select(Vector::lt(x, Vector::constant(0)), e, one());
  return Vector::div(top, Vector::add(one(), e));
}

/// x * value, but -0 for minus infinity.
Doubles gated(Doubles x, Doubles value) {
  const auto vanished = Vector::eq(x, Vector::constant(-INFINITY));
  return Vector::select(vanished, Vector::constant(-0.0), Vector::mul(x, value));
}

Doubles softplus(Doubles x) {
  const Doubles e = decay(x);
  return Vector::add(Vector::max(Vector::constant(0), x), HONE_CALL(log1p)(e));
}

Doubles gelu(Doubles x) {
  const Doubles erfc = HONE_CALL(erfc)(Vector::mul(x, Vector::constant(-0x1.6a09e667f3bcdp-1)));
  return gated(x, Vector::mul(Vector::constant(0.5), erfc));
}

Doubles gelu_tanh(Doubles x) {
  const Doubles cube = Vector::mul(Vector::mul(x, x), x);
  const Doubles inner = Vector::fma(cube, Vector::constant(0.044715), x);
  return gated(x, sigmoid(Vector::mul(inner, Vector::constant(2 * 0.79788456080286535588))));
}

struct Reference {
  const char* name;
  Doubles (*value)(Doubles);
  Doubles (*value_of_two)(Doubles, Doubles) = nullptr;
};

/// What is faster than the definition.
const Reference kReferences[] = {
    {"acos", HONE_CALL(acos)},
    {"acosh", HONE_CALL(acosh)},
    {"asin", HONE_CALL(asin)},
    {"asinh", HONE_CALL(asinh)},
    {"atan", HONE_CALL(atan)},
    {"atan2", nullptr, HONE_CALL_OF_TWO(atan2)},
    {"atanh", HONE_CALL(atanh)},
    {"cbrt", HONE_CALL(cbrt)},
    {"cos", HONE_CALL(cos)},
    {"cosh", [](Doubles x) { return HONE_CALL(cosh)(within(x)); }},
    {"erf", HONE_CALL(erf)},
    {"exp", [](Doubles x) { return HONE_CALL(exp)(within(x)); }},
    {"exp2", [](Doubles x) { return HONE_CALL(exp2)(within(x)); }},
    {"expm1", [](Doubles x) { return HONE_CALL(expm1)(within(x)); }},
    {"gelu", gelu},
    {"gelu_tanh", gelu_tanh},
    {"log", HONE_CALL(log)},
    {"log10", HONE_CALL(log10)},
    {"log1p", HONE_CALL(log1p)},
    {"log2", HONE_CALL(log2)},
    {"pow", nullptr, HONE_CALL_OF_TWO(pow)},
    {"rsqrt", [](Doubles x) { return Vector::div(one(), Vector::sqrt(x)); }},
    {"sigmoid", sigmoid},
    {"silu", [](Doubles x) { return gated(x, sigmoid(x)); }},
    {"sin", HONE_CALL(sin)},
    {"sinh", [](Doubles x) { return HONE_CALL(sinh)(within(x)); }},
    {"softplus", softplus},
    {"tan", HONE_CALL(tan)},
    {"tanh", HONE_CALL(tanh)},
};

/// Arguments, results and reference of one block.
struct Block {
  alignas(64) float x[kBlock];
  alignas(64) float y[kBlock];
  alignas(64) float result[kBlock];
  alignas(64) double reference[kBlock];
  alignas(64) double ulps[kBlock];       ///< error in units in the last place
  alignas(64) double tolerated[kBlock];  ///< error as a share of the tolerance
};

float with_bits(uint64_t bits) {
  const auto low = static_cast<uint32_t>(bits);
  float x = 0;
  std::memcpy(&x, &low, sizeof x);
  return x;
}

void fill(Block& block, uint64_t first, uint64_t stride) {
  for (int i = 0; i < kBlock; ++i) block.x[i] = with_bits(first + i * stride);
}

/// Pairs of any bits, and as many whose sizes are within 2^8 of each other.
void fill_pairs(Block& block, uint64_t first, uint64_t stride) {
  for (int i = 0; i < kBlock; ++i) {
    uint64_t h = (first + i * stride + 1) * 0x9e3779b97f4a7c15u;  // splitmix64
    h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9u;
    h = (h ^ h >> 27) * 0x94d049bb133111ebu;
    h ^= h >> 31;
    uint64_t y = h >> 32;
    if (i % 2 != 0) {
      constexpr uint64_t kExponent = 0x7f800000;
      y = (y & ~kExponent) | (((h & kExponent) + ((y >> 23 & 15) << 23) - (7 << 23)) & kExponent);
    }
    block.x[i] = with_bits(h);
    block.y[i] = with_bits(y);
  }
}

void evaluate(Block& block, const hone::ir::Function& fn, const Reference* reference) {
  Builder builder;
  for (int i = 0; i < kBlock; i += kLanes) {
    const auto x = Builder::load(block.x + i), y = Builder::load(block.y + i);
    Builder::store(block.result + i, expand<float>(builder, fn.expansion, x, y));
  }
  if (!reference) {
    for (int i = 0; i < kBlock; ++i) block.reference[i] = fn.eval(block.x[i], block.y[i]);
    return;
  }
  for (int i = 0; i < kBlock; i += kStep) {
    const Doubles x = widened(block.x + i);
    Vector::store(block.reference + i, fn.arity == 1
                                           ? reference->value(x)
                                           : reference->value_of_two(x, widened(block.y + i)));
  }
}

/// The largest number in `x`.
double largest(Doubles x) {
  double values[kStep];
  Vector::store(values, x);
  return *std::max_element(values, values + kStep);
}

/// The largest errors so far and where.
struct Worst {
  double ulps = 0, tolerated = 0;
  float ulps_at = 0, tolerated_at = 0;

  /// Compares a block of results of `fn`; an infinity counts as the power of two just out of range,
  /// a NaN that only one side has as an infinite error.
  void take(Block& block, const hone::ir::Function& fn) {
    const auto [ulp, of_argument] = hone::ir::tolerance(fn.error, hone::DType::kF32);
    // Where a function may have 0, its error counts from there.
    const Doubles flushed =
        Vector::constant(fn.flushes ? hone::ir::flushed_below(hone::DType::kF32) : 0);
    const Doubles top = Vector::constant(0x1p128), bottom = Vector::constant(-0x1p128);
    const Doubles zero = Vector::constant(0), sign = Vector::constant(-0.0);
    const Doubles exponent = Vector::constant_bits(uint64_t{0x7ff} << 52);
    Doubles most_ulps = zero, most_tolerated = zero;
    for (int i = 0; i < kBlock; i += kStep) {
      const Doubles result = Vector::min(top, Vector::max(bottom, widened(block.result + i)));
      const Doubles exact =
          Vector::min(top, Vector::max(bottom, Vector::load(block.reference + i)));
      const auto nan = Vector::both(Vector::unord(result, result), Vector::unord(exact, exact));
      const auto unlike = Vector::unord(result, exact);
      Doubles error = Vector::andnot(sign, Vector::sub(result, exact));
      error = Vector::select(unlike, Vector::constant(HUGE_VAL), error);
      error = Vector::select(nan, zero, error);
      const auto vanishes =
          Vector::both(Vector::lt(Vector::andnot(sign, exact), flushed), Vector::eq(result, zero));
      error = Vector::select(vanishes, zero, error);
      // One unit in the last place is 2^-23 of the power of two at or below.
      const Doubles power =
          Vector::min(Vector::constant(0x1p127),
                      Vector::max(Vector::constant(0x1p-126), Vector::and_(exact, exponent)));
      const Doubles units = Vector::mul(Vector::div(error, power), Vector::constant(0x1p23));
      const Doubles allowed = Vector::mul(Vector::andnot(sign, widened(block.x + i)),
                                          Vector::constant(of_argument * 0x1p-23));
      // The second operand stands where an argument of 0 makes the first NaN.
      const Doubles share =
          Vector::min(Vector::div(error, allowed), Vector::mul(units, Vector::constant(1 / ulp)));
      Vector::store(block.ulps + i, units);
      Vector::store(block.tolerated + i, share);
      most_ulps = Vector::max(most_ulps, units);
      most_tolerated = Vector::max(most_tolerated, share);
    }
    note(block, block.ulps, largest(most_ulps), ulps, ulps_at);
    note(block, block.tolerated, largest(most_tolerated), tolerated, tolerated_at);
  }

 private:
  static void note(const Block& block, const double* errors, double most, double& worst,
                   float& at) {
    if (most <= worst) return;
    worst = most;
    at = block.x[std::find(errors, errors + kBlock, most) - errors];
  }
};

}  // namespace

int main(int argc, char** argv) {
  const uint64_t stride = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1;
  static Block block;
  int failed = 0;
  for (const hone::ir::Function& fn : hone::ir::functions()) {
    const std::string_view name = fn.name;
    if (argc > 2 && std::none_of(argv + 2, argv + argc, [&](char* a) { return name == a; }))
      continue;
    const auto* reference = std::find_if(std::begin(kReferences), std::end(kReferences),
                                         [&](const Reference& r) { return name == r.name; });
    if (reference == std::end(kReferences)) reference = nullptr;
    const hone::ir::Tolerance most = hone::ir::tolerance(fn.error, hone::DType::kF32);
    Worst worst;
    for (uint64_t first = 0; first < uint64_t{1} << 32; first += kBlock * stride) {
      fn.arity == 1 ? fill(block, first, stride) : fill_pairs(block, first, stride);
      evaluate(block, fn, reference);
      worst.take(block, fn);
    }
    std::printf("%-6s f32 %-9s ", kIsa, fn.name);
    if (most.of_argument > 0) {
      std::printf("%.3f of its tolerance at %a\n", worst.tolerated, worst.tolerated_at);
    } else {
      std::printf("%.3f ulp at %a\n", worst.ulps, worst.ulps_at);
    }
    std::fflush(stdout);
    failed += worst.tolerated > 1;
  }
  return failed != 0;
}
