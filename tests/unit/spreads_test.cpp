// SPDX-License-Identifier: Apache-2.0
// Vectors of elements that lie near one another in another order: one load and a shuffle.
#include <doctest/doctest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "include/hone/hone.h"
#include "tests/support/vector_units.h"

using namespace hone;

namespace {

constexpr int64_t kElements = 96;

struct Order {
  const char* text;  ///< of the index
  std::function<int64_t(int64_t)> place;
};

const Order kOrders[] = {
    {"i/2", [](int64_t i) { return i / 2; }},
    {"i/3", [](int64_t i) { return i / 3; }},
    {"(2*i + 3)/4", [](int64_t i) { return (2 * i + 3) / 4; }},
    {"(5*i + 3)/8", [](int64_t i) { return (5 * i + 3) / 8; }},
    {"i/16", [](int64_t i) { return i / 16; }},
    {"i/2*2", [](int64_t i) { return i / 2 * 2; }},
    {"min(95, i/2*2 + 1)", [](int64_t i) { return i / 2 * 2 + 1; }},
    {"95 - i/2*2", [](int64_t i) { return 95 - i / 2 * 2; }},
    {"95 - i", [](int64_t i) { return 95 - i; }},
    {"i%4", [](int64_t i) { return i % 4; }},
    {"i%4*3", [](int64_t i) { return i % 4 * 3; }},
    {"(i + 1)%96", [](int64_t i) { return (i + 1) % 96; }},
    {"i ^ 1", [](int64_t i) { return i ^ 1; }},
    {"i ^ 21", [](int64_t i) { return i ^ 21; }},
    {"i | 2", [](int64_t i) { return i | 2; }},
    {"i & 6", [](int64_t i) { return i & 6; }},
    {"(i + 3) >> 2", [](int64_t i) { return (i + 3) >> 2; }},
    {"95 - (i ^ 5)/3", [](int64_t i) { return 95 - (i ^ 5) / 3; }},
};

/// Elements that lie apart, up to the last one of the tensor.
constexpr int64_t kApart[] = {2, 3, 4, 5, 6, 8};

template <class T>
void compare(Engine& engine, const char* type) {
  std::vector<T> x(kElements);
  for (int64_t i = 0; i < kElements; ++i) x[static_cast<size_t>(i)] = static_cast<T>(i + 1);
  for (const Order& order : kOrders) {
    for (const int64_t n : {96, 91, 64, 7}) {
      const std::string text = std::string("op p(X: ") + type + "[96]) -> (Y: " + type +
                               "[N]) { Y[i] = X[" + order.text + "] } N=" + std::to_string(n);
      for (const char* steps :
           {"vectorize Y/i", "split Y/i 8 -> i.o i.i tail=peel; vectorize Y/i.i",
            "split Y/i 32 -> i.o i.i tail=peel; vectorize Y/i.i"}) {
        const Kernel kernel = engine.compile(text, {.schedule = steps});
        std::vector<T> y(static_cast<size_t>(n));
        kernel(x, y);
        std::vector<T> right;
        for (int64_t i = 0; i < n; ++i) right.push_back(x[static_cast<size_t>(order.place(i))]);
        CHECK_MESSAGE(y == right, text << " | " << engine.target() << " | " << steps);
      }
    }
  }
}

template <class T>
void compare_apart(Engine& engine, const char* type) {
  for (const int64_t apart : kApart) {
    for (const int64_t n : {96, 91, 64, 17, 7}) {
      const int64_t all = apart * (n - 1) + 1;
      std::vector<T> x(static_cast<size_t>(all)), right;
      for (int64_t i = 0; i < all; ++i) x[static_cast<size_t>(i)] = static_cast<T>(i % 251 + 1);
      for (int64_t i = 0; i < n; ++i) right.push_back(x[static_cast<size_t>(i * apart)]);
      const std::string text = std::string("op p(X: ") + type + "[" + std::to_string(all) +
                               "]) -> (Y: " + type + "[N]) { Y[i] = X[" + std::to_string(apart) +
                               "*i] } N=" + std::to_string(n);
      for (const char* steps :
           {"vectorize Y/i", "split Y/i 8 -> i.o i.i tail=peel; vectorize Y/i.i",
            "split Y/i 16 -> i.o i.i tail=peel; vectorize Y/i.i",
            "split Y/i 64 -> i.o i.i tail=peel; vectorize Y/i.i"}) {
        const Kernel kernel = engine.compile(text, {.schedule = steps});
        std::vector<T> y(static_cast<size_t>(n));
        kernel(x, y);
        CHECK_MESSAGE(y == right, text << " | " << engine.target() << " | " << steps);
      }
    }
  }
}

/// The same in a row that data choose.
template <class T>
void compare_rows(Engine& engine, const char* type) {
  constexpr int64_t kRows = 3;
  std::vector<T> x(kRows * kElements);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<T>(i % 251 + 1);
  const std::vector<int32_t> rows = {2, 0, 1, 2};
  for (const Order& order : kOrders) {
    const std::string text = std::string("op p(X: ") + type + "[3,96], r: i32[4]) -> (Y: " + type +
                             "[4,91]) { Y[k,i] = X[r[k]," + order.text + "] }";
    for (const char* steps : {"vectorize Y/i", "split Y/i 16 -> i.o i.i; vectorize Y/i.i"}) {
      const Kernel kernel = engine.compile(text, {.schedule = steps});
      std::vector<T> y(4 * 91), right;
      kernel(x, rows, y);
      for (const int32_t row : rows) {
        for (int64_t i = 0; i < 91; ++i) {
          right.push_back(x[static_cast<size_t>(row * kElements + order.place(i))]);
        }
      }
      CHECK_MESSAGE(y == right, text << " | " << engine.target() << " | " << steps);
    }
  }
}

}  // namespace

TEST_CASE("spreads: elements of every size in any order near by") {
  tests::for_each_unit([](Engine& engine) {
    compare<uint8_t>(engine, "u8");
    compare<int16_t>(engine, "i16");
    compare<float>(engine, "f32");
    compare<double>(engine, "f64");
  });
}

TEST_CASE("spreads: elements a few apart, none past the last") {
  tests::for_each_unit([](Engine& engine) {
    compare_apart<uint8_t>(engine, "u8");
    compare_apart<int16_t>(engine, "i16");
    compare_apart<float>(engine, "f32");
    compare_apart<double>(engine, "f64");
  });
}

TEST_CASE("spreads: rows that data choose are read as vectors, too") {
  tests::for_each_unit([](Engine& engine) {
    compare_rows<uint8_t>(engine, "u8");
    compare_rows<int16_t>(engine, "i16");
    compare_rows<float>(engine, "f32");
    compare_rows<double>(engine, "f64");
  });
}
