// SPDX-License-Identifier: Apache-2.0
// Operators on bits against the same by C++, in vectors of each width and in general registers.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "include/hone/hone.h"
#include "jit/ir/integers.h"
#include "jit/x86/compile.h"
#include "runtime/machine/host.h"
#include "tests/support/isa_check.h"
#include "tests/unit/select_nests.h"

using namespace hone;

namespace {

/// The type that arithmetic on T has.
template <class T>
using Computed = std::conditional_t<sizeof(T) == 8, int64_t, int32_t>;

template <class T>
T left_shifted(T a, int64_t n) {
  using C = Computed<T>;
  const bool inside = n >= 0 && n < 8 * static_cast<int64_t>(sizeof(C));
  return inside ? static_cast<T>(static_cast<std::make_unsigned_t<C>>(static_cast<C>(a)) << n) : 0;
}

template <class T>
T right_shifted(T a, int64_t n) {
  const int64_t last = 8 * static_cast<int64_t>(sizeof(Computed<T>)) - 1;
  return static_cast<T>(static_cast<Computed<T>>(a) >> (n < 0 || n > last ? last : n));
}

template <class T>
const char* type_text() {
  return std::is_same_v<T, uint8_t>  ? "u8"
         : std::is_same_v<T, int8_t> ? "i8"
         : sizeof(T) == 2            ? "i16"
         : sizeof(T) == 4            ? "i32"
                                     : "i64";
}

/// Numbers anywhere, and around the ends of the range, 0 and the width of the type.
template <class T>
std::vector<T> operands(uint32_t seed, size_t count) {
  std::mt19937_64 random(seed);
  std::vector<T> out(count);
  for (T& x : out) {
    const auto near = static_cast<int64_t>(random() % 7) - 3;
    switch (random() % 4) {
      case 0:
        x = static_cast<T>(random());
        break;
      case 1:
        x = static_cast<T>(near + static_cast<int64_t>(8 * sizeof(Computed<T>)));
        break;
      case 2:
        x = static_cast<T>(std::numeric_limits<T>::max() + near);
        break;
      default:
        x = static_cast<T>(random() % 70 - 2);
    }
  }
  return out;
}

/// Calls `f` with an engine for each width of vectors that this machine has.
template <class F>
void on_each_width(const F& f) {
  for (const char* isa : {"avx2", "avx512"}) {
    EngineOptions options;
    options.target = std::string("x86 isa=") + isa + " threads=1";
    options.cache = ":memory:";
    const ir::Isa wanted = isa == std::string("avx2") ? ir::Isa::kAvx2 : ir::Isa::kAvx512;
    if (!runtime::host_target().has(wanted)) continue;
    Engine engine(options);
    f(engine);
  }
}

constexpr size_t kBitsCount = 2051;

template <class T>
void compare_by_tensor(Engine& engine) {
  const std::string t = type_text<T>();
  const Kernel kernel = engine.compile(
      fmt::format("op b(A: {0}[N], B: {0}[N]) -> (P: {0}[N], Q: {0}[N], R: {0}[N], S: {0}[N], U: "
                  "{0}[N], V: {0}[N]) {{"
                  "P[i] = A[i] & B[i]; Q[i] = A[i] | B[i]; R[i] = A[i] ^ B[i]; S[i] = A[i] << B[i];"
                  "U[i] = A[i] >> B[i]; V[i] = ~A[i] }} N={1}",
                  t, kBitsCount));
  REQUIRE_FALSE(kernel.report().interpreted);
  const auto a = operands<T>(1, kBitsCount), b = operands<T>(2, kBitsCount);
  std::vector<T> p(kBitsCount), q(kBitsCount), r(kBitsCount), s(kBitsCount), u(kBitsCount),
      v(kBitsCount);
  kernel(a, b, p, q, r, s, u, v);
  for (size_t i = 0; i < kBitsCount; ++i) {
    INFO(t << ": " << int64_t{a[i]} << " and " << int64_t{b[i]});
    REQUIRE(p[i] == static_cast<T>(a[i] & b[i]));
    REQUIRE(q[i] == static_cast<T>(a[i] | b[i]));
    REQUIRE(r[i] == static_cast<T>(a[i] ^ b[i]));
    REQUIRE(s[i] == left_shifted(a[i], b[i]));
    REQUIRE(u[i] == right_shifted(a[i], b[i]));
    REQUIRE(v[i] == static_cast<T>(~a[i]));
  }
}

template <class T>
void compare_by_constants(Engine& engine) {
  const std::string t = type_text<T>();
  const auto a = operands<T>(3, kBitsCount);
  std::vector<T> s(kBitsCount), u(kBitsCount), p(kBitsCount);
  for (const int64_t n : {0, 1, 5, 7, 31, 32, 63, 64, 100, -1}) {
    const Kernel kernel = engine.compile(
        fmt::format("op b(A: {0}[N]) -> (S: {0}[N], U: {0}[N], P: {0}[N]) {{ S[i] = A[i] << ({1});"
                    "U[i] = A[i] >> ({1}); P[i] = (A[i] & {2}) ^ (A[i] | 12) }} N={3}",
                    t, n, n < 0 ? 10 : n, kBitsCount));
    kernel(a, s, u, p);
    for (size_t i = 0; i < kBitsCount; ++i) {
      INFO(t << ": " << int64_t{a[i]} << " by " << n);
      REQUIRE(s[i] == left_shifted(a[i], n));
      REQUIRE(u[i] == right_shifted(a[i], n));
      REQUIRE(p[i] == static_cast<T>((a[i] & (n < 0 ? 10 : n)) ^ (a[i] | 12)));
    }
  }
}

template <class T>
void compare_bits(Engine& engine) {
  compare_by_tensor<T>(engine);
  compare_by_constants<T>(engine);
}

}  // namespace

