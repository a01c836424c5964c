// SPDX-License-Identifier: Apache-2.0
//
// Short tables at positions that data choose: of each type and of each length around what registers
// hold, by positions of each kind.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/diff/expect.h"
#include "tests/support/effort.h"

using namespace hone;
using namespace hone::tests;

namespace {

const std::vector<std::string> kTypes = {"f32", "u8", "bf16", "i8", "i32", "f16", "f64", "i64"};
const std::vector<int> kLengths = {1,  2,  4,  5,  8,  9,  13, 16,  17,  24,
                                   31, 32, 33, 48, 64, 65, 97, 128, 200, 256};
const std::vector<std::string> kSchedules = {
    "vectorize i",
    "split i 32 -> i.o i.i; vectorize i.i",
    "split i 64 -> i.o i.i tail=peel; vectorize i.i; partition i.o",
};

/// An op that looks up a table of `r` elements, with its dims.
struct Lookup {
  const char* codes;  ///< parameter beside the table
  const char* table;  ///< the table's shape
  const char* value;
};
const std::vector<Lookup> kLookups = {
    {"X: u8[N]", "[R]", "T[X[i]]"},
    {"X: u4[N]", "[R]", "T[X[i]]"},
    {"X: i8[N]", "[R]", "T[cast<i32>(X[i]) + R/2]"},
    {"X: u8[N]", "[R]", "T[X[i]%R]"},
    {"X: i32[N]", "[R]", "T[(X[i] & 255)%R]"},
    {"X: u8[N]", "[3,R]", "T[1,X[i]]"},
    {"X: u8[N]", "[R]", "T[X[i]] else 1"},
    {"X: u8[N]", "[R]", "T[R - 1 - X[i]]"},
    {"X: u8[N]", "[R]", "T[X[i]] + T[R - 1]"},
};

void check(const Lookup& lookup, const std::string& type, int length, const std::string& n) {
  const std::string problem = std::string("op f(") + lookup.codes + ", T: " + type + lookup.table +
                              ") -> (Y: " + type + "[N]) { Y[i] = " + lookup.value +
                              " } R=" + std::to_string(length) + " " + n;
  expect_right(problem, kSchedules);
}

}  // namespace

TEST_CASE("diff: short tables, of each type and length, looked up in registers") {
  const auto every = static_cast<size_t>(by_effort(23, 7, 1));
  size_t number = 0;
  for (const Lookup& lookup : kLookups) {
    for (const std::string& type : kTypes) {
      for (const int length : kLengths) {
        if (number++ % every != 0) continue;
        check(lookup, type, length, number % 2 == 0 ? "N=77" : "N=128");
      }
    }
  }
}
