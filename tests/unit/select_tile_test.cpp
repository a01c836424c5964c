// SPDX-License-Identifier: Apache-2.0
// Register tiles: products of matrices with the accumulator in registers.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <utility>

#include "jit/x86/encode/print.h"
#include "jit/x86/select/select.h"
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
  const ir::StmtRef zero = tile(ir::make_store(acc, at, ir::make_float(0, DType::kF32)));
  const ir::StmtRef add = tile(ir::make_store(
      acc, at, t.load(a, row * num(k) + kk) * t.load(b, kk * num(n) + column), Reduce::kSum));
  const ir::StmtRef out = tile(ir::make_store(c, row * num(n) + column, t.load(acc, at)));
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

TEST_CASE("select: the inner loop of a tile holds nothing but its work") {
  struct Shape {
    ir::Target target;
    int64_t rows, columns;
  };
  for (const Shape& shape : {Shape{avx512_target(), 14, 32}, Shape{avx2_target(), 6, 16}}) {
    const NestMaker t = tiled_product(shape.rows, shape.columns, 32, shape.rows, shape.columns, 1);
    const auto lir = jit::select(t.nest, t.nest.launches[0], shape.target);
    REQUIRE(bool(lir));
    const std::string text = jit::print(*lir);
    const size_t begin = text.rfind("loop_begin");
    const std::string loop = text.substr(begin, text.find("loop_end", begin) - begin);
    const auto count = [&](const char* word) {
      int64_t n = 0;
      for (size_t at = loop.find(word); at != loop.npos; at = loop.find(word, at + 1)) ++n;
      return n;
    };
    const int64_t vectors = shape.columns * 4 / shape.target.vector_bytes();
    CHECK(count("vfmadd231ps") == shape.rows * vectors);
    CHECK(count("vbroadcastss") == shape.rows);
    CHECK(count("vmovups") == vectors);
    // The head, two pointers, the counter and its jump.
    CHECK(count("\n") == shape.rows * vectors + shape.rows + vectors + 5);
  }
}

TEST_CASE("select: vectors of a tile share a read on a condition, and rows that read the same do") {
  for (const ir::Target& target : runnable_targets()) {
    NestMaker t;
    const int one = t.loop("one"), k = t.loop("k"), row = t.loop("row"), n = t.loop("n");
    const int64_t rows = 4, columns = 2 * target.vector_bytes() / 4, taps = 6, most = 7;
    const int x = t.tensor("X", DType::kF32, most), f = t.tensor("F", DType::kF32, taps * columns);
    const int y = t.tensor("Y", DType::kF32, rows * columns);
    const int acc = t.registers("T", DType::kF32, rows * columns);
    const auto num = [](int64_t v) { return ir::make_int(v); };
    const ir::Expr at = t.var(row) * num(columns) + t.var(n);
    // Rows 2*i and 2*i + 1 read the same element, which may lie behind the last.
    const ir::Expr half = ir::make_binary(ir::Op::kDiv, t.var(row), num(2));
    const ir::Expr place = t.var(k) + half;
    const ir::Expr inside = ir::make_binary(ir::Op::kLt, place, num(most - 1));
    const ir::Expr read = t.guarded(x, place, inside, ir::make_float(0.5, DType::kF32));
    const auto tile = [&](ir::StmtRef s) {
      return t.loop_over(row, Mark::kUnroll, rows, {t.loop_over(n, Mark::kVector, columns, {s})});
    };
    const ir::StmtRef add = tile(ir::make_store(
        acc, at, read * t.load(f, t.var(k) * num(columns) + t.var(n)), Reduce::kSum));
    t.launch(
        one, num(1),
        {tile(ir::make_store(acc, at, ir::make_float(0, DType::kF32))),
         t.loop_over(k, Mark::kSerial, taps, {add}), tile(ir::make_store(y, at, t.load(acc, at)))});
    check(t, target);
    const auto lir = jit::select(t.nest, t.nest.launches[0], target);
    REQUIRE(bool(lir));
    const std::string text = jit::print(*lir);
    int64_t reads = 0;
    for (size_t i = text.find("vbroadcastss"); i != text.npos; i = text.find("vbroadcastss", i + 1))
      ++reads;
    CHECK(reads <= rows / 2 + 1);  // and 0.5
  }
}