TEST_CASE("bits: of vectors of every type, by tensors and by constants") {
  on_each_width([](Engine& engine) {
    compare_bits<int8_t>(engine);
    compare_bits<uint8_t>(engine);
    compare_bits<int16_t>(engine);
    compare_bits<int32_t>(engine);
    compare_bits<int64_t>(engine);
  });
}

TEST_CASE("bits: 64-bit integers are shifted by one instruction where the machine has it") {
  tests::NestMaker t;
  const int j = t.loop("j"), one = t.loop("one");
  const int x = t.tensor("X", DType::kI64, 64), n = t.tensor("N", DType::kI64, 64),
            y = t.tensor("Y", DType::kI64, 64);
  const ir::Expr shifted = ir::make_binary(ir::Op::kShr, t.load(x, t.var(j)), t.load(n, t.var(j)));
  const ir::Expr left = ir::make_binary(ir::Op::kShl, shifted, t.load(n, t.var(j)));
  t.launch(one, ir::make_int(1),
           {t.loop_over(j, ir::Mark::kVector, 64, {ir::make_store(y, t.var(j), left)})});
  jit::EmitOptions options;
  options.keep_lir = true;
  for (const ir::Target& target : {tests::avx2_target(), tests::avx512_target()}) {
    const auto code = jit::compile_x86(t.nest, target, options);
    REQUIRE(code);
    const bool wide = target.has(ir::Isa::kAvx512);
    CHECK((code->lir.find("vpsravq") != std::string::npos) == wide);
    CHECK((code->lir.find("vpsrlvq") != std::string::npos) != wide);
    CHECK(code->lir.find("vpsllvq") != std::string::npos);
    CHECK(tests::isa_violation(code->bytes, static_cast<size_t>(code->entries[0]), target).empty());
  }
}

TEST_CASE("bits: a count of another type is cut to no other count") {
  const std::vector<int64_t> counts = {
      0, 4, 31, 32, -1, int64_t{1} << 32, (int64_t{1} << 32) + 1, INT64_MIN};
  const std::vector<int32_t> a(counts.size(), -40);
  on_each_width([&](Engine& engine) {
    const Kernel kernel = engine.compile(
        "op b(A: i32[N], B: i64[N]) -> (S: i32[N], U: i32[N]) { S[i] = A[i] << B[i]; U[i] = A[i] "
        ">> B[i] } N=8");
    std::vector<int32_t> s(counts.size()), u(counts.size());
    kernel(a, counts, s, u);
    for (size_t i = 0; i < counts.size(); ++i) {
      INFO(counts[i]);
      CHECK(s[i] == left_shifted(a[i], counts[i]));
      CHECK(u[i] == right_shifted(a[i], counts[i]));
    }
  });
}

