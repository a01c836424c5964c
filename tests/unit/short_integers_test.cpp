// SPDX-License-Identifier: Apache-2.0
// Bytes and 16-bit integers in 16-bit lanes: where that is right, and what it gives for all values.
#include "jit/passes/short_integers.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "include/hone/hone.h"
#include "jit/passes/lower.h"
#include "ops/op.h"
#include "schedules/schedule.h"
#include "tests/support/vector_units.h"

using namespace hone;

namespace {

/// The nest of an op over 91 elements after the pass, or "" where it changes nothing.
std::string shortened(const std::string& arguments, const std::string& type,
                      const std::string& body) {
  const auto problem = ops::parse_problem("op p(" + arguments + ") -> (Y: " + type +
                                          "[N]) { Y[i] = " + body + " } N=91");
  REQUIRE_MESSAGE(problem, problem.failure().message);
  const auto scheduled =
      schedules::apply(problem->program, *schedules::Schedule::parse("vectorize Y/i"));
  REQUIRE(scheduled);
  ir::Target target;
  target.isa = static_cast<uint32_t>(ir::Isa::kAvx2);
  const auto nest = jit::lower(*scheduled, target);
  REQUIRE(nest);
  const auto out = jit::with_short_integers(*nest);
  return out ? print(*out) : "";
}

bool is_short(const std::string& text) {
  return !text.empty() && text.find("i32") == text.npos && text.find("i16") != text.npos;
}

int64_t floor_of(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

struct Body {
  const char* text;
  std::function<int64_t(int64_t, int64_t)> value;
};

const Body kBodies[] = {
    {"X[i] + Z[i]*3 - 70", [](int64_t x, int64_t z) { return x + z * 3 - 70; }},
    {"X[i]*Z[i]*X[i]", [](int64_t x, int64_t z) { return x * z * x; }},
    {"-X[i] - Z[i]", [](int64_t x, int64_t z) { return -x - z; }},
    {"min(max(X[i] - Z[i], 0), 100)",
     [](int64_t x, int64_t z) { return std::clamp<int64_t>(x - z, 0, 100); }},
    {"max(X[i]*Z[i], X[i])", [](int64_t x, int64_t z) { return std::max(x * z, x); }},
    {"(X[i]*3 + Z[i])/4", [](int64_t x, int64_t z) { return floor_of(x * 3 + z, 4); }},
    {"(X[i] + Z[i])/9", [](int64_t x, int64_t z) { return floor_of(x + z, 9); }},
    {"(X[i] - Z[i])%7", [](int64_t x, int64_t z) { return x - z - 7 * floor_of(x - z, 7); }},
    {"X[i]/32767 + Z[i]%32766",
     [](int64_t x, int64_t z) { return floor_of(x, 32767) + z - 32766 * floor_of(z, 32766); }},
    {"select(X[i] < Z[i], X[i], 5)", [](int64_t x, int64_t z) { return x < z ? x : 5; }},
    {"select(X[i] + 1 < Z[i] && Z[i] != 3, X[i]*Z[i], Z[i])",
     [](int64_t x, int64_t z) { return x + 1 < z && z != 3 ? x * z : z; }},
    {"cast<u8>(X[i] + 200)*2 + Z[i]",
     [](int64_t x, int64_t z) { return ((x + 200) & 255) * 2 + z; }},
    {"cast<i8>(X[i]*Z[i]) - 1",
     [](int64_t x, int64_t z) { return static_cast<int8_t>(x * z) - 1; }},
    {"(X[i] & Z[i]) + (X[i] | 5) - (Z[i] ^ X[i])",
     [](int64_t x, int64_t z) { return (x & z) + (x | 5) - (z ^ x); }},
    {"max(X[i] ^ Z[i], X[i] & 7)", [](int64_t x, int64_t z) { return std::max(x ^ z, x & 7); }},
    {"(X[i] << 3) + (Z[i] >> 2)", [](int64_t x, int64_t z) { return (x << 3) + (z >> 2); }},
    {"(X[i] & 15)*((Z[i] >> 4) & 15) - 8",
     [](int64_t x, int64_t z) { return (x & 15) * ((z >> 4) & 15) - 8; }},
    {"cast<i32>(X[i] <= Z[i]) + Z[i]", [](int64_t x, int64_t z) { return (x <= z) + z; }},
    {"max(min(X[i], 100), Z[i])",
     [](int64_t x, int64_t z) { return std::max(std::min<int64_t>(x, 100), z); }},
    {"select(X[i] > Z[i], 7, 1)", [](int64_t x, int64_t z) { return x > z ? 7 : 1; }},
    {"select(X[i] >= 40 && Z[i] < 90, max(X[i], Z[i]), min(X[i], Z[i]))",
     [](int64_t x, int64_t z) { return x >= 40 && z < 90 ? std::max(x, z) : std::min(x, z); }},
    {"(X[i]*77 + Z[i]*150 + X[i]*29) >> 8",
     [](int64_t x, int64_t z) { return (x * 106 + z * 150) >> 8; }},
    {"(X[i]*255 + Z[i])/2 - (Z[i]*257 >> 15)",
     [](int64_t x, int64_t z) { return floor_of(x * 255 + z, 2) - (z * 257 >> 15); }},
    {"abs(X[i] - Z[i]) + X[i]", [](int64_t x, int64_t z) { return std::abs(x - z) + x; }},
};

template <class In, class Out>
void check_bodies(Engine& engine, const std::string& in, const std::string& out) {
  // All pairs of bytes; of 16-bit integers a part, in no order.
  std::vector<In> x, z;
  for (int i = 0; i < 1 << 16; ++i) {
    x.push_back(static_cast<In>(sizeof(In) == 1 ? i : i * 40503));
    z.push_back(static_cast<In>(i >> 8));
  }
  for (const Body& b : kBodies) {
    const std::string text = "op p(X: " + in + "[N], Z: " + in + "[N]) -> (Y: " + out +
                             "[N]) { Y[i] = cast<" + out + ">(" + b.text + ") } N=65533";
    Kernel kernel = engine.compile(text, {.schedule = "split Y/i 64 -> i.o i.i tail=peel; "
                                                      "vectorize Y/i.i"});
    std::vector<Out> y(65533), wanted;
    kernel(std::vector<In>(x.begin(), x.begin() + 65533),
           std::vector<In>(z.begin(), z.begin() + 65533), y);
    for (size_t i = 0; i < y.size(); ++i) wanted.push_back(static_cast<Out>(b.value(x[i], z[i])));
    CHECK_MESSAGE(y == wanted, text << " | " << engine.target());
  }
}

}  // namespace

TEST_CASE("short integers: every byte with every other, as the definition has it") {
  tests::for_each_unit([](Engine& engine) {
    check_bodies<int8_t, int8_t>(engine, "i8", "i8");
    check_bodies<uint8_t, uint8_t>(engine, "u8", "u8");
    check_bodies<uint8_t, int16_t>(engine, "u8", "i16");
    check_bodies<int8_t, int16_t>(engine, "i8", "i16");
    check_bodies<int16_t, int16_t>(engine, "i16", "i16");
  });
}

TEST_CASE("short integers: bytes that are compared or chosen stay bytes") {
  for (const std::string type : {"u8", "i8"}) {
    const std::string arguments = "X: " + type + "[N], Z: " + type + "[N]";
    for (const char* body : {"max(X[i], Z[i])", "select(X[i] < 9, X[i], min(Z[i], 100))"}) {
      const std::string text = shortened(arguments, type, "cast<" + type + ">(" + body + ")");
      CHECK_MESSAGE(!text.empty(), body);
      CHECK_MESSAGE(text.find("i32") == std::string::npos, text);
      CHECK_MESSAGE(text.find("i16") == std::string::npos, text);
    }
    // 300 is no byte, nor is a sum.
    CHECK(is_short(shortened(arguments, type, "cast<" + type + ">(max(X[i], Z[i]/2 + 300))")));
    CHECK(is_short(shortened(arguments, type, "cast<" + type + ">(max(X[i] + Z[i], 9))")));
  }
}

TEST_CASE("short integers: every 16-bit integer divided") {
  tests::for_each_unit([](Engine& engine) {
    std::vector<int16_t> x(1 << 16), y(1 << 16);
    for (int i = 0; i < 1 << 16; ++i) x[static_cast<size_t>(i)] = static_cast<int16_t>(i);
    for (const int d : {3, 5, 6, 7, 10, 100, 127, 641, 1000, 16383, 16385, 32767}) {
      const std::string by = std::to_string(d);
      Kernel kernel = engine.compile("op p(X: i16[N]) -> (Y: i16[N]) { Y[i] = cast<i16>(X[i]/" +
                                         by + "*3 + X[i]%" + by + ") } N=65536",
                                     {.schedule = "vectorize Y/i"});
      kernel(x, y);
      int wrong = 0;
      for (size_t i = 0; i < y.size(); ++i) {
        const int64_t q = floor_of(x[i], d);
        wrong += y[i] != static_cast<int16_t>(q * 3 + x[i] - q * d);
      }
      CHECK_MESSAGE(wrong == 0, engine.target() << " by " << d);
    }
  });
}

TEST_CASE("short integers: where 16 bits decide") {
  const std::string bytes = "A: i8[N], B: u8[N]", words = "A: i16[N], B: i16[N]";
  CHECK(is_short(shortened(bytes, "i8", "cast<i8>(A[i]*B[i] + 3)")));
  CHECK(is_short(shortened(bytes, "u8", "cast<u8>(min(max(A[i] + B[i], 0), 255))")));
  CHECK(is_short(shortened(bytes, "bool", "A[i] < B[i] && A[i] != 3")));
  // Low bits of sums need low bits alone.
  CHECK(is_short(shortened(words, "i16", "cast<i16>(A[i]*B[i] + A[i])")));
  CHECK(is_short(shortened(words, "u8", "cast<u8>(A[i]*B[i])")));
  // What is compared or divided must fit.
  CHECK(shortened(words, "i16", "cast<i16>(max(A[i] + B[i], 3))").empty());
  CHECK(shortened(words, "bool", "A[i] - B[i] < 3").empty());
  CHECK(shortened(words, "i16", "cast<i16>((A[i] + B[i])/3)").empty());
  CHECK(shortened(bytes, "i16", "cast<i16>(A[i]*B[i]*B[i]/2)").empty());
  // Nothing is gained where other lanes are wider.
  CHECK(shortened("A: i8[N], B: f32[N]", "i8", "cast<i8>(cast<i32>(B[i]) + A[i])").empty());
  CHECK(shortened("A: i32[N]", "i8", "cast<i8>(A[i] + 3)").empty());
  CHECK(shortened(bytes, "i32", "A[i] + B[i]").empty());
}