TEST_CASE("select: a register tile read along its other axis") {
  for (const DType type :
       {DType::kF32, DType::kF64, DType::kI64, DType::kF16, DType::kI32, DType::kU8}) {
    for (const std::pair<int64_t, int64_t>& shape :
         {std::pair<int64_t, int64_t>{16, 16}, {8, 8}, {4, 4}, {8, 16}, {16, 8}, {5, 7}, {3, 16}}) {
      const int64_t rows = shape.first, columns = shape.second;
      NestMaker t;
      const int one = t.loop("one"), i = t.loop("i"), j = t.loop("j");
      const int x = t.tensor("X", type, rows * columns), y = t.tensor("Y", type, rows * columns);
      const int tile = t.registers("T", type, rows * columns);
      const auto num = [](int64_t v) { return ir::make_int(v); };
      const ir::Expr at = t.var(i) * num(columns) + t.var(j);
      t.launch(one, num(1),
               {t.loop_over(i, Mark::kUnroll, rows,
                            {t.loop_over(j, Mark::kVector, columns,
                                         {ir::make_store(tile, at, t.load(x, at))})}),
                t.loop_over(j, Mark::kUnroll, columns,
                            {t.loop_over(i, Mark::kVector, rows,
                                         {ir::make_store(y, t.var(j) * num(rows) + t.var(i),
                                                         t.load(tile, at))})})});
      for (const ir::Target& target : runnable_targets()) {
        const NestRun run = check_nest(t, target);
        INFO(std::string(name_of(type)), " ", rows, " x ", columns);
        CHECK_MESSAGE(run.refusal.empty(), run.refusal);
        CHECK_MESSAGE(run.error.empty(), run.error, "\n", run.lir);
      }
    }
  }
}

TEST_CASE("select: a tile accessed in other vectors than it was written in") {
  NestMaker t;
  const int one = t.loop("one"), i = t.loop("i"), j = t.loop("j");
  const int x = t.tensor("X", DType::kF32, 48), y = t.tensor("Y", DType::kF32, 48);
  const int tile = t.registers("T", DType::kF32, 48);
  const int other = t.registers("R", DType::kF32, 16);
  const auto num = [](int64_t v) { return ir::make_int(v); };
  t.launch(
      one, num(1),
      {t.loop_over(j, Mark::kVector, 16, {ir::make_store(other, t.var(j), t.load(x, t.var(j)))}),
       t.loop_over(j, Mark::kVector, 48, {ir::make_store(tile, t.var(j), t.load(x, t.var(j)))}),
       t.loop_over(
           i, Mark::kUnroll, 4,
           {t.loop_over(j, Mark::kVector, 12,
                        {ir::make_store(tile, t.var(i) * num(12) + t.var(j),
                                        t.load(other, t.var(i) * num(3)) * t.load(x, t.var(j)),
                                        Reduce::kSum)})}),
       t.loop_over(j, Mark::kUnroll, 48, {ir::make_store(y, t.var(j), t.load(tile, t.var(j)))})});
  for (const ir::Target& target : runnable_targets()) {
    const NestRun run = check_nest(t, target);
    CHECK_MESSAGE(run.refusal.empty(), run.refusal);
    CHECK_MESSAGE(run.error.empty(), run.error, "\n", run.lir);
  }
}

