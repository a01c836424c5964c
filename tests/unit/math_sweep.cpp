// SPDX-License-Identifier: Apache-2.0
// The largest error of every f32 function over all 2^32 arguments, one line a function; see
// jit/x86/math/README.md. Built twice, for AVX2 and for AVX-512. Arguments: a stride (1 for all)
// and names. The reference is the C library's vector functions in f64, good to 4 units of 2^-53.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "jit/x86/math/functions.h"
#include "tests/unit/math_hardware.h"

namespace {

using namespace hone::jit;
using Builder = HardwareBuilder<float>;

constexpr int kBlock = 4096;
constexpr int kLanes = sizeof(Builder::V) / sizeof(float);

#if defined(__AVX512F__)
constexpr const char* kIsa = "avx512";
using Doubles = __m512d;
#define HONE_REFERENCE(name) extern "C" Doubles _ZGVeN8v_##name(Doubles)
#define HONE_CALL(name) _ZGVeN8v_##name
#else
constexpr const char* kIsa = "avx2";
using Doubles = __m256d;
#define HONE_REFERENCE(name) extern "C" Doubles _ZGVdN4v_##name(Doubles)
#define HONE_CALL(name) _ZGVdN4v_##name
#endif

}  // namespace

HONE_REFERENCE(cos);
HONE_REFERENCE(erf);
HONE_REFERENCE(erfc);
HONE_REFERENCE(exp);
HONE_REFERENCE(exp2);
HONE_REFERENCE(expm1);
HONE_REFERENCE(log);
HONE_REFERENCE(log1p);
HONE_REFERENCE(log2);
HONE_REFERENCE(sin);
HONE_REFERENCE(tanh);

namespace {

using Vector = HardwareBuilder<double>;

Doubles one() { return Vector::constant(1); }

/// 1 / (1 + e^-x) from the side where nothing cancels or overflows.
Doubles sigmoid(Doubles x) {
  const Doubles e = HONE_CALL(exp)(Vector::or_(x, Vector::constant(-0.0)));
  const Doubles top = Vector::select(Vector::lt(x, Vector::constant(0)), e, one());
  return Vector::div(top, Vector::add(one(), e));
}

/// x * value, but -0 for minus infinity.
Doubles gated(Doubles x, Doubles value) {
  const auto vanished = Vector::eq(x, Vector::constant(-INFINITY));
  return Vector::select(vanished, Vector::constant(-0.0), Vector::mul(x, value));
}

Doubles softplus(Doubles x) {
  const Doubles e = HONE_CALL(exp)(Vector::or_(x, Vector::constant(-0.0)));
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
};

const Reference kReferences[] = {
    {"cos", HONE_CALL(cos)},
    {"erf", HONE_CALL(erf)},
    {"exp", HONE_CALL(exp)},
    {"exp2", HONE_CALL(exp2)},
    {"expm1", HONE_CALL(expm1)},
    {"gelu", gelu},
    {"gelu_tanh", gelu_tanh},
    {"log", HONE_CALL(log)},
    {"log1p", HONE_CALL(log1p)},
    {"log2", HONE_CALL(log2)},
    {"rsqrt", [](Doubles x) { return Vector::div(one(), Vector::sqrt(x)); }},
    {"sigmoid", sigmoid},
    {"silu", [](Doubles x) { return gated(x, sigmoid(x)); }},
    {"sin", HONE_CALL(sin)},
    {"softplus", softplus},
    {"tanh", HONE_CALL(tanh)},
};

/// Arguments, results and reference of one block.
struct Block {
  alignas(64) float x[kBlock];
  alignas(64) float result[kBlock];
  alignas(64) double reference[kBlock];
  alignas(64) double ulps[kBlock];       ///< error in units in the last place
  alignas(64) double tolerated[kBlock];  ///< error as a share of the tolerance
};

void fill(Block& block, uint64_t first, uint64_t stride) {
  for (int i = 0; i < kBlock; ++i) {
    const uint32_t bits = static_cast<uint32_t>(first + i * stride);
    std::memcpy(&block.x[i], &bits, sizeof bits);
  }
}

void evaluate(Block& block, const MathRow<Builder>& row, const Reference& reference) {
  Builder builder;
  for (int i = 0; i < kBlock; i += kLanes) {
    const auto x = Builder::load(block.x + i);
    Builder::store(block.result + i, row.expand(builder, x, x));
  }
  constexpr int kStep = kLanes / 2;
  for (int i = 0; i < kBlock; i += kStep) {
    alignas(64) double x[kStep];
    for (int k = 0; k < kStep; ++k) x[k] = block.x[i + k];
    Vector::store(block.reference + i, reference.value(Vector::load(x)));
  }
}

/// The reciprocal of one unit in the last place of a float near `value`.
double units(double value) {
  uint64_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  int64_t exponent = (bits >> 52) & 0x7ff;
  exponent = exponent < 1023 - 126 ? 1023 - 126 : exponent > 1023 + 127 ? 1023 + 127 : exponent;
  bits = static_cast<uint64_t>(2 * 1023 - (exponent - 23)) << 52;
  std::memcpy(&value, &bits, sizeof bits);
  return value;
}

double limited(double x) { return x > 0x1p128 ? 0x1p128 : x < -0x1p128 ? -0x1p128 : x; }

/// Errors of a block; an infinity counts as the power of two just out of range, a NaN that only one
/// side has as an infinite error.
void compare(Block& block, double ulp, double of_argument) {
  const double own = 1 / ulp;
  for (int i = 0; i < kBlock; ++i) {
    const double result = limited(block.result[i]);
    const double exact = limited(block.reference[i]);
    const bool unlike = (result != result) != (exact != exact);
    double error = std::fabs(result - exact);
    error = error == error ? error : 0;
    error = unlike ? HUGE_VAL : error;
    block.ulps[i] = error * units(exact);
    const double size = std::fabs(double{block.x[i]});
    const double share = error / (of_argument * 0x1p-23 * size);
    const double share_of_ulps = block.ulps[i] * own;
    block.tolerated[i] = share < share_of_ulps ? share : share_of_ulps;
  }
}

/// The largest errors so far and where.
struct Worst {
  double ulps = 0, tolerated = 0;
  float ulps_at = 0, tolerated_at = 0;

