// SPDX-License-Identifier: Apache-2.0
//
// Elements of structures that lie one after the other: of every size and type, read whole and in
// part, at the ends of their tensors and inside.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/diff/expect.h"
#include "tests/support/effort.h"

using namespace hone;
using namespace hone::tests;

namespace {

const std::vector<std::string> kTypes = {"f32", "f64", "i16", "i32", "bf16", "i64", "u8"};

/// Schedules of a reduction along `k`, and of no reduction.
const std::vector<std::string> kReducing = {
    "split i 32 -> i.o i.i tail=peel; reorder i.o k i.i; unroll k; vectorize i.i",
    "split i 16 -> i.o i.i; reorder i.o k i.i; unroll k; vectorize i.i; partition i.o",
    "split i 8 -> i.o i.i tail=peel; reorder i.o k i.i; vectorize i.i",
    "split i 4 -> i.o i.i tail=peel; reorder i.o k i.i; unroll k; vectorize i.i",
};
const std::vector<std::string> kPlain = {
    "split i 32 -> i.o i.i tail=peel; vectorize i.i",
    "split i 16 -> i.o i.i; vectorize i.i; partition i.o",
    "split i 8 -> i.o i.i tail=peel; vectorize i.i",
    "vectorize i",
};

std::string op(const std::string& type, int size, const std::string& value) {
  const std::string result = type == "bf16" ? "f32" : type;  // what it is reduced in
  return "op f(A: " + type + "[N,S]) -> (Y: " + result + "[N]) { Y[i] = " + value +
         " } S=" + std::to_string(size) + " N=";
}

}  // namespace

TEST_CASE("diff: structures of each size and type, read whole, in part and by places") {
  const auto every = static_cast<size_t>(by_effort(11, 3, 1));
  size_t number = 0;
  for (int size = 2; size <= 17; ++size) {
    const std::string last = std::to_string(size - 1), middle = std::to_string(size / 2);
    for (const std::string& type : kTypes) {
      const std::string n = number % 2 == 0 ? "77" : "64";
      const auto turn = [&] { return number++ % every == 0; };
      if (turn()) expect_right(op(type, size, "max[k](A[i,k])") + n, kReducing);
      if (turn())
        expect_right(op(type, size, "min[k in 0.." + last + "](A[i,k+1])") + n, kReducing);
      if (turn()) expect_right(op(type, size, "A[i," + middle + "]") + n, kPlain);
      if (turn()) expect_right(op(type, size, "max(A[i,0], A[i," + last + "])") + n, kPlain);
    }
  }
}
