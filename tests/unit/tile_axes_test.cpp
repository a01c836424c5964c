// SPDX-License-Identifier: Apache-2.0
// Along which axes register tiles run, how results leave them, and how packed copies are made.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

#include "jit/ir/structures.h"
#include "jit/passes/lower.h"
#include "jit/x86/compile.h"
#include "ops/op.h"
#include "schedules/schedule.h"
#include "schedules/space/space.h"
#include "schedules/steps/edit.h"
#include "tests/support/programs.h"

using namespace hone;

namespace {

/// The variable along which a stage runs as vectors, or "".
std::string vector_of(const ir::Stage& s) {
  for (const ir::Loop& l : s.loops) {
    if (l.mark == ir::Mark::kVector) return schedules::roots_of(s, l.name).at(0);
  }
  return {};
}

/// The first stage that reduces in registers; null where none does.
const ir::Stage* tile_of(const ir::Program& p) {
  for (const ir::Stage& s : p.stages) {
    const bool registers = p.buffer(s.output)->space == ir::Space::kRegisters;
    if (registers && s.reduce != ir::Reduce::kNone) return &s;
  }
  return nullptr;
}

/// True when a copy of `tensor` in registers feeds a packed copy of it.
bool packs_by_squares(const ir::Program& p, const std::string& tensor) {
  return std::any_of(p.stages.begin(), p.stages.end(), [&](const ir::Stage& s) {
    return p.buffer(s.output)->space == ir::Space::kRegisters && s.reduce == ir::Reduce::kNone &&
           schedules::reads(s, tensor);
  });
}

}  // namespace

TEST_CASE("tile axes: an axis that fills its vectors is taken, results leave transposed") {
  const ir::Target target = tests::target_named("x86 isa=avx512 threads=1 l1d=32K l2=1M l3=32M");
  // Rows of 14 and of 7 pixels fill 14 and 7 lanes of 16.
  for (const char* text : {"conv2d N=1 C=256 H=14 W=14 O=256 R=3 Q=3 P=1 const=F",
                           "conv2d N=1 C=512 H=7 W=7 O=512 R=3 Q=3 P=1 const=F"}) {
    CAPTURE(text);
    const ir::Program p = tests::by_default(text, target);
    const ir::Stage* tile = tile_of(p);
    REQUIRE(tile);
    CHECK(vector_of(*tile) == "o");
    CHECK(vector_of(*p.stage("Y")) == "w");
  }
  // The same of an op that no library has.
  const ir::Program p = tests::by_default(
      "op f(A: f32[K,I], B: f32[J,K]) -> (C: f32[J,I]) { C[j,i] = sum[k](A[k,i] * B[j,k]) } "
      "I=17 J=64 K=300 const=B",
      target);
  const ir::Stage* tile = tile_of(p);
  REQUIRE(tile);
  CHECK(vector_of(*tile) == "j");
  CHECK(vector_of(*p.stage("C")) == "i");
}

TEST_CASE("tile axes: elements two apart are vectors, too") {
  for (const char* isa : {"avx2", "avx512"}) {
    const ir::Target target =
        tests::target_named(std::string("x86 isa=") + isa + " threads=1 l1d=32K l2=1M l3=32M");
    const ir::Program p = tests::by_default("cp_tensor I=4 R=2 J=5 K=64", target);
    const ir::Stage* tile = tile_of(p);
    REQUIRE(tile);
    CHECK(vector_of(*tile) == "k");
  }
}

TEST_CASE("tile axes: elements of structures are taken out of the vectors that hold them") {
  for (const char* machine : {"x86 isa=avx512 threads=1 l1d=32K l2=1M l3=32M",
                              "x86 isa=avx2 threads=1 l1d=32K l2=1M l3=32M"}) {
    const ir::Target target = tests::target_named(machine);
    for (const int elements : {3, 4, 5, 7, 8}) {
      const auto p = ops::parse_problem(
          "op f(A: f32[N,K]) -> (Y: f32[N]) { Y[i] = sum[k](A[i,k]*A[i,k]) } N=10000 K=" +
          std::to_string(elements));
      REQUIRE(p);
      const ir::Program scheduled = schedules::analytic_schedule(p->program, target).program;
      CAPTURE(elements);
      const ir::Stage* tile = tile_of(scheduled);
      REQUIRE(tile);
      CHECK(vector_of(*tile) == "i");
      // Steps that are all unrolled load each vector once.
      CHECK(std::any_of(tile->loops.begin(), tile->loops.end(), [](const ir::Loop& l) {
        return l.name == "k" && l.mark == ir::Mark::kUnroll;
      }));
    }
  }
}

