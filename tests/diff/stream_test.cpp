// SPDX-License-Identifier: Apache-2.0
//
// Rows stored past the caches that begin anywhere in a line: of each size of element, block and
// remainder, with elements of a row left out, in other orders of memory and where dims are open.
#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/diff/expect.h"
#include "tests/support/effort.h"

using namespace hone;
using namespace hone::tests;

namespace {

std::string blocks_of(int size) {
  return "split Y/j " + std::to_string(size) + " -> j.o j.i tail=peel; vectorize Y/j.i; stream Y";
}

}  // namespace

TEST_CASE("diff: rows past the caches begin where lines do, whatever their length") {
  const auto every = static_cast<size_t>(by_effort(7, 3, 1));
  size_t number = 0;
  for (const std::string type : {"f32", "f64", "f16", "i8", "i64", "bf16"}) {
    const std::string op = "op f<T=" + type + ">(X: T[I,J], Z: T[J]) -> (Y: T[I,J]) ";
    for (int extent = 40; extent < 300; extent += 7) {
      if (number++ % every != 0) continue;
      const std::string dims = " I=5 J=" + std::to_string(extent);
      const std::vector<std::string> schedules = {blocks_of(16), blocks_of(32), blocks_of(64)};
      expect_right(op + "{ Y[i,j] = max(X[i,j], Z[j]) }" + dims, schedules);
      expect_right(op + "{ Y[i,j] = max(X[i,J-1-j], Z[j]) }" + dims, schedules);
    }
  }
}

TEST_CASE("diff: rows past the caches in other orders, cut at borders, and of open dims") {
  const std::string op = "op f(X: f32[I,J,K]) -> (Y: f32[I,J,K]) { Y[i,j,k] = X[i,j,k] * 2 } ";
  const std::string blocks = "split Y/k 32 -> k.o k.i tail=peel; vectorize Y/k.i; stream Y";
  const std::vector<std::pair<std::string, std::vector<int64_t>>> problems = {
      {"I=3 J=4 K=77", {}},
      {"I=3 J=4 K=77 Y@I,J,K", {}},
      {"I=3 J=4 K=77 Y.stride=(401,99,1)", {}},
      {"I=3 J=4 K=65..99", {83}},
      {"I=0..3 J=4 K=77", {2}},
  };
  for (const auto& [dims, values] : problems) {
    expect_right(op + dims, {blocks, "reorder Y/j Y/i; " + blocks, blocks + "; parallel Y/i"},
                 values);
  }
  const std::string around = "op f(X: f32[J], Z: f32[I]) -> (Y: f32[I,J]) { ";
  const std::string row = "split Y/j 32 -> j.o j.i tail=peel; vectorize Y/j.i; stream Y";
  expect_right(around + "Y[i,j] = (X[j-3] else 7) + (X[j+5] else Z[i]) } I=4 J=143",
               {row, row + "; partition Y/j.o", row + "; partition Y/j.i",
                row + "; reorder Y/j.o Y/i Y/j.i"});
  expect_right(around + "Y[i,j] = X[j] + Z[i] where j <= 20*i else -1 } I=4 J=143", {row});
  expect_right(around + "e[j] = exp(X[j]); Y[i,j] = e[j] + Z[i] } I=4 J=143",
               {row + "; compute e at Y/i", row + "; compute e at Y/j.o", row});
}