TEST_CASE("bits: in indices, conditions and sizes of ranges, where general registers compute") {
  constexpr int kRows = 37, kColumns = 16;
  std::vector<int32_t> x(kRows * kColumns), y(x.size()), z(x.size());
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<int32_t>(i * 2654435761u);
  on_each_width([&](Engine& engine) {
    const Kernel kernel = engine.compile(
        "op b(X: i32[M,N], B: i32[M]) -> (Y: i32[M,N], Z: i32[M,N]) {"
        "Y[i,j] = X[i, (i ^ 5) & 15] + select((j ^ i) < (i << 1 | 3), X[i^1,j] else 7, 9);"
        "Z[i,j] = sum[k in 0..(M & 12 | 1)](X[i,(j + k) & 15]) + X[i,B[i] & 15] + (X[i,0] >> (i & "
        "40)) } M=1..64 N=16");
    std::vector<int32_t> ids(kRows);
    for (int i = 0; i < kRows; ++i) ids[static_cast<size_t>(i)] = 1000 * i - 7;
    kernel(TensorRef(x.data(), {kRows, kColumns}), TensorRef(ids.data(), {kRows}),
           TensorRef(y.data(), {kRows, kColumns}), TensorRef(z.data(), {kRows, kColumns}));
    const auto at = [&](int i, int j) { return x[static_cast<size_t>(i * kColumns + j)]; };
    for (int i = 0; i < kRows; ++i) {
      for (int j = 0; j < kColumns; ++j) {
        INFO(i << "," << j);
        const int32_t beside = (i ^ 1) < kRows ? at(i ^ 1, j) : 7;
        const auto sum = [](int32_t a, int32_t b) {
          return static_cast<int32_t>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
        };
        CHECK(y[static_cast<size_t>(i * kColumns + j)] ==
              sum(at(i, (i ^ 5) & 15), (j ^ i) < ((i << 1) | 3) ? beside : 9));
        int32_t terms = 0;
        for (int k = 0; k < ((kRows & 12) | 1); ++k) terms = sum(terms, at(i, (j + k) & 15));
        terms = sum(terms, at(i, ids[static_cast<size_t>(i)] & 15));
        CHECK(z[static_cast<size_t>(i * kColumns + j)] ==
              sum(terms, right_shifted(at(i, 0), i & 40)));
      }
    }
  });
}

TEST_CASE("bits: the range of a result holds every result") {
  std::mt19937 random(11);
  const auto number = [&] { return static_cast<int64_t>(random() % 41) - 12; };
  int known = 0;
  for (int n = 0; n < 4000; ++n) {
    const auto op =
        static_cast<ir::Op>(static_cast<int>(ir::Op::kBitAnd) + static_cast<int>(random() % 5));
    ir::IntegerRange a{number(), 0}, b{number(), 0};
    a.hi = a.lo + static_cast<int64_t>(random() % 9);
    b.hi = b.lo + static_cast<int64_t>(random() % 9);
    const auto range = ir::range_of_bits(op, a, b);
    if (!range) continue;
    ++known;
    for (int64_t x = a.lo; x <= a.hi; ++x) {
      for (int64_t y = b.lo; y <= b.hi; ++y) {
        const int64_t v = ir::bits_of(op, DType::kI64, x, y);
        INFO(static_cast<int>(op) << ": " << x << " and " << y);
        REQUIRE(range->lo <= v);
        REQUIRE(v <= range->hi);
      }
    }
  }
  CHECK(known > 1000);
}

TEST_CASE("bits: what is arithmetic as well is folded to it") {
  const ir::Expr x = ir::make_var("x");
  const auto text = [&](ir::Op op, int64_t c) {
    return print(ir::make_binary(op, x, ir::make_int(c)));
  };
  CHECK(text(ir::Op::kBitAnd, 7) == "x%8");
  CHECK(text(ir::Op::kBitAnd, -1) == "x");
  CHECK(text(ir::Op::kBitAnd, 0) == "0");
  CHECK(text(ir::Op::kBitAnd, 5) == "x & 5");
  CHECK(text(ir::Op::kBitAnd, INT64_MAX) == "x & 9223372036854775807");
  CHECK(text(ir::Op::kBitOr, 0) == "x");
  CHECK(text(ir::Op::kBitXor, -1) == "-1 - x");
  CHECK(text(ir::Op::kShl, 3) == "x*8");
  CHECK(text(ir::Op::kShl, 64) == "0");
  CHECK(text(ir::Op::kShl, -1) == "0");
  CHECK(text(ir::Op::kShr, 3) == "x/8");
  CHECK(text(ir::Op::kShr, 99) == "x >> 63");
  CHECK(text(ir::Op::kShr, -1) == "x >> 63");
  CHECK(print(ir::make_binary(ir::Op::kBitXor, x, x)) == "0");
  CHECK(print(ir::make_binary(ir::Op::kBitOr, x + x, x) + x) == "(x + x | x) + x");
}
