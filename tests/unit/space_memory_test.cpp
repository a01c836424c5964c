// SPDX-License-Identifier: Apache-2.0
// What the space rules make of how tensors lie in memory: of transposes, borders, windows, rows
// that meet in a cache.
#include <doctest/doctest.h>

#include <algorithm>

#include "jit/passes/lower.h"
#include "ops/op.h"
#include "schedules/schedule.h"
#include "schedules/space/space.h"
#include "tests/support/programs.h"

using namespace hone;

namespace {

constexpr const char* kTargets[] = {"x86 isa=avx512 threads=2 l1d=48K l2=1M l3=32M",
                                    "x86 isa=avx2 threads=1 l1d=32K l2=256K l3=8M"};

}  // namespace

TEST_CASE("space: loads that run across the store are transposed, or laid out before") {
  const struct {
    const char* problem;
    const char* step;  ///< that the schedule has; "": it computes no part apart
  } rows[] = {
      // All of the value runs along i, and is stored along j.
      {"op f(A: f32[J,I], C: f32[J,I]) -> (Y: f32[I,J]) { Y[i,j] = exp(A[j,i])*C[j,i] } I=100 "
       "J=100",
       "precompute Y 1 -> Y.t"},
      // A part of it, which may be absent, and whose rows lie apart.
      {"op f(A: f32[J,I], C: f32[I,J]) -> (Y: f32[I,J]) { Y[i,j] = (A[2*j,i] else 0) + C[i,j] } "
       "I=100 J=100",
       "precompute Y 2 -> Y.t"},
      // Data choose the rows.
      {"op f(A: f32[R,I], p: i32[J]) -> (Y: f32[I,J]) { Y[i,j] = A[p[j],i]*2 } R=50 I=100 J=100",
       "precompute Y 1 -> Y.t"},
      // A product that is added before it is rounded stays, its factor is transposed.
      {"op f(A: f32[J,I], B: f32[2*J,I], C: f32[I,J]) -> (Y: f32[I,J]) { Y[i,j] = A[j,i]*C[i,j] + "
       "B[2*j,i] } I=100 J=100",
       "precompute Y 3 -> Y.t"},
      // A reduction would read lane by lane along each index.
      {"op f(A: f32[N,M], B: f32[C,Q]) -> (Y: f32[R,C]) { Y[r,c] = sum[q](A[r*r%N,q*q%M]*"
       "B[c*c%C,q]) } N=100 M=100 C=200 Q=50 R=100",
       "precompute Y 3 -> B.l layout=[q][c]"},
      // Tests of which lanes lie inside would make the copy dear.
      {"op f(A: i16[R,K,N]) -> (Y: f32[N,R]) { Y[i,r] = sum[q in 0..K](cast<f32>(A[(r + "
       "1)%R,q,2*i] else 7)) } R=538 K=4 N=1460",
       ""},
      {"op f(A: f32[N,N], B: f32[N,N]) -> (Y: f32[N,N]) { Y[i,j] = A[i,j]*B[i,j] } N=100", ""},
      {"op f(A: f32[N,N], B: f32[N]) -> (Y: f32[N,N]) { Y[i,j] = A[i,j]*B[i] } N=100", ""},
      // Rows shorter than half a square.
      {"op f(A: f32[J,I], B: f32[J,I]) -> (Y: f32[I,J]) { Y[i,j] = A[j,i]*B[j,i] } I=5 J=100", ""},
  };
  const auto target = ir::parse_target("x86 isa=avx512 threads=1 l1d=48K l2=1M l3=32M", {});
  REQUIRE(target);
  for (const auto& row : rows) {
    CAPTURE(row.problem);
    const auto problem = ops::parse_problem(row.problem);
    REQUIRE(problem);
    const std::string text = schedules::default_schedule(problem->program, *target).text();
    CAPTURE(text);
    const bool apart = text.find("precompute") != std::string::npos;
    CHECK(apart == (*row.step != 0));
    CHECK(text.find(row.step) != std::string::npos);
  }
}