  void take(const Block& block) {
    double u = 0, t = 0;
    for (int i = 0; i < kBlock; ++i) u = block.ulps[i] > u ? block.ulps[i] : u;
    for (int i = 0; i < kBlock; ++i) t = block.tolerated[i] > t ? block.tolerated[i] : t;
    if (u > ulps) {
      ulps = u;
      ulps_at = block.x[std::find(block.ulps, block.ulps + kBlock, u) - block.ulps];
    }
    if (t > tolerated) {
      tolerated = t;
      tolerated_at =
          block.x[std::find(block.tolerated, block.tolerated + kBlock, t) - block.tolerated];
    }
  }
};

}  // namespace

int main(int argc, char** argv) {
  const uint64_t stride = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1;
  static Block block;
  int failed = 0;
  for (const auto& row : math_rows<float, Builder>()) {
    if (row.arity != 1) continue;
    if (argc > 2 && std::none_of(argv + 2, argv + argc, [&](char* a) { return row.name == a; }))
      continue;
    const auto* reference = std::find_if(std::begin(kReferences), std::end(kReferences),
                                         [&](const Reference& r) { return row.name == r.name; });
    Worst worst;
    for (uint64_t first = 0; first < uint64_t{1} << 32; first += kBlock * stride) {
      fill(block, first, stride);
      evaluate(block, row, *reference);
      compare(block, row.ulp, row.of_argument);
      worst.take(block);
    }
    const bool gated = row.of_argument > 0;
    std::printf("%-6s f32 %-9s ", kIsa, reference->name);
    if (gated) {
      std::printf("%.3f of its tolerance at %a\n", worst.tolerated, worst.tolerated_at);
    } else {
      std::printf("%.3f ulp at %a\n", worst.ulps, worst.ulps_at);
    }
    std::fflush(stdout);
    failed += worst.tolerated > 1;
  }
  return failed != 0;
}