TEST_CASE("tile axes: what structures take counts blends and permutes") {
  const ir::Machine wide = ir::machine_of(tests::target_named("x86 isa=avx512 threads=1"));
  const ir::Machine narrow = ir::machine_of(tests::target_named("x86 isa=avx2 threads=1"));
  CHECK(ir::shuffles_of_structures(wide, 4, 1).all() == 0);
  CHECK(ir::shuffles_of_structures(wide, 4, 8).permutes == 3);
  CHECK(ir::shuffles_of_structures(narrow, 4, 8).permutes == 6);
  CHECK(ir::shuffles_of_structures(wide, 4, 15).blends == 6);
  CHECK(ir::shuffles_of_structures(wide, 4, 15).permutes == 2);
  for (const int64_t structure : {2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 16}) {
    CHECK(ir::shuffles_structures(wide, 4, structure));
    CHECK(ir::shuffles_structures(narrow, 4, structure) == (structure <= 8));
  }
  for (const int64_t structure : {1, 11, 13, 14, 17, 32}) {
    CHECK_FALSE(ir::shuffles_structures(wide, 4, structure));
  }
  CHECK(ir::shuffles_structures(wide, 2, 14));
  CHECK_FALSE(ir::shuffles_structures(wide, 8, 5));
  CHECK_FALSE(ir::shuffles_structures(narrow, 8, 3));
  CHECK(ir::shuffles_of_structures(wide, 1, 4).permutes == 3);
  CHECK(ir::shuffles_structures(wide, 1, 8));
  CHECK(ir::shuffles_structures(narrow, 2, 4));
  CHECK_FALSE(ir::shuffles_structures(narrow, 1, 8));
  CHECK(ir::shuffles_of_structures(wide, 1, 3).permutes == 4);
  CHECK_FALSE(ir::shuffles_structures(wide, 1, 5));
}

TEST_CASE("tile axes: lanes apart of short rows know which of them lie inside") {
  const ir::Target target = tests::target_named("x86 isa=avx2 threads=1 l1d=32K l2=1M l3=32M");
  const std::string pooled = "avg_pool2d N=2 C=1 H=1 W=65 A=6 B=4 P=8";
  const auto p = ops::parse_problem(pooled);
  REQUIRE(p);
  const std::string steps = schedules::analytic_schedule(p->program, target).schedule.text();
  // A row of 39 is one tile, so that no loop moves what lanes test.
  CHECK_MESSAGE(steps.find("split Y/w 40 ") != std::string::npos, steps);
  // Images lie as far apart as rows of a window do; they share no element of the one row.
  CHECK_MESSAGE(steps.find("unroll Y.1/q Y.1/r") == std::string::npos, steps);
  // Neither cut saves enough by itself.
  CHECK_MESSAGE(steps.find("partition Y/h Y.1/r") != std::string::npos, steps);
}

TEST_CASE("tile axes: rows that fill their vectors leave as they are") {
  const ir::Target target = tests::target_named("x86 isa=avx512 threads=1 l1d=32K l2=1M l3=32M");
  for (const char* text : {"matmul M=128 N=128 K=128", "fc_relu M=64 N=512 K=512 const=W,b"}) {
    CAPTURE(text);
    const ir::Program p = tests::by_default(text, target);
    const ir::Stage* tile = tile_of(p);
    REQUIRE(tile);
    CHECK(vector_of(*tile) == "n");
  }
}

TEST_CASE("tile axes: rows of quotients that few borders cut fill vectors") {
  const ir::Target target = tests::target_named("x86 isa=avx512 threads=1 l1d=32K l2=1M l3=32M");
  const auto vector_with = [&](const std::string& dims) {
    const ir::Program p =
        tests::by_default("conv_transpose2d N=1 G=6 C=2 H=4 W=66 P=5 SW=2 " + dims, target);
    const ir::Stage* tile = tile_of(p);
    return tile ? vector_of(*tile) : "none";
  };
  CHECK(vector_with("O=2 R=1 Q=1 V=129") == "v");
  CHECK(vector_with("O=2 R=3 Q=3 V=129") == "v");
  // Channels fill their vectors.
  CHECK(vector_with("O=16 R=3 Q=3 V=129") == "o");
}

