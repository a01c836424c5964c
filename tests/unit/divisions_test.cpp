// SPDX-License-Identifier: Apache-2.0
// Divisions of integers in vectors against the same by C++.
#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "include/hone/hone.h"
#include "runtime/machine/host.h"

using namespace hone;

namespace {

template <class T>
T floor_quotient(T a, T b) {
  if (b == 0) return 0;
  const int64_t x = a, y = b;
  if (y == -1) return static_cast<T>(-static_cast<uint64_t>(x));  // MIN/-1 is MIN
  return static_cast<T>(x / y - (x % y != 0 && (x < 0) != (y < 0) ? 1 : 0));
}

template <class T>
T floor_rest(T a, T b) {
  if (b == 0) return 0;
  if (int64_t{b} == -1) return 0;
  const int64_t rest = int64_t{a} % b;
  return static_cast<T>(rest != 0 && (rest < 0) != (int64_t{b} < 0) ? rest + b : rest);
}

template <class T>
const char* name_of_type() {
  return std::is_same_v<T, uint8_t>  ? "u8"
         : std::is_same_v<T, int8_t> ? "i8"
         : sizeof(T) == 2            ? "i16"
         : sizeof(T) == 4            ? "i32"
                                     : "i64";
}

/// Numbers around the ends of the range, around 0 and anywhere.
template <class T>
std::vector<T> numbers() {
  std::vector<T> out;
  if (sizeof(T) == 1) {
    for (int i = 0; i < 256; ++i) out.push_back(static_cast<T>(i));
    return out;
  }
  constexpr int64_t least = std::numeric_limits<T>::min(), most = std::numeric_limits<T>::max();
  for (int64_t i = 0; i < 40; ++i) {
    for (const int64_t x : {least + i, most - i, i - 20, i * i * 7}) out.push_back(T(x));
  }
  std::mt19937_64 random(5);
  const int bits = 8 * sizeof(T);
  for (int i = 0; i < 100; ++i) out.push_back(static_cast<T>(random() >> (random() % bits)));
  return out;
}

/// Each element by itself.
constexpr const char* kByElement = "split Q/i 64 -> i.o i.i";

/// `by`: the divisor's text, `B[i]` or a constant. `schedule`: null for the default.
template <class T>
void compare(Engine& engine, const std::string& by, const std::vector<T>& a,
             const std::vector<T>& b, const char* schedule = nullptr) {
  const bool constant = by != "B[i]";
  const std::string vector = std::string(": ") + name_of_type<T>() + "[N]";
  const std::string text = "op d(A" + vector + (constant ? "" : ", B" + vector) + ") -> (Q" +
                           vector + ", R" + vector + ") { Q[i] = A[i] / " + by +
                           "; R[i] = A[i] % " + by + " } N=" + std::to_string(a.size());
  CompileOptions options;
  if (schedule) options.schedule = schedule;
  const Kernel kernel = engine.compile(text, options);
  REQUIRE_FALSE(kernel.report().interpreted);
  std::vector<T> q(a.size()), r(a.size());
  if (constant) {
    kernel(a, q, r);
  } else {
    kernel(a, b, q, r);
  }
  size_t wrong = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const bool right = q[i] == floor_quotient(a[i], b[i]) && r[i] == floor_rest(a[i], b[i]);
    if (!right && wrong++ == 0) {
      FAIL_CHECK(text << ": of " << int64_t{a[i]} << " and " << int64_t{b[i]} << " are "
                      << int64_t{q[i]} << " and " << int64_t{r[i]});
    }
  }
  CHECK(wrong == 0);
}

