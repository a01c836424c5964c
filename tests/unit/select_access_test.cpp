// SPDX-License-Identifier: Apache-2.0
// Accesses: strides, gathers, guards, ragged ranges, branches, loops of every kind.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/unit/select_nests.h"

namespace hone::tests {
namespace {

using ir::Expr;
using ir::Mark;
using ir::Op;
using ir::Reduce;

Expr num(int64_t v) { return ir::make_int(v); }
Expr real(double v, DType type = DType::kF32) { return ir::make_float(v, type); }
Expr less(const Expr& a, const Expr& b) { return ir::make_binary(Op::kLt, a, b); }
Expr at_most(const Expr& a, const Expr& b) { return ir::make_binary(Op::kLe, a, b); }
Expr both(const Expr& a, const Expr& b) { return ir::make_binary(Op::kAnd, a, b); }

void check(const NestMaker& maker, const std::string& what, double tolerance = 1e-5) {
  for (const ir::Target& target : runnable_targets()) {
    for (const bool at_start : {false, true}) {
      const NestRun run = check_nest(maker, target, at_start, tolerance);
      INFO(what, target.vector_bytes() == 64 ? " avx512" : " avx2");
      CHECK_MESSAGE(run.refusal.empty(), run.refusal);
      CHECK_MESSAGE(run.error.empty(), run.error, "\n", run.lir);
    }
  }
}

constexpr Mark kMarks[] = {Mark::kSerial, Mark::kUnroll, Mark::kVector};

}  // namespace

TEST_CASE("select: strided reads and writes") {
  for (const DType type : {DType::kF32, DType::kF64, DType::kF16, DType::kI8}) {
    for (const Mark mark : kMarks) {
      for (const bool dynamic : {false, true}) {
        NestMaker t;
        const int i = t.loop("i"), j = t.loop("j");
        const Expr rows = dynamic ? t.dim("M", 1, 99, 13) : num(13);
        const Expr columns = dynamic ? t.dim("N", 1, 99, 21) : num(21);
        const int x = t.tensor("X", type, rows * columns), y = t.tensor("Y", type, rows * columns);
        t.launch(i, rows,
                 {ir::make_for(j, mark, num(0), columns,
                               {ir::make_store(y, t.var(j) * rows + t.var(i),
                                               t.load(x, t.var(i) * columns + t.var(j)))})});
        check(t, std::string(name_of(type)) + " written");
        NestMaker r;
        const int p = r.loop("i"), q = r.loop("j");
        const Expr rows2 = dynamic ? r.dim("M", 1, 99, 13) : num(13);
        const Expr columns2 = dynamic ? r.dim("N", 1, 99, 21) : num(21);
        const int a = r.tensor("X", type, rows2 * columns2);
        const int b = r.tensor("Y", type, rows2 * columns2);
        r.launch(p, rows2,
                 {ir::make_for(q, mark, num(0), columns2,
                               {ir::make_store(b, r.var(p) * columns2 + r.var(q),
                                               r.load(a, r.var(q) * rows2 + r.var(p)))})});
        check(r, std::string(name_of(type)) + " read");
      }
    }
  }
}

TEST_CASE("select: elements a few apart") {
  for (const DType type : {DType::kF32, DType::kF64, DType::kF16, DType::kI32, DType::kI8}) {
    for (const int64_t stride : {2, 3, 4, 5, 6, 7}) {
      for (const int64_t n : {2, 7, 16, 21, 40}) {
        NestMaker t;
        const int i = t.loop("i"), j = t.loop("j");
        const int64_t row = stride * (n - 1) + 1;  // ends with the last element read
        const int x = t.tensor("X", type, 3 * row), y = t.tensor("Y", type, 3 * n);
        t.launch(i, num(3),
                 {ir::make_for(
                     j, Mark::kVector, num(0), num(n),
                     {ir::make_store(y, t.var(i) * num(n) + t.var(j),
                                     t.load(x, t.var(i) * num(row) + t.var(j) * num(stride)))})});
        check(t, std::string(name_of(type)) + " " + std::to_string(stride) + " apart");
      }
    }
  }
}

TEST_CASE("select: a product with strides known at the call") {
  NestMaker t;
  const int mo = t.loop("m.o"), k = t.loop("k"), mi = t.loop("m.i"), n = t.loop("n");
  const Expr depth = t.dim("K", 1, 512, 19), columns = t.dim("N", 32, 512, 40);
  const int a = t.tensor("A", DType::kF32, num(24) * depth);
  const int b = t.tensor("B", DType::kF32, depth * columns);
  const int c = t.tensor("C", DType::kF32, num(24) * columns);
  const int acc = t.registers("acc", DType::kF32, 12 * 16);
  const Expr row = t.var(mo) * num(12) + t.var(mi), at = t.var(mi) * num(16) + t.var(n);
  const auto tile = [&](ir::StmtRef s) {
    return t.loop_over(mi, Mark::kUnroll, 12, {t.loop_over(n, Mark::kVector, 16, {s})});
  };
  t.launch(mo, num(2),
           {tile(ir::make_store(acc, at, real(0))),
            ir::make_for(k, Mark::kSerial, num(0), depth,
                         {tile(ir::make_store(acc, at,
                                              t.load(a, row * depth + t.var(k)) *
                                                  t.load(b, t.var(k) * columns + t.var(n)),
                                              Reduce::kSum))}),
            tile(ir::make_store(c, row * columns + t.var(n), t.load(acc, at)))});
  check(t, "dynamic strides");
}

TEST_CASE("select: gathers") {
  for (const DType type : {DType::kF32, DType::kF16, DType::kU8}) {
    for (const DType index : {DType::kI64, DType::kI32}) {
      for (const Mark mark : kMarks) {
        for (const bool rows : {false, true}) {
          NestMaker t;
          const int i = t.loop("i"), j = t.loop("j");
          const Expr n = t.dim("N", 1, 99, 21);
          const int ids = t.tensor("ids", index, num(30));
          const int e = t.tensor("E", type, num(16) * n), y = t.tensor("Y", type, num(7) * n);
          const Expr id = ir::make_cast(DType::kI64, t.load(ids, rows ? t.var(i) : t.var(j)));
          const Expr from = rows ? id * n + t.var(j) : id + t.var(i);
          t.launch(i, num(7),
                   {ir::make_for(j, mark, num(0), n,
                                 {ir::make_store(y, t.var(i) * n + t.var(j), t.load(e, from))})});
          check(t, std::string(name_of(type)) + (rows ? " rows" : " elements"));
        }
      }
    }
  }
}

TEST_CASE("select: elements near together, in rows that data choose") {
  NestMaker t;
  const int i = t.loop("i"), j = t.loop("j");
  const int ids = t.tensor("ids", DType::kI64, num(7));
  const int e = t.tensor("E", DType::kU8, num(16 * 8)), y = t.tensor("Y", DType::kU8, num(7 * 16));
  const Expr half = ir::make_binary(Op::kDiv, t.var(j), num(2));
  t.launch(i, num(7),
           {ir::make_for(j, Mark::kVector, num(0), num(16),
                         {ir::make_store(y, t.var(i) * num(16) + t.var(j),
                                         t.load(e, t.load(ids, t.var(i)) * num(8) + half))})});
  check(t, "halves");
  for (const ir::Target& target : runnable_targets()) {
    const NestRun run = check_nest(t, target, false, 0);
    // No byte is inserted on its own.
    CHECK_MESSAGE(run.lir.find("vpinsrb") == std::string::npos, run.lir);
  }
}

TEST_CASE("select: both elements of pairs come from one whole vector") {
  NestMaker t;
  const int i = t.loop("i"), j = t.loop("j");
  const int x = t.tensor("X", DType::kF32, num(7 * 32)),
            y = t.tensor("Y", DType::kF32, num(7 * 32));
  const Expr pair = ir::make_binary(Op::kDiv, t.var(j), num(2)) * num(2), row = t.var(i) * num(32);
  t.launch(
      i, num(7),
      {ir::make_for(j, Mark::kVector, num(0), num(32),
                    {ir::make_store(y, row + t.var(j),
                                    t.load(x, row + pair) - t.load(x, row + pair + num(1)))})});
  check(t, "pairs");
  for (const ir::Target& target : runnable_targets()) {
    const NestRun run = check_nest(t, target);
    // No part of a vector under a mask, no element on its own.
    CHECK_MESSAGE(run.lir.find("kmovq") == std::string::npos, run.lir);
    CHECK_MESSAGE(run.lir.find("vinsertps") == std::string::npos, run.lir);
  }
}

TEST_CASE("select: bits of an index that a constant changes are a shuffle") {
  for (const Op op : {Op::kBitXor, Op::kBitOr, Op::kBitAnd, Op::kShr}) {
    NestMaker t;
    const int i = t.loop("i"), j = t.loop("j");
    const int x = t.tensor("X", DType::kF32, num(7 * 32)),
              y = t.tensor("Y", DType::kF32, num(7 * 32));
    const Expr row = t.var(i) * num(32), near = ir::make_binary(op, t.var(j), num(3));
    t.launch(i, num(7),
             {ir::make_for(j, Mark::kVector, num(0), num(32),
                           {ir::make_store(y, row + t.var(j), t.load(x, row + near))})});
    check(t, "bits");
    for (const ir::Target& target : runnable_targets()) {
      const NestRun run = check_nest(t, target);
      CHECK_MESSAGE(run.lir.find("vinsertps") == std::string::npos, run.lir);
    }
  }
}

TEST_CASE("select: positions that lanes compute") {
  const Expr last = num(36);
  const auto clamped = [&](const Expr& at) {
    return ir::make_binary(Op::kMax, num(0), ir::make_binary(Op::kMin, last, at));
  };
  for (const DType type : {DType::kF32, DType::kF64, DType::kBF16, DType::kI8, DType::kBool}) {
    for (const DType index : {DType::kI64, DType::kI32, DType::kF32}) {
      for (const Mark mark : kMarks) {
        for (const int64_t n : {3, 16, 40}) {
          NestMaker t;
          const int i = t.loop("i"), j = t.loop("j");
          const int ids = t.tensor("ids", index, num(n));
          const int x = t.tensor("X", type, num(5 * 37)), y = t.tensor("Y", type, num(10 * n));
          const Expr id = ir::make_cast(DType::kI64, t.load(ids, t.var(j)));
          const Expr row = t.var(i) * num(37), to = t.var(i) * num(n) + t.var(j);
          const Expr turned = ir::make_select(less(id, num(5)), num(36) - id, id - num(5));
          const Expr at = id * num(3) - num(6);
          const Expr inside = both(at_most(num(0), at), less(at, num(37)));
          const Expr otherwise = is_float(type) ? real(1, type) : ir::make_int(1, type);
          t.launch(i, num(5),
                   {ir::make_for(j, mark, num(0), num(n),
                                 {ir::make_store(y, to, t.load(x, row + clamped(turned))),
                                  ir::make_store(y, to + num(5 * n),
                                                 t.guarded(x, row + at, inside, otherwise))})});
          check(t, std::string(name_of(type)) + " at " + std::string(name_of(index)));
        }
      }
    }
  }
}

TEST_CASE("select: of a vector of checks the first that fails is told") {
  for (const DType type : {DType::kI64, DType::kI32, DType::kU8}) {
    for (const int64_t most : {3, 14, 15}) {  // often, seldom, never
      for (const bool dynamic : {false, true}) {
        NestMaker t;
        const int i = t.loop("i"), j = t.loop("j");
        const Expr n = dynamic ? t.dim("N", 1, 99, 37) : num(37);
        const int ids = t.tensor("ids", type, num(5) * n);
        const Expr id = ir::make_cast(DType::kI64, t.load(ids, t.var(i) * n + t.var(j)));
        const Expr position = (num(4) - t.var(i)) * num(500) + t.var(j) * num(3);
        t.launch(i, num(5),
                 {ir::make_for(j, Mark::kVector, num(0), n,
                               {ir::make_check(at_most(id, num(most)), position)})});
        check(t, std::string(name_of(type)) + " to " + std::to_string(most));
      }
    }
  }
}

TEST_CASE("select: a part of a vector that was just stored is not loaded again") {
  // Y[i,j] = Y[i-1,j]*X[i,j] in rows of two vectors and a part of one, or of others.
  NestMaker t;
  const int o = t.loop("o"), i = t.loop("i"), j = t.loop("j");
  const int x = t.tensor("X", DType::kF32, num(8 * 37)),
            y = t.tensor("Y", DType::kF32, num(9 * 37));
  const Expr at = t.var(i) * num(37) + t.var(j);
  const auto row = ir::make_for(j, Mark::kVector, num(0), num(37),
                                {ir::make_store(y, at + num(37), t.load(y, at) * t.load(x, at))});
  t.launch(o, num(1), {ir::make_for(i, Mark::kUnroll, num(0), num(8), {row})});
  check(t, "rows");
  for (const ir::Target& target : runnable_targets()) {
    const NestRun run = check_nest(t, target);
    const auto count = [&](const std::string& what) {
      size_t n = 0;
      for (size_t at = run.lir.find(what); at != std::string::npos;
           at = run.lir.find(what, at + 1)) {
        ++n;
      }
      return n;
    };
    // In all rows but the first a product has its factor from the one before.
    if (target.has(ir::Isa::kAvx512)) CHECK_MESSAGE(count("{k1}{z}") == 8 + 1, run.lir);
  }
}

TEST_CASE("select: lanes that are known to lie inside are no gather") {
  for (const Op op : {Op::kDiv, Op::kBitXor}) {
    NestMaker t;
    const int i = t.loop("i"), j = t.loop("j");
    const int x = t.tensor("X", DType::kF32, num(7 * 32)),
              y = t.tensor("Y", DType::kF32, num(7 * 16));
    // Columns 3 to 12 of each row's near elements are there.
    const Expr near = ir::make_binary(op, t.var(j), num(3)), at = t.var(i) * num(32) + near;
    const Expr inside =
        ir::make_binary(Op::kAnd, at_most(num(3), t.var(j)), at_most(t.var(j), num(12)));
    t.launch(i, num(7),
             {ir::make_for(
                 j, Mark::kVector, num(0), num(16),
                 {ir::make_store(y, t.var(i) * num(16) + t.var(j),
                                 t.guarded(x, at, inside, ir::make_float(-1, DType::kF32)))})});
    check(t, "inside");
    for (const ir::Target& target : runnable_targets()) {
      const NestRun run = check_nest(t, target);
      CHECK_MESSAGE(run.lir.find("gather") == std::string::npos, run.lir);
      CHECK_MESSAGE(run.lir.find("vinsertps") == std::string::npos, run.lir);
    }
  }
}

TEST_CASE("select: reads that may leave the tensor") {
  for (const DType type : {DType::kF32, DType::kF64, DType::kBF16, DType::kI32, DType::kU8}) {
    for (const Mark mark : kMarks) {
      for (const bool dynamic : {false, true}) {
        for (const int64_t step : {1, 2}) {
          NestMaker t;
          const int i = t.loop("i"), j = t.loop("j");
          const Expr n = dynamic ? t.dim("N", 1, 99, 37) : num(37);
          const int x = t.tensor("X", type, num(3) * n), y = t.tensor("Y", type, num(3) * n);
          const Expr at = t.var(j) * num(step) - num(2);
          const Expr inside = both(at_most(num(0), at), less(at, n));
          const Expr otherwise = is_float(type) ? real(-4, type) : ir::make_int(9, type);
          t.launch(
              i, num(3),
              {ir::make_for(j, mark, num(0), n,
                            {ir::make_store(y, t.var(i) * n + t.var(j),
                                            t.guarded(x, t.var(i) * n + at, inside, otherwise))})});
          check(t, std::string(name_of(type)) + " step " + std::to_string(step));
        }
      }
    }
  }
}

TEST_CASE("select: what all lanes have in common of a guard is a branch around a masked load") {
  for (const DType type : {DType::kF32, DType::kF64, DType::kI8, DType::kBool}) {
    for (const int64_t exist : {0, 2, 4}) {
      NestMaker t;
      const int i = t.loop("i"), j = t.loop("j");
      const int x = t.tensor("X", type, exist * 21), y = t.tensor("Y", type, 4 * 21);
      const Expr column = t.var(j) - num(1);
      const Expr guard =
          both(both(at_most(num(0), column), less(t.var(i), num(exist))), less(column, num(21)));
      const Expr otherwise = type == DType::kBool ? ir::make_int(1, type)
                             : is_float(type)     ? real(7, type)
                                                  : ir::make_int(7, type);
      t.launch(i, num(4),
               {ir::make_for(
                   j, Mark::kVector, num(0), num(21),
                   {ir::make_store(y, t.var(i) * num(21) + t.var(j),
                                   t.guarded(x, t.var(i) * num(21) + column, guard, otherwise))})});
      check(t, std::string(name_of(type)) + " of " + std::to_string(exist) + " rows");
      const std::string lir = check_nest(t, avx2_target()).lir;
      if (type == DType::kF32 && exist == 2) {
        // No row that does not exist comes to the load.
        const size_t load = lir.find("vmaskmovps");
        REQUIRE_MESSAGE(load != std::string::npos, lir);
        CHECK(lir.rfind("jump_ge", load) != std::string::npos);
      }
    }
  }
}

TEST_CASE("select: bytes beside a border are vectors where it is known which lie outside") {
  NestMaker t;
  const int i = t.loop("i"), j = t.loop("j");
  const int x = t.tensor("X", DType::kU8, 3 * 32), y = t.tensor("Y", DType::kU8, 3 * 32);
  const Expr column = t.var(j) - num(2), row = t.var(i) * num(32);
  t.launch(i, num(3),
           {ir::make_for(j, Mark::kVector, num(0), num(32),
                         {ir::make_store(y, row + t.var(j),
                                         t.guarded(x, row + column, at_most(num(0), column),
                                                   ir::make_int(7, DType::kU8)))})});
  check(t, "bytes");
  const std::string lir = check_nest(t, avx2_target()).lir;
  CHECK_MESSAGE(lir.find("vpinsrb") == std::string::npos, lir);
}

TEST_CASE("select: branches") {
  for (const Mark mark : kMarks) {
    for (const bool dynamic : {false, true}) {
      NestMaker t;
      const int i = t.loop("i"), j = t.loop("j");
      const Expr n = dynamic ? t.dim("N", 1, 99, 37) : num(37);
      const int x = t.tensor("X", DType::kF32, num(5) * n),
                y = t.tensor("Y", DType::kF32, num(5) * n);
      const Expr at = t.var(i) * n + t.var(j);
      const ir::StmtRef then = ir::make_store(y, at, t.load(x, at) * real(2));
      const ir::StmtRef otherwise = ir::make_store(y, at, real(3));
      t.launch(
          i, num(5),
          {ir::make_for(j, mark, num(0), n,
                        {ir::make_if(less(t.var(j), t.var(i) * num(4) + num(3)), then, otherwise)}),
           ir::make_if(ir::make_binary(Op::kEq, t.var(i), num(2)),
                       ir::make_store(y, t.var(i) * n, real(77)))});
      check(t, "branch");
    }
  }
}

TEST_CASE("select: ragged sums") {
  for (const Mark mark : {Mark::kSerial, Mark::kVector}) {
    NestMaker t;
    const int b = t.loop("b"), j = t.loop("j"), d = t.loop("d");
    const int e = t.tensor("E", DType::kF32, 16 * 24), ids = t.tensor("ids", DType::kI64, 64);
    const int y = t.tensor("Y", DType::kF32, 6 * 24), acc = t.registers("acc", DType::kF32, 24);
    const Expr lo = t.load(ids, t.var(b)), hi = t.load(ids, t.var(b) + num(1)) + num(3);
    t.launch(
        b, num(6),
        {t.loop_over(d, Mark::kVector, 24, {ir::make_store(acc, t.var(d), real(0))}),
         ir::make_for(
             j, Mark::kSerial, lo, hi,
             {t.loop_over(d, Mark::kVector, 24,
                          {ir::make_store(acc, t.var(d),
                                          t.load(e, t.load(ids, t.var(j)) * num(24) + t.var(d)),
                                          Reduce::kSum)})}),
         t.loop_over(d, mark == Mark::kSerial ? Mark::kUnroll : mark, 24,
                     {ir::make_store(y, t.var(b) * num(24) + t.var(d), t.load(acc, t.var(d)))})});
    check(t, "ragged");
  }
}

TEST_CASE("select: loops bounded by other loops") {
  for (const Mark mark : kMarks) {
    NestMaker t;
    const int i = t.loop("i"), j = t.loop("j");
    const int x = t.tensor("X", DType::kF32, 20 * 20), y = t.tensor("Y", DType::kF32, 20 * 20);
    const Expr at = t.var(i) * num(20) + t.var(j);
    t.launch(i, num(20),
             {ir::make_for(j, mark, ir::make_binary(Op::kMax, num(0), t.var(i) - num(9)),
                           ir::make_binary(Op::kMin, num(20), t.var(i) + num(2)),
                           {ir::make_store(y, at, t.load(x, at) + real(1))})});
    check(t, "band");
  }
}

TEST_CASE("select: packed layouts divide their index") {
  NestMaker t;
  const int k = t.loop("k"), n = t.loop("n");
  const int w = t.tensor("W", DType::kF32, 12 * 96), p = t.tensor("P", DType::kF32, 12 * 96);
  const Expr nn = t.var(n);
  const Expr at = ir::make_binary(Op::kDiv, nn, num(16)) * num(12 * 16) + t.var(k) * num(16) +
                  ir::make_binary(Op::kMod, nn, num(16));
  t.launch(k, num(12),
           {t.loop_over(n, Mark::kVector, 96,
                        {ir::make_store(p, at, t.load(w, t.var(k) * num(96) + nn))})});
  check(t, "packing");
}

TEST_CASE("select: stores past the caches where tensors are aligned") {
  for (const int64_t n : {64, 96, 100}) {
    NestMaker t;
    const int i = t.loop("i"), j = t.loop("j");
    const int x = t.tensor("X", DType::kF32, n * 5), y = t.tensor("Y", DType::kF32, n * 5);
    t.nest.buffers[static_cast<size_t>(y)].stream = true;
    const Expr at = t.var(i) * num(n) + t.var(j);
    t.launch(i, num(5),
             {t.loop_over(j, Mark::kVector, n, {ir::make_store(y, at, t.load(x, at) + real(1))})});
    check(t, "streamed");
    for (const ir::Target& target : runnable_targets()) {
      const bool streamed = check_nest(t, target).lir.find("vmovnt") != std::string::npos;
      CHECK(streamed == (n * 4 % target.vector_bytes() == 0));
    }
  }
}

}  // namespace hone::tests