TEST_CASE("select: quarters of a tile's registers are taken out and put back whole") {
  const auto num = [](int64_t v) { return ir::make_int(v); };
  // Seven lanes of eight are added to in pieces of four, two and one, as rests without masks are.
  for (const int64_t lanes : {7, 6, 5, 4, 12}) {
    NestMaker t;
    const int one = t.loop("one"), i = t.loop("i"), j = t.loop("j"), k = t.loop("k");
    const int x = t.tensor("X", DType::kF32, 9 * lanes), y = t.tensor("Y", DType::kF32, 16);
    const int tile = t.registers("T", DType::kF32, 16);
    const ir::Expr half = ir::make_float(0.5, DType::kF32);
    const ir::Expr row = t.load(x, t.var(i) * num(lanes) + t.var(k));
    t.launch(
        one, num(1),
        {t.loop_over(j, Mark::kVector, 16, {ir::make_store(tile, t.var(j), half)}),
         t.loop_over(i, Mark::kSerial, 9,
                     {t.loop_over(k, Mark::kVector, lanes,
                                  {ir::make_store(tile, t.var(k), row, Reduce::kSum)})}),
         t.loop_over(j, Mark::kVector, 16, {ir::make_store(y, t.var(j), t.load(tile, t.var(j)))})});
    const NestRun run = check_nest(t, avx2_target());
    CHECK_MESSAGE(run.refusal.empty(), run.refusal);
    CHECK_MESSAGE(run.error.empty(), run.error, "\n", run.lir);
    // An element on its own would be turned to its lane.
    if (lanes % 4 == 0) CHECK_MESSAGE(run.lir.find("vpshufd") == std::string::npos, run.lir);
  }
}

TEST_CASE("select: wider lanes read aligned parts of a tile of bytes") {
  for (const DType wide : {DType::kI16, DType::kI32, DType::kF32, DType::kF64}) {
    NestMaker t;
    const int one = t.loop("one"), i = t.loop("i"), j = t.loop("j");
    const int x = t.tensor("X", DType::kU8, 3 * 64), y = t.tensor("Y", wide, 64);
    const int tile = t.registers("T", DType::kU8, 64);
    const ir::Expr e = t.load(x, t.var(i) * ir::make_int(64) + t.var(j));
    t.launch(
        one, ir::make_int(1),
        {t.loop_over(j, Mark::kVector, 64, {ir::make_store(tile, t.var(j), t.load(x, t.var(j)))}),
         t.loop_over(i, Mark::kUnroll, 3,
                     {t.loop_over(j, Mark::kVector, 64,
                                  {ir::make_store(tile, t.var(j), e, Reduce::kMax)})}),
         t.loop_over(j, Mark::kVector, 64,
                     {ir::make_store(y, t.var(j), ir::make_cast(wide, t.load(tile, t.var(j))))})});
    for (const ir::Target& target : runnable_targets()) {
      const NestRun run = check_nest(t, target);
      CHECK_MESSAGE(run.refusal.empty(), run.refusal);
      CHECK_MESSAGE(run.error.empty(), run.error, "\n", run.lir);
      CHECK_MESSAGE(run.lir.find("vpbroadcastb") == std::string::npos, run.lir);
    }
  }
}

TEST_CASE("select: terms that are known to lie outside are no instruction") {
  const auto num = [](int64_t v) { return ir::make_int(v); };
  NestMaker t;
  const int one = t.loop("one"), i = t.loop("i"), r = t.loop("r"), j = t.loop("j");
  const int x = t.tensor("X", DType::kI32, 2 * 16), y = t.tensor("Y", DType::kI32, 4 * 16);
  const int tile = t.registers("T", DType::kI32, 4 * 16);
  const ir::Expr row = t.var(i) + t.var(r) - num(2), at = t.var(i) * num(16) + t.var(j);
  const ir::Expr inside = ir::make_binary(ir::Op::kAnd, ir::make_binary(ir::Op::kLe, num(0), row),
                                          ir::make_binary(ir::Op::kLt, row, num(2)));
  const ir::Expr least = ir::identity(Reduce::kMax, DType::kI32);
  const auto rows = [&](const ir::StmtRef& s) {
    return t.loop_over(i, Mark::kUnroll, 4, {t.loop_over(j, Mark::kVector, 16, {s})});
  };
  t.launch(one, num(1),
           {rows(ir::make_store(tile, at, least)),
            t.loop_over(r, Mark::kUnroll, 3,
                        {rows(ir::make_store(tile, at,
                                             t.guarded(x, row * num(16) + t.var(j), inside, least),
                                             Reduce::kMax))}),
            rows(ir::make_store(y, at, t.load(tile, at)))});
  for (const ir::Target& target : runnable_targets()) {
    const NestRun run = check_nest(t, target);
    CHECK_MESSAGE(run.refusal.empty(), run.refusal);
    CHECK_MESSAGE(run.error.empty(), run.error, "\n", run.lir);
    size_t count = 0;
    for (size_t at = run.lir.find("vpmaxsd"); at < run.lir.find("allocated");
         at = run.lir.find("vpmaxsd", at + 1)) {
      ++count;
    }
    // Rows 0 to 3 reach both rows, both, both and one.
    CHECK_MESSAGE(count == 6 * (64 / static_cast<size_t>(target.vector_bytes())), run.lir);
  }
}