TEST_CASE("space: what is turned by a quarter is transposed in registers, either way") {
  for (const char* index : {"j,W - 1 - i", "H - 1 - j,i", "H - 1 - j,W - 1 - i"}) {
    for (const char* target : kTargets) {
      const std::string problem = std::string("op f(X: f32[H,W]) -> (Y: f32[W,H]) { Y[i,j] = X[") +
                                  index + "] } H=100 W=200";
      CAPTURE(problem);
      CHECK(tests::by_default(problem, tests::target_named(target)).buffer("X.t"));
    }
  }
}

TEST_CASE("space: no copy is made in panels that other readers do not want") {
  // Distances of points, then sums along the index that panels would cut.
  const std::string pairs =
      "op f(P: f32[N,3]) -> (A: f32[N,3]) { d[i,j,c] = P[j,c] - P[i,c]; w[i,j] = "
      "1/(sum[c](d[i,j,c]*d[i,j,c]) + 1); A[i,c] = sum[j](d[i,j,c]*w[i,j]) } N=1000";
  // Windows far apart read a small part of a tensor, and a copy would hold all of it.
  const std::string far = "conv2d_add_relu N=3 C=4 H=55 W=17 O=17 R=3 Q=2 T=bf16 S=23 const=F";
  const ir::Target dots =
      tests::target_named("x86 isa=avx512,vnni,bf16 threads=1 l1d=32K l2=1M l3=32M");
  CHECK_FALSE(tests::by_default(far, dots).buffer("X.p"));
  // One element for many.
  const std::string same = "permute A=4 B=759 C=2 D=335 X.stride=(0,5,1,0)";
  for (const char* target : kTargets) {
    CHECK_FALSE(tests::by_default(pairs, tests::target_named(target)).buffer("P.p"));
    CHECK_FALSE(tests::by_default(same, tests::target_named(target)).buffer("X.c"));
  }
}

TEST_CASE("space: of a stencil's indices the one that lies furthest apart runs a few at a time") {
  const ir::Program p = tests::by_default(
      "op f(U: f32[D,H,W]) -> (Y: f32[D,H,W]) { Y[k,i,j] = (U[k-1,i,j] else 0) + (U[k+1,i,j] else "
      "0) + (U[k,i-1,j] else 0) + (U[k,i+1,j] else 0) + (U[k,i,j-1] else 0) + (U[k,i,j+1] else 0) "
      "- 6*U[k,i,j] "
      "} D=128 H=128 W=128",
      tests::target_named(kTargets[0]));
  const auto& loops = p.stage("Y")->loops;
  const bool planes = std::any_of(loops.begin(), loops.end(), [](const ir::Loop& l) {
    return l.name == "k.i" && l.mark == ir::Mark::kUnroll;
  });
  CHECK(planes);
}

TEST_CASE("space: a border is copied where its tests cost more, and lies as its tensor does") {
  const struct {
    const char* problem;
    const char* step;  ///< that the schedule has; "": it copies no border
  } rows[] = {
      {"conv2d N=1 C=64 H=28 W=28 O=64 R=3 Q=3 P=1 const=F,b", "stage X at root -> X.g;"},
      {"conv2d N=1 C=64 H=28 W=28 O=64 R=3 Q=3 P=1 X@N,H,W,C Y@N,d2,d3,O const=F,b",
       "stage X at root -> X.g layout=[d0][d2][d3][d1]"},
      // A window alone reads elements again.
      {"depthwise_conv2d N=1 C=64 H=28 W=28 R=3 Q=3 P=1 const=F,b", ""},
      {"depthwise_conv2d N=1 C=64 H=28 W=28 R=3 Q=3 P=1 X@N,H,W,C Y@N,d2,d3,C const=F,b", ""},
      {"max_pool2d N=1 C=64 H=112 W=112 A=3 B=3 P=1 X@N,H,W,C Y@N,d2,d3,C", ""},
      // So it does here, and one index of it after the other leaves few tests.
      {"max_pool2d N=1 C=64 H=112 W=112 A=3 B=3 P=1", ""},
      // What wraps around where no loop can be cut goes on in the copy.
      {"op f(X: f32[N]) -> (Y: f32[N,N]) { Y[i,j] = X[(i+j)%N] } N=1000", "stage X at root -> X.g"},
      {"op f(X: f32[N]) -> (Y: f32[N]) { Y[j] = X[(j+37)%N] } N=1000", ""},
      // Large windows read elements often.
      {"depthwise_conv2d N=1 C=64 H=28 W=28 R=7 Q=7 P=3 const=F,b", "stage X at root -> X.g;"},
  };
  const ir::Target target = tests::target_named(kTargets[0]);
  for (const auto& row : rows) {
    CAPTURE(row.problem);
    const auto problem = ops::parse_problem(row.problem);
    REQUIRE(problem);
    const std::string text = schedules::default_schedule(problem->program, target).text();
    CAPTURE(text);
    const bool copied = text.find("-> X.g") != std::string::npos;
    CHECK(copied == (*row.step != 0));
    CHECK(text.find(row.step) != std::string::npos);
  }
}

