// SPDX-License-Identifier: Apache-2.0
// Vectors of elements of less than a byte: in any order near by, and by way of other types.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "include/hone/hone.h"
#include "tests/support/vector_units.h"

using namespace hone;

namespace {

constexpr int64_t kElements = 200;

struct Packed {
  const char* name;
  int bits;
  bool is_signed;
};
constexpr Packed kTypes[] = {
    {"u4", 4, false}, {"i4", 4, true}, {"u2", 2, false}, {"i2", 2, true}, {"u1", 1, false}};

/// Element `at` of a row of such elements.
int64_t element(const Packed& t, const std::vector<uint8_t>& bytes, int64_t at) {
  const int64_t bit = at * t.bits, count = int64_t{1} << t.bits;
  const int64_t value = (bytes[static_cast<size_t>(bit / 8)] >> (bit % 8)) % count;
  return t.is_signed && value >= count / 2 ? value - count : value;
}

struct Order {
  const char* text;  ///< of the index
  std::function<int64_t(int64_t)> place;
};
const Order kOrders[] = {
    {"i", [](int64_t i) { return i; }},
    {"i + 3", [](int64_t i) { return i + 3; }},
    {"2*i + 1", [](int64_t i) { return 2 * i + 1; }},
    {"i/2", [](int64_t i) { return i / 2; }},
    {"150 - i", [](int64_t i) { return 150 - i; }},
};
constexpr const char* kSteps[] = {"vectorize Y/i",
                                  "split Y/i 8 -> i.o i.i tail=peel; vectorize Y/i.i",
                                  "split Y/i 16 -> i.o i.i tail=mask; vectorize Y/i.i"};

/// Y[i] = `value`, in which x is an element, against `of(x)` for each type, order and length.
template <class T>
void compare(Engine& engine, const char* type, const std::string& value,
             const std::function<T(int64_t)>& of) {
  for (const Packed& t : kTypes) {
    std::vector<uint8_t> bytes(static_cast<size_t>((kElements * t.bits + 7) / 8));
    for (size_t b = 0; b < bytes.size(); ++b) bytes[b] = static_cast<uint8_t>(37 * b + 11);
    for (const Order& order : kOrders) {
      std::string read = value;
      read.replace(read.find('x'), 1, std::string("X[") + order.text + "]");
      for (const int64_t n : {96, 64, 7}) {
        const std::string text = std::string("op p(X: ") + t.name + "[200]) -> (Y: " + type +
                                 "[N]) { Y[i in 0..N] = " + read + " } N=" + std::to_string(n);
        for (const char* steps : kSteps) {
          const Kernel kernel = engine.compile(text, {.schedule = steps});
          std::vector<T> y(static_cast<size_t>(n)), right;
          kernel(bytes, y);
          for (int64_t i = 0; i < n; ++i) right.push_back(of(element(t, bytes, order.place(i))));
          CHECK_MESSAGE(y == right, text << " | " << engine.target() << " | " << steps);
        }
      }
    }
  }
}

}  // namespace

TEST_CASE("packed lanes: elements in any order near by") {
  tests::for_each_unit([](Engine& engine) {
    compare<float>(engine, "f32", "cast<f32>(x)*3.0",
                   [](int64_t x) { return static_cast<float>(3 * x); });
    compare<int32_t>(engine, "i32", "cast<i32>(x) + 5",
                     [](int64_t x) { return static_cast<int32_t>(x + 5); });
    compare<int8_t>(engine, "i8", "cast<i8>(x)", [](int64_t x) { return static_cast<int8_t>(x); });
  });
}

TEST_CASE("packed lanes: a value by way of a 16-bit float") {
  tests::for_each_unit([](Engine& engine) {
    for (const char* between : {"bf16", "f16", "f8e4m3"}) {
      compare<float>(engine, "f32", std::string("cast<f32>(cast<") + between + ">(x))",
                     [](int64_t x) { return static_cast<float>(x); });
    }
    // No number of that type: 15 has four digits, f8e5m2 three.
    compare<float>(engine, "f32", "cast<f32>(cast<f8e5m2>(cast<f32>(x)*2.0 + 1.0))", [](int64_t x) {
      const float exact = static_cast<float>(2 * x + 1);
      for (float step = 1;; step *= 2) {
        const float kept = exact / step;
        if (kept < 8 && kept > -8) return std::nearbyint(kept) * step;
      }
    });
  });
}