TEST_CASE("tile axes: of every n-th tap constants are packed, rows take turns, borders are cut") {
  for (const char* isa : {"avx2", "avx512"}) {
    const ir::Target target =
        tests::target_named("x86 isa=" + std::string(isa) + " threads=1 l1d=32K l2=1M l3=32M");
    for (const int taps : {3, 4}) {
      CAPTURE(isa);
      CAPTURE(taps);
      const std::string text = fmt::format(
          "conv_transpose2d N=1 G=1 C=128 H=28 W=28 O=64 R={} Q={} P=56 V=56 SH=2 SW=2 PH=1 PW=1 "
          "const=F,b",
          taps, taps);
      const ir::Program p = tests::by_default(text, target);
      const ir::Stage* tile = tile_of(p);
      REQUIRE(tile);
      CHECK(vector_of(*tile) == "o");
      REQUIRE(p.buffer("F.p"));
      CHECK(!p.buffer("F.p")->axes.empty());
      bool cut = false;
      int64_t rows = 0;
      for (const ir::Stage& s : p.stages) {
        for (const ir::Loop& l : s.loops) cut |= l.partition;
        for (const ir::Relation& r : s.relations) rows = r.parent == "v" ? r.factor : rows;
      }
      CHECK(cut);
      CHECK(rows > 2);
      CHECK(rows % 2 == 0);
    }
  }
}

TEST_CASE("tile axes: codes of few bits are looked up along vectors, not written out") {
  const ir::Target target = tests::target_named("x86 isa=avx512 threads=1 l1d=32K l2=1M l3=32M");
  for (const char* order : {"", "A@K,N "}) {
    CAPTURE(order);
    const ir::Program p = tests::by_default(
        "op product(X: f32[M,K], T: f32[16], A: u4[N,K]) -> (Y: f32[M,N]) { "
        "Y[m,n] = sum[k](X[m,k]*T[A[n,k]]) } M=8 N=1024 K=1024 " +
            std::string(order) + "const=A,T",
        target);
    const ir::Stage* tile = tile_of(p);
    REQUIRE(tile);
    CHECK(vector_of(*tile) == "n");
    CHECK(!p.buffer("T.l"));
  }
}

TEST_CASE("tile axes: tiles along quotients that never repeat are unrolled") {
  for (const char* isa : {"avx2", "avx512"}) {
    const ir::Target target =
        tests::target_named(std::string("x86 isa=") + isa + " threads=2 l1d=48K l2=1M l3=32M");
    const auto unrolls = [&](const std::string& dims) {
      const ir::Program p = tests::by_default("adaptive_avg_pool2d N=8 H=42 W=16 " + dims, target);
      const ir::Stage& y = *p.stage("Y");
      return std::any_of(y.loops.begin(), y.loops.end(), [&](const ir::Loop& l) {
        return l.mark == ir::Mark::kUnroll && schedules::roots_of(y, l.name).at(0) == "v";
      });
    };
    CHECK(unrolls("P=1 V=2120"));
    // Two tiles of 16 are as all others, and one is a row.
    CHECK(!unrolls("P=1 V=64"));
    CHECK(!unrolls("P=1 V=15"));
  }
}

TEST_CASE("tile axes: results whose rows collide in the cache are written row by row") {
  const ir::Target target = tests::target_named("x86 isa=avx2 threads=1 l1d=48K l2=1M l3=32M");
  const auto outermost = [&](const std::string& problem) {
    const ir::Program p = tests::by_default(problem, target);
    const ir::Stage& c = *p.stage("C");
    return schedules::roots_of(c, c.loops.front().name).at(0);
  };
  CHECK(outermost("matmul M=512 N=512 K=4") == "m");
  CHECK(outermost("matmul M=301 N=1023 K=1") == "m");
  CHECK(outermost("matmul M=512 N=1024 K=16") == "m");
  // They do not, or factors cost more.
  CHECK(outermost("matmul M=1000 N=1000 K=4") == "n");
  CHECK(outermost("matmul M=512 N=1024 K=512") == "n");
}

TEST_CASE("tile axes: packed copies are transposed in registers") {
  const ir::Target target = tests::target_named("x86 isa=avx512 threads=1 l1d=32K l2=1M l3=32M");
  CHECK(packs_by_squares(tests::by_default("matmul M=256 N=256 K=256 B@N,K", target), "B"));
  // One tensor read along two axes.
  const ir::Program gram = tests::by_default(
      "op gram(X: f32[M,K]) -> (G: f32[M,M]) { G[i,j] = sum[k](X[i,k] * X[j,k]) } M=256 K=200",
      target);
  CHECK(packs_by_squares(gram, "X"));
  CHECK(tile_of(gram));
}