TEST_CASE("space: where no mask loads the elements, nearly all of a copy may be border") {
  const ir::Target masks = tests::target_named(kTargets[0]),
                   none = tests::target_named(kTargets[1]);
  const std::string problem = "conv1d N=1 G=3 C=2 L=12 O=17 R=5 P=189 DL=15 ";
  const auto copied = [&](const std::string& type, const ir::Target& target) {
    return tests::by_default(problem + type, target).buffer("X.g") != nullptr;
  };
  CHECK(copied("T=bf16", none));
  CHECK_FALSE(copied("T=f32", none));
  CHECK_FALSE(copied("T=bf16", masks));
}

TEST_CASE("space: vectors run along terms that nearly all lie outside, but are computed") {
  // One result a row: along `p` a single lane has work.
  const std::string problem = "conv_transpose1d N=3 G=2 C=2 L=9 O=2 R=128 P=1 DL=7";
  for (const char* target : kTargets) {
    const ir::Program p = tests::by_default(problem, tests::target_named(target));
    const ir::Stage* sum = p.stage("Y.1");
    REQUIRE(sum);
    const bool along_terms = std::any_of(sum->loops.begin(), sum->loops.end(), [](const auto& l) {
      return l.mark == ir::Mark::kVector && l.name.front() == 'r';
    });
    CHECK(along_terms);
  }
}

TEST_CASE("space: lanes that a division places cost what a tile of known lanes takes") {
  // Three images fill no vector, and 74 positions of each do.
  const ir::Program p = tests::by_default("conv_transpose1d N=3 G=1 C=1 L=1 O=1 R=7 P=74 SL=3 PL=3",
                                          tests::target_named(kTargets[0]));
  REQUIRE(p.stage("Y.1"));
  const ir::Loop& last = p.stage("Y.1")->loops.back();
  CHECK(last.name == "p");
  CHECK(last.mark == ir::Mark::kVector);
}

TEST_CASE("space: tiles and the loops around them follow memory") {
  const ir::Target target = tests::target_named(kTargets[0]);
  const auto loops = [&](const std::string& layout) {
    const ir::Program p =
        tests::by_default("max_pool2d N=2 C=64 H=112 W=112 A=3 B=3 S=1 P=1 " + layout, target);
    std::string out;
    for (const ir::Loop& l : p.stage("Y")->loops) {
      if (l.name.find_first_of("nrq") != 0) out += l.name + ' ';
    }
    return out;
  };
  CHECK(loops("") == "c h.o w.o h.i w.i ");
  CHECK(loops("X@N,H,W,C Y@N,d2,d3,C") == "h w.o c.o w.i c.i ");
}

TEST_CASE("space: dot products whose results lie apart have many terms") {
  const auto dots = [](const char* problem, const char* machine) {
    const ir::Target target = tests::target_named(machine);
    const auto parsed = ops::parse_problem(problem);
    REQUIRE(parsed);
    const std::string steps = schedules::default_schedule(parsed->program, target).text();
    return steps.find("tensorize") != std::string::npos;
  };
  constexpr const char* kVnni = "x86 isa=avx512,vnni threads=1 l1d=48K l2=1M l3=32M";
  CHECK_FALSE(dots("matmul_i16 M=46 K=4 N=76", kVnni));
  CHECK(dots("matmul_i16 M=46 K=64 N=76", kVnni));
}