template <class T>
void compare_all(Engine& engine) {
  const std::vector<T> each = numbers<T>();
  std::vector<T> a, b;
  for (const T x : each) {
    for (const T y : each) a.push_back(x), b.push_back(y);
  }
  // Around the multiples of a divisor.
  std::mt19937_64 random(6);
  for (int i = 0; i < 20000; ++i) {
    const int bits = 8 * sizeof(T), kept = 1 + static_cast<int>(random() % (bits - 1));
    const uint64_t y = random() >> (64 - kept), of = random() >> (64 - bits + kept);
    b.push_back(static_cast<T>(random() % 2 ? y : -y));
    a.push_back(static_cast<T>((random() % 2 ? y * of : -(y * of)) + random() % 3 - 1));
  }
  // A rest that fills no vector.
  a.resize(a.size() - 3), b.resize(b.size() - 3);
  compare(engine, "B[i]", a, b);
  for (const int64_t by :
       std::initializer_list<int64_t>{1, 3, 5, 7, 10, 25, 100, 127, 641, 10000, 32767, 65537,
                                      2147483647, 4294967297, -1, -7}) {
    if (by > std::numeric_limits<T>::max() || by < std::numeric_limits<T>::min()) continue;
    const std::vector<T> all(a.size(), static_cast<T>(by));
    compare(engine, "(" + std::to_string(by) + ")", a, all);
    compare(engine, "(" + std::to_string(by) + ")", a, all, kByElement);
  }
}

/// Calls `f` with an engine for each width of vectors that this machine has.
template <class F>
void with_each_width(const F& f) {
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

}  // namespace

TEST_CASE("divisions of integer vectors are exact, and defined for 0 and the least number") {
  with_each_width([&](Engine& engine) {
    compare_all<int8_t>(engine);
    compare_all<uint8_t>(engine);
    compare_all<int16_t>(engine);
    compare_all<int32_t>(engine);
    compare_all<int64_t>(engine);
  });
}

TEST_CASE("divisions of numbers that f32 holds by any other are exact") {
  std::mt19937_64 random(7);
  std::vector<int16_t> a;
  std::vector<int32_t> b;
  for (int i = 0; i < 400000; ++i) {
    const auto x = static_cast<int16_t>(random() >> (random() % 16));
    const int64_t dividend = int64_t{x} * 127;
    // Anything; what divides it into few parts, and the numbers beside; itself.
    const int64_t parts = 1 + static_cast<int64_t>(random() % (uint64_t{1} << (random() % 23)));
    const int64_t anything = static_cast<int32_t>(random() >> (random() % 32));
    a.push_back(x);
    b.push_back(static_cast<int32_t>(
        i % 4 == 0   ? anything
        : i % 4 == 1 ? dividend + static_cast<int64_t>(random() % 3) - 1
                     : dividend / parts + static_cast<int64_t>(random() % 3) - 1));
  }
  const auto check = [&](Engine& engine, const std::string& factor, int64_t by) {
    const std::string of = "cast<i32>(A[i])*" + factor;
    const std::string divisor = by == 0 ? "B[i]" : std::to_string(by);
    const Kernel kernel = engine.compile(
        "op d(A: i16[N], B: i32[N]) -> (Q: i32[N], R: i32[N]) { Q[i] = " + of + " / " + divisor +
        "; R[i] = (" + of + ") % " + divisor + " + 0*B[i] } N=" + std::to_string(a.size()));
    REQUIRE_FALSE(kernel.report().interpreted);
    std::vector<int32_t> q(a.size()), r(a.size());
    kernel(a, b, q, r);
    size_t wrong = 0;
    for (size_t i = 0; i < a.size(); ++i) {
      const int32_t x = a[i] * std::stoi(factor), y = by == 0 ? b[i] : static_cast<int32_t>(by);
      if (q[i] == floor_quotient(x, y) && r[i] == floor_rest(x, y)) continue;
      if (wrong++ == 0) FAIL_CHECK(x << " by " << y << ": " << q[i] << " and " << r[i]);
    }
    CHECK(wrong == 0);
  };
  with_each_width([&](Engine& engine) {
    check(engine, "127", 0);
    for (const int64_t by : {3, 7, 641, 10000, 1048573, 2147483647}) check(engine, "32", by);
    for (const int64_t by : {3, 641, 1048573}) check(engine, "127", by);
  });
}