TEST_CASE("select: terms that some lanes choose are combined under a mask") {
  const auto num = [](int64_t v) { return ir::make_int(v); };
  for (const DType type : {DType::kF32, DType::kF64, DType::kI32, DType::kI64, DType::kI16}) {
    for (const Reduce reduce : {Reduce::kSum, Reduce::kMax, Reduce::kMin, Reduce::kProd}) {
      for (const bool first : {true, false}) {
        NestMaker t;
        const int one = t.loop("one"), i = t.loop("i"), j = t.loop("j");
        const int x = t.tensor("X", type, 5 * 21), y = t.tensor("Y", type, 21);
        const int tile = t.registers("T", type, 21);
        const ir::Expr nothing = ir::identity(reduce, type);
        const ir::Expr e = t.load(x, t.var(i) * num(21) + t.var(j));
        const ir::Expr chosen = ir::make_binary(ir::Op::kLt, e, ir::make_cast(type, num(2)));
        const ir::Expr term =
            first ? ir::make_select(chosen, e * e, nothing) : ir::make_select(chosen, nothing, e);
        t.launch(one, num(1),
                 {t.loop_over(j, Mark::kVector, 21, {ir::make_store(tile, t.var(j), nothing)}),
                  t.loop_over(i, Mark::kSerial, 5,
                              {t.loop_over(j, Mark::kVector, 21,
                                           {ir::make_store(tile, t.var(j), term, reduce)})}),
                  t.loop_over(j, Mark::kVector, 21,
                              {ir::make_store(y, t.var(j), t.load(tile, t.var(j)))})});
        for (const ir::Target& target : runnable_targets()) {
          const NestRun run = check_nest(t, target);
          CHECK_MESSAGE(run.refusal.empty(), run.refusal);
          CHECK_MESSAGE(run.error.empty(), name_of(type), " ", name_of(reduce), " ", run.error,
                        "\n", run.lir);
        }
      }
    }
  }
}

TEST_CASE("select: a tile of bools has the lanes of what its steps compare") {
  NestMaker t;
  const int one = t.loop("one"), i = t.loop("i"), j = t.loop("j");
  const int x = t.tensor("X", DType::kF32, 4 * 64), y = t.tensor("Y", DType::kBool, 64);
  const int tile = t.registers("T", DType::kBool, 64);
  const ir::Expr e = t.load(x, t.var(i) * ir::make_int(64) + t.var(j));
  const ir::Expr differs = ir::make_binary(ir::Op::kNe, e, e);
  const auto along = [&](ir::StmtRef s) { return t.loop_over(j, Mark::kVector, 64, {s}); };
  t.launch(one, ir::make_int(1),
           {along(ir::make_store(tile, t.var(j), ir::make_int(0, DType::kBool))),
            t.loop_over(i, Mark::kSerial, 4,
                        {along(ir::make_store(tile, t.var(j), differs, Reduce::kAny))}),
            along(ir::make_store(y, t.var(j), t.load(tile, t.var(j))))});
  check(t, avx2_target());
  const NestRun run = check_nest(t, runnable_targets().back());
  // Elements that move on their own would leave thousands of instructions.
  CHECK(std::count(run.lir.begin(), run.lir.end(), '\n') < 600);
}

}  // namespace hone::tests