TEST_CASE("space: rows of a tile that meet in a cache and share nothing are no tile") {
  const ir::Target target = tests::target_named(kTargets[1]);
  const ir::Program p = tests::by_default("reduce_sum A=64 R=128 B=128 S=1", target);
  for (const ir::Loop& l : p.stage("Y")->loops) CHECK(l.name != "a.i");
  // Of rows that share as much, those whose results do not meet.
  std::string loops;
  const ir::Program q =
      tests::by_default("cp_tensor I=64 R=2 J=64 K=16", tests::target_named(kTargets[0]));
  for (const ir::Loop& l : q.stage("Y")->loops) loops += l.name + ' ';
  CHECK_MESSAGE(loops.find("j.i") != std::string::npos, loops);
}

TEST_CASE("space: products that no cache holds are visited by blocks of both factors") {
  const ir::Target target = tests::target_named(kTargets[0]);
  const auto order = [&](const char* problem) {
    const ir::Program p = tests::by_default(problem, target);
    std::string out;
    for (const ir::Loop& l : p.stage("C")->loops) out += l.name + ' ';
    const ir::Stage* const copy = p.stage("B.p");
    return out + (copy ? "B at " + copy->at.loop : "");
  };
  // Panels of B are copied once for a block of columns and of the reduction.
  CHECK(order("matmul M=4000 N=4000 K=4000") == "n.o k.o m.o n.t m.t m.r n.r B at k.o");
  CHECK(order("matmul M=4000 N=4000 K=4000 const=B") == "n.o k.o m.o n.t m.t m.r n.r B at ");
  CHECK(order("matmul M=700 N=700 K=700") == "n.o m.o m.i n.i B at n.o");
  // One of the factors stays near whatever the order.
  CHECK(order("matmul M=64 N=4000 K=4000") == "n.o k.o m.o m.i n.i B at k.o");
}

TEST_CASE("space: several rows at a time reuse a tensor, wherever their variable lies in memory") {
  const ir::Target target = tests::target_named(kTargets[0]);
  const std::string dims = "attention B=2 H=12 S=512 L=512 D=64";
  for (const char* order : {"", " Q@B,S,H,D K@B,L,H,D V@B,L,H,D O@B,S,H,D"}) {
    const ir::Program p = tests::by_default(dims + order, target);
    CHECK(p.stage("m")->at == ir::Place{"O", "i.o"});
  }
}

TEST_CASE("space: windows are reduced one index after the other where that saves") {
  const struct {
    const char* problem;
    const char* step;  ///< that the schedule has; "": windows are reduced at once
  } rows[] = {
      {"max_pool2d N=1 C=64 H=112 W=112 A=3 B=3 P=1", "separate Y/q"},
      {"avg_pool2d N=1 C=64 H=112 W=112 A=3 B=3 P=1", "separate Y.1/q"},
      {"max_pool3d N=8 D=16 H=32 W=32 U=8 P=16 V=16 A=3 B=3 C=3 SD=2 SH=2 SW=2", "separate Y/q"},
      // Windows that have nothing in common; few terms, which rows of a tile share.
      {"avg_pool2d N=1 C=64 H=112 W=112", ""},
      {"max_pool2d N=1 C=64 H=112 W=112 A=3 B=3 S=1 P=1", ""},
      // Most terms lie outside, and loops are rid of them.
      {"max_pool2d_windows N=25 H=22 W=1 P=3 V=12 A=3 B=8 SH=17 PH=22 PW=1", ""},
      {"avg_pool2d_windows N=1 H=9 W=112 P=56 V=3 A=3 B=17 SW=2 PH=3 PW=1", ""},
      {"avg_pool2d_windows N=64 H=9 W=4 P=4 V=56 A=11 B=7 SH=2 SW=2 PH=3 PW=2", "separate Y.1/q"},
      // Terms that each have a factor of their own.
      {"depthwise_conv2d N=1 C=64 H=28 W=28 R=7 Q=7 P=3 const=F,b", ""},
      // Any sum over windows, beside other indices, in any order in memory.
      {"op f(X: f32[C,L]) -> (Y: f32[L-4]) { Y[l] = sum[c,q in 0..5](X[c,l+q]) } C=32 L=4096",
       "separate Y/q"},
      {"op f(X: f32[H,W,C]) -> (Y: f32[H-4,W-4,C]) { Y[h,w,c] = "
       "sum[r in 0..5,q in 0..5](X[h+r,w+q,c]) } H=64 W=64 C=32",
       "separate Y/q"},
  };
  for (const char* machine : kTargets) {
    const ir::Target target = tests::target_named(machine);
    for (const auto& row : rows) {
      CAPTURE(row.problem);
      const auto problem = ops::parse_problem(row.problem);
      REQUIRE(problem);
      const std::string text = schedules::default_schedule(problem->program, target).text();
      CAPTURE(text);
      CHECK((text.find("separate ") != std::string::npos) == (*row.step != 0));
      CHECK(text.find(row.step) != std::string::npos);
    }
  }
}

