// SPDX-License-Identifier: Apache-2.0
//
// Dot products by instructions: every row on every back end that has it, whatever is left of a
// group, of a vector and of a tile.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "jit/ir/instructions.h"
#include "tests/diff/expect.h"
#include "tests/support/effort.h"

using namespace hone;
using namespace hone::tests;

namespace {

constexpr const BackEnd* kDotBackEnds[] = {&kInterp, &kAvx2, &kAvxVnni, &kAvx512};

/// Checks one schedule wherever the instruction is; it must not be refused there.
void check(const ir::Instruction& row, const std::string& problem, const std::string& steps) {
  std::vector<const BackEnd*> having;
  for (const BackEnd* back_end : kDotBackEnds) {
    if (available(row, target_of(*back_end))) having.push_back(back_end);
  }
  expect_right(problem, {steps}, {}, having);
}

std::string sizes(int m, int n, int k) {
  return " M=" + std::to_string(m) + " N=" + std::to_string(n) + " K=" + std::to_string(k);
}

/// `op p(A: u8[M,K], B: i8[K,N]) -> (C: i32[M,N]) { .. }`.
std::string product_op(const ir::Instruction& row, bool exchanged = false) {
  const std::string a(name_of(exchanged ? row.b : row.a)), b(name_of(exchanged ? row.a : row.b));
  return "op p(A: " + a + "[M,K], B: " + b +
         "[K,N]) -> (C: " + std::string(name_of(row.accumulate)) +
         "[M,N]) { C[m,n] = sum[k](A[m,k] * B[k,n]) }";
}

std::string group_of(const ir::Instruction& row) { return std::to_string(row.group); }

std::string groups(const ir::Instruction& row, const char* n, const char* k, int width) {
  const std::string w = std::to_string(width), g = group_of(row);
  return std::string("[") + n + "/" + w + "][" + k + "/" + g + "][" + n + "%" + w + "][" + k + "%" +
         g + "]";
}

/// A register tile of 3 rows and 32 columns, B packed.
std::string tile(const ir::Instruction& row) {
  return "split n 32 -> n.o n.i tail=peel; split m 3 -> m.o m.i tail=peel; "
         "reorder n.o m.o m.i n.i; stage C at m.o -> Ct in=registers; split Ct/k " +
         group_of(row) +
         " -> k.o k.i tail=peel; reorder k.o Ct/m Ct/n k.i; unroll Ct/m C/m.i; "
         "vectorize Ct/n C/n.i; tensorize k.i " +
         row.name + "; stage B at root -> Bp layout=" + groups(row, "n", "k", 32);
}

}  // namespace

TEST_CASE("diff: dot products, every rest of a group and of a vector") {
  const int most = static_cast<int>(by_effort(9, 17, 40));
  for (const ir::Instruction& row : ir::instructions()) {
    for (bool exchanged : {false, true}) {
      if (exchanged && row.a == row.b) continue;
      const std::string op = product_op(row, exchanged);
      for (int k = 0; k <= most; ++k) {
        for (int n : {1, 5, 16, 39, 64}) check(row, op + sizes(1 + k % 7, n, k), tile(row));
      }
      check(row, op + sizes(7, 70, 130) + " const=B", tile(row));
    }
  }
}

TEST_CASE("diff: dot products with either factor along the lanes, in memory and one by one") {
  for (const ir::Instruction& row : ir::instructions()) {
    const std::string op = product_op(row);
    const std::string split =
        "split k " + group_of(row) + " -> k.o k.i tail=peel; tensorize k.i " + row.name + "; ";
    for (int k : {4, 11}) {
      // Accumulators in memory; rows as lanes, with columns of C apart.
      check(row, op + sizes(5, 40, k),
            split + "reorder k.o m n k.i; vectorize n; stage B at root -> Bp layout=" +
                groups(row, "n", "k", 16));
      check(row, op + sizes(40, 5, k) + " C@N,M",
            split +
                "reorder k.o n m k.i; vectorize m; stage B at root -> Bp layout=[n][k]; stage A at "
                "root -> Ap layout=" +
                groups(row, "m", "k", 16));
      // Without vectors; A lies as it should.
      check(row, op + sizes(3, 5, k) + " B@N,K", split);
    }
  }
}

TEST_CASE("diff: dot products along the reduction") {
  for (const ir::Instruction& row : ir::instructions()) {
    const std::string op = product_op(row);
    const std::string g = group_of(row);
    for (int k : {64, 70, 131}) {
      check(row, op + sizes(3, 4, k) + " B@N,K",
            "split k " + std::to_string(16 * row.group) + " -> k.o k.r tail=peel; split k.r " + g +
                " -> k.v k.i tail=peel; vectorize k.v; tensorize k.i " + row.name);
    }
  }
}

TEST_CASE("diff: dot products of several reduced indices, with a consumer") {
  for (const ir::Instruction& row : ir::instructions()) {
    const std::string a(name_of(row.a)), b(name_of(row.b)), c(name_of(row.accumulate));
    const std::string op = "op p(X: " + a + "[C,H], F: " + b + "[O,C,R], s: " + c +
                           "[O]) -> (Y: " + c +
                           "[H-R+1,O]) { Y[h,o] = max(sum[c,r](X[c,h+r] * F[o,c,r]) + s[o], 0) }";
    for (int c_extent : {4, 7}) {
      check(row, op + " C=" + std::to_string(c_extent) + " H=12 O=20 R=3 const=F",
            "split Y/h 2 -> h.o h.i tail=peel; reorder h.o h.i o; compute Y.1 at h.o in=registers; "
            "split Y.1/c " +
                group_of(row) +
                " -> c.o c.i tail=peel; "
                "reorder c.o r Y.1/h Y.1/o c.i; unroll Y.1/h h.i; vectorize Y.1/o Y/o; "
                "stage X at root -> Xp layout=[d1][d0]; tensorize c.i " +
                row.name + "; stage F at root -> Fp layout=[d0/16][d2][d1/" + group_of(row) +
                "][d0%16][d1%" + group_of(row) + "]");
    }
  }
}
