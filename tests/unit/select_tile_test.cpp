// SPDX-License-Identifier: Apache-2.0
// Register tiles: products of matrices with the accumulator in registers.
#include <doctest/doctest.h>

#include "tests/unit/select_nests.h"

namespace hone::tests {
namespace {

using ir::Mark;
using ir::Reduce;

/// C[m,n] = sum over k of A[m,k] * B[k,n], by tiles of mr x nr.
NestMaker tiled_product(int64_t m, int64_t n, int64_t k, int64_t mr, int64_t nr, int64_t ku) {
  NestMaker t;
  const int mo = t.loop("m.o"), no = t.loop("n.o"), ko = t.loop("k"), ki = t.loop("k.i");
  const int mi = t.loop("m.i"), ni = t.loop("n.i");
  const int a = t.tensor("A", DType::kF32, m * k), b = t.tensor("B", DType::kF32, k * n);
  const int c = t.tensor("C", DType::kF32, m * n), acc = t.registers("Ct", DType::kF32, mr * nr);
  const auto num = [](int64_t v) { return ir::make_int(v); };
  const ir::Expr row = t.var(mo) * num(mr) + t.var(mi), column = t.var(no) * num(nr) + t.var(ni);
  const ir::Expr kk = t.var(ko) * num(ku) + t.var(ki);
  const ir::Expr at = t.var(mi) * num(nr) + t.var(ni);
  const auto tile = [&](ir::StmtRef s) {
    return t.loop_over(mi, Mark::kUnroll, mr, {t.loop_over(ni, Mark::kVector, nr, {s})});
  };
  const ir::StmtRef zero = tile(t.store(acc, at, ir::make_float(0, DType::kF32)));
  const ir::StmtRef add = tile(t.store(
      acc, at, t.load(a, row * num(k) + kk) * t.load(b, kk * num(n) + column), Reduce::kSum));
  const ir::StmtRef out = tile(t.store(c, row * num(n) + column, t.load(acc, at)));
  const ir::StmtRef reduce =
      t.loop_over(ko, Mark::kSerial, k / ku, {t.loop_over(ki, Mark::kUnroll, ku, {add})});
  t.launch(no, num(n / nr), {t.loop_over(mo, Mark::kSerial, m / mr, {zero, reduce, out})});
  return t;
}

void check(const NestMaker& maker, const ir::Target& target) {
  for (const bool at_start : {false, true}) {
    const NestRun run = check_nest(maker, target, at_start);
    CHECK_MESSAGE(run.refusal.empty(), run.refusal);
    CHECK_MESSAGE(run.error.empty(), run.error, "\n", run.lir);
    CHECK(run.inner_spills == 0);
  }
}

}  // namespace

TEST_CASE("select: a register tile of a product") {
  for (const ir::Target& target : runnable_targets()) {
    const bool wide = target.vector_bytes() == 64;
    check(tiled_product(28, 64, 24, wide ? 14 : 4, wide ? 32 : 16, 1), target);
    check(tiled_product(12, 64, 24, 6, 16, 4), target);
    check(tiled_product(12, 44, 24, 2, 22, 2), target);
  }
}

}  // namespace hone::tests