TEST_CASE("space: blocks of whole periods of remainders, so that lanes know what they read") {
  const struct {
    const char* problem;
    const char* step;  ///< that the schedule for AVX-512 has
  } rows[] = {
      {"op f(X: f32[N], B: f32[3]) -> (Y: f32[N]) { Y[j] = X[j] + B[j%3] } N=100000",
       "split Y/j 48 "},
      {"tile A=1 B=9 C=3 D=3 I=2 J=7 K=1 L=151", "split Y/l 48 "},
      // All short rows are one block.
      {"tile A=1 B=7 C=3 D=2 I=2 J=4 K=73 L=3", "fuse Y/k Y/l "},
      {"pad_reflect A=5 B=2 C=4 D=10 I=1 J=64 K=4 L=4 PC=1 PD=1", "fuse Y/k Y/l "},
      // No lane knows what data choose.
      {"gather_axis A=14 R=9 B=4 N=47", "vectorize Y/b"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.problem);
    const auto problem = ops::parse_problem(row.problem);
    REQUIRE(problem);
    const std::string text =
        schedules::default_schedule(problem->program, tests::target_named(kTargets[0])).text();
    CAPTURE(text);
    CHECK(text.find(row.step) != std::string::npos);
  }
}

TEST_CASE("space: members of structures are read together, and bytes one by one cost each lane") {
  const auto target = ir::parse_target(kTargets[0], {});
  REQUIRE(target);
  const auto steps = [&](const char* text) {
    const auto problem = ops::parse_problem(text);
    REQUIRE(problem);
    std::string out;
    for (const std::string& s : schedules::default_schedule(problem->program, *target).texts()) {
      out += s + "; ";
    }
    return out;
  };
  const auto has = [](const std::string& all, const char* step) {
    return all.find(step) != std::string::npos;
  };
  // Planes of pixels: each vector of pixels is loaded once for its three planes.
  const std::string planes = steps(
      "op f(X: f32[H,W,3], s: f32[3]) -> (Y: f32[3,H,W]) { Y[c,i,j] = X[i,j,c]*s[c] } H=64 W=512");
  CHECK(has(planes, "unroll Y/c; "));
  CHECK(has(planes, "vectorize Y/j.i; "));
  // Five members are no structure that shuffles take apart.
  CHECK_FALSE(has(steps("op f(X: f32[H,W,5]) -> (Y: f32[5,H,W]) { Y[c,i,j] = X[i,j,c] + 1 } H=64 "
                        "W=512"),
                  "unroll Y/c; "));
  // Rows of three bytes that data choose are one short vector each, not 64 lanes.
  CHECK(has(steps("op f(X: u8[N], T: u8[256,3]) -> (Y: u8[N,3]) { Y[i,c] = T[X[i],c] } N=4096"),
            "vectorize Y/c; "));
}