TEST_CASE("tile axes: taps of a window are unrolled without spills") {
  const ir::Target target = tests::target_named("x86 isa=avx512 threads=1 l1d=32K l2=1M l3=32M");
  const auto nest = jit::lower(
      tests::by_default("conv2d N=1 C=64 H=56 W=56 O=64 R=3 Q=3 P=1 const=F,b", target), target);
  REQUIRE(nest);
  const auto code = jit::compile_x86(*nest, target);
  REQUIRE(code);
  CHECK(code->report.vec_peak > target.vector_registers());
  CHECK(code->report.inner_spills == 0);
}

TEST_CASE("tile axes: rows that are one piece of code are combined as they are computed") {
  for (const char* isa : {"avx2", "avx512"}) {
    const ir::Target target =
        tests::target_named(std::string("x86 isa=") + isa + " threads=1 l1d=32K l2=1M l3=32M");
    for (const char* reduced : {"any[j](X[i,j] > 0.5)", "all[j](X[i,j]*X[i,j] > 0.5)"}) {
      CAPTURE(isa);
      CAPTURE(reduced);
      const std::string op = std::string("op f(X: f32[M,N]) -> (Y: bool[M]) { Y[i] = ") + reduced;
      const auto nest = jit::lower(tests::by_default(op + " } M=200 N=118", target), target);
      REQUIRE(nest);
      const auto code = jit::compile_x86(*nest, target);
      REQUIRE(code);
      CHECK(code->report.spills == 0);
      CHECK(code->report.vec_peak < 14);
    }
  }
}

TEST_CASE("tile axes: indices that data give are loaded where they are used") {
  for (const char* isa : {"avx2", "avx512"}) {
    const ir::Target target =
        tests::target_named(std::string("x86 isa=") + isa + " threads=1 l1d=32K l2=1M l3=32M");
    for (const char* type : {"i8", "f32"}) {
      CAPTURE(isa);
      CAPTURE(type);
      const std::string tensor = std::string(type) + "[M,N]";
      const std::string op = "op f(A: " + tensor + ", B: i64[N]) -> (Y: " + tensor +
                             ") { Y[i,j] = A[i,B[j]] } M=256 N=250";
      const auto nest = jit::lower(tests::by_default(op, target), target);
      REQUIRE(nest);
      const auto code = jit::compile_x86(*nest, target);
      REQUIRE(code);
      CHECK(code->report.inner_spills == 0);
      CHECK(code->report.spills <= 2);
    }
  }
}

TEST_CASE("tile axes: indices that run on in memory fill vectors together") {
  const ir::Target target = tests::target_named("x86 isa=avx512 threads=1 l1d=32K l2=1M l3=32M");
  const auto vector_extent = [&](const std::string& text) {
    const ir::Program p = tests::by_default(text, target);
    const ir::Stage& y = *p.stage("Y");
    const ir::Expr extent = y.var(vector_of(y))->hi;
    return extent->op == ir::Op::kInt ? extent->i : -1;
  };
  // Pixels of a 1x1 convolution, and what is element by element.
  CHECK(vector_extent("conv2d N=1 C=64 H=56 W=56 O=256 R=1 Q=1 const=F,b") == 56 * 56);
  CHECK(vector_extent("op f(A: f32[M,N], B: f32[M,N]) -> (Y: f32[M,N]) { Y[i,j] = A[i,j] * B[i,j] "
                      "} M=100 N=7") == 700);
  // Two results' indices that lie apart in an operand, which is copied.
  CHECK(vector_extent("op f(A: f32[I,E,J], B: f32[L,E,K]) -> (Y: f32[I,J,K,L]) { Y[i,j,k,l] = "
                      "sum[e](A[i,e,j] * B[l,e,k]) } I=24 J=24 K=24 L=24 E=64") == 24 * 24);
  // Full vectors, and an index that a row's own sum depends on, stay as they are.
  CHECK(vector_extent("op f(A: f32[M,N]) -> (Y: f32[M,N]) { Y[i,j] = exp(A[i,j]) } M=100 N=64") ==
        64);
  CHECK(vector_extent("op f(A: f32[M,N]) -> (Y: f32[M,N]) { s[i] = sum[j](A[i,j]); Y[i,j] = "
                      "A[i,j] / s[i] } M=100 N=40") == 40);
}
