// SPDX-License-Identifier: Apache-2.0
// What the space rules make of every small case of the stock library.
#include "schedules/space/space.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "jit/ir/recurrence.h"
#include "jit/ir/scatter.h"
#include "jit/passes/lower.h"
#include "jit/x86/compile.h"
#include "ops/op.h"
#include "schedules/schedule.h"
#include "schedules/space/analysis/tile_size.h"
#include "tests/support/effort.h"
#include "tests/support/programs.h"

using namespace hone;

namespace {

constexpr const char* kTargets[] = {"x86 isa=avx512 threads=2 l1d=48K l2=1M l3=32M",
                                    "x86 isa=avx2 threads=1 l1d=32K l2=256K l3=8M"};

/// Checks every structure at its analytic values: it applies, lowers, and its text reads back.
void check_space(const std::string& problem, const ir::Program& program, const ir::Target& target) {
  const auto space = schedules::derive_space(program, target);
  REQUIRE(!space.empty());
  const auto plain = [](const schedules::Space& s) { return s.schedule.steps.empty(); };
  CHECK_MESSAGE(std::any_of(space.begin(), space.end(), plain), problem);
  for (const schedules::Space& s : space) {
    CHECK(schedules::knobs(s.schedule).size() == s.values.size());
    const auto read = schedules::Schedule::parse(s.schedule.text());
    CHECK((read && *read == s.schedule));
    const auto applied = schedules::apply(program, s.analytic());
    CHECK_MESSAGE(applied, problem << " | " << s.analytic().text() << ": "
                                   << (applied ? "" : applied.failure().text()));
    if (!applied) continue;
    const auto nest = jit::lower(*applied, target);
    CHECK_MESSAGE(nest, problem << " | " << s.analytic().text() << ": "
                                << (nest ? "" : nest.failure().reason));
  }
}

}  // namespace

TEST_CASE("space: a step that does not apply takes its knob along") {
  // Tiles that would reach back are wider than the four columns.
  const std::string text = "qlinear M=119 K=1 N=4 const=B";
  const auto problem = ops::parse_problem(text);
  REQUIRE(problem);
  for (const char* named : kTargets) {
    const auto target = ir::parse_target(named, {});
    REQUIRE(target);
    check_space(text, problem->program, *target);
  }
}

TEST_CASE("space: every structure of every small case applies and lowers") {
  const auto every = static_cast<size_t>(tests::by_effort(10, 4, 2, 1));
  size_t count = 0;
  for (const char* text : kTargets) {
    const ir::Target target = tests::target_named(text);
    for (const ops::Case& c : ops::stock_library().cases) {
      if (!c.small || count++ % every != 0) continue;
      const auto problem = ops::parse_problem(c.problem);
      REQUIRE(problem);
      check_space(c.problem, problem->program, target);
    }
  }
}

namespace {

/// True where a stage reads itself along all of its indices: it is one thread's.
bool has_one_chain(const ir::Program& p) {
  return std::any_of(p.stages.begin(), p.stages.end(), [](const ir::Stage& s) {
    return ir::is_recurrence(s) && ir::independent_vars(s).empty();
  });
}

}  // namespace

TEST_CASE("space: on GPUs the rules' plans lower, and none falls back to plain loops") {
  for (const char* text : {"cuda sm=75", "cuda sm=90 sms=132"}) {
    const ir::Target target = tests::target_named(text);
    const auto every = static_cast<size_t>(tests::by_effort(4, 1, 1));
    size_t count = 0;
    for (const ops::Case& c : ops::stock_library().cases) {
      if (!c.small || count++ % every != 0) continue;
      const auto problem = ops::parse_problem(c.problem);
      REQUIRE(problem);
      const auto schedule = schedules::default_schedule(problem->program, target);
      // A short sum to one element is one thread's.
      const bool one = problem->op.name() == "dot" || problem->op.name() == "sum_all" ||
                       has_one_chain(problem->program);
      const bool binds = schedule.text().find("bind ") != std::string::npos;
      CHECK_MESSAGE((binds || one), std::string(c.problem) << " | " << std::string(text));
      const auto applied = schedules::apply(problem->program, schedule);
      REQUIRE(applied);
      CHECK_MESSAGE(jit::lower(*applied, target), std::string(c.problem)
                                                      << " | " << std::string(text));
    }
  }
}

TEST_CASE("space: without vectors only the plain schedule is left") {
  const auto problem = ops::parse_problem("matmul M=64 N=64 K=64");
  REQUIRE(problem);
  const ir::Target none = tests::target_named("x86 isa=none");
  CHECK(schedules::default_schedule(problem->program, none).steps.empty());
  CHECK(schedules::derive_space(problem->program, none).size() == 1);
}

TEST_CASE("space: derivation is a function of its input") {
  const auto problem = ops::parse_problem("fc_gelu M=37 N=100 K=50 const=W");
  REQUIRE(problem);
  const ir::Target target = tests::target_named(kTargets[0]);
  CHECK(schedules::default_schedule(problem->program, target) ==
        schedules::default_schedule(problem->program, target));
}

TEST_CASE("space: register tiles fit the registers and hide latency") {
  for (const char* text : kTargets) {
    const ir::Target target = tests::target_named(text);
    schedules::TileProblem p;
    p.lanes = target.vector_bytes() / 4;
    p.rows = p.columns = 960;
    const schedules::TileSize size = schedules::choose_tile(p, machine_of(target));
    CHECK(schedules::tile_registers(p, size.rows, size.vectors) <= target.vector_registers());
    CHECK(size.rows * size.vectors >= 10);
    // Rows whose quotients the code knows, where they have any.
    schedules::TileProblem divided = p;
    divided.row_quotients = 2;
    divided.rows_repeat = 4;
    CHECK(schedules::choose_tile(divided, machine_of(target)).rows % 4 == 0);
    p.most_rows = 4;
    CHECK(schedules::choose_tile(p, machine_of(target)).rows <= 4);
    p.rows = 1;
    CHECK(schedules::choose_tile(p, machine_of(target)).rows == 1);
  }
}

TEST_CASE("space: results go past a cache that a core has a share of, beyond that share") {
  const auto streams = [](const char* text, const char* cpu) {
    const auto problem = ops::parse_problem(text);
    REQUIRE(problem);
    const auto target =
        tests::target_named(std::string("x86 isa=avx512 threads=1 l3=480M cpu=") + cpu);
    const std::string steps = schedules::default_schedule(problem->program, target).text();
    return steps.find("stream Y") != std::string::npos;
  };
  CHECK(streams("relu N=16777216", "intel-06-a7"));
  CHECK_FALSE(streams("relu N=1048576", "intel-06-a7"));
  CHECK_FALSE(streams("relu N=16777216", "amd-1a-02"));
}

TEST_CASE("space: divisions by one value, where they are what takes long") {
  const auto divides = [](const std::string& value, const char* sizes, const char* isa) {
    const auto problem = ops::parse_problem(
        "op p(X: f32[M,N], s: f32[M], t: f32[N], x: f32) -> (Y: f32[M,N]) { Y[i,j] = " + value +
        " + s[0]*t[0]*x } " + sizes);
    REQUIRE_MESSAGE(problem, problem.failure().message);
    const auto target = tests::target_named(isa);
    const std::string steps = schedules::default_schedule(problem->program, target).text();
    return steps.find("reciprocal") == std::string::npos;
  };
  for (const char* isa : {"x86 isa=avx2 threads=1", "x86 isa=avx512 threads=1"}) {
    CAPTURE(isa);
    CHECK_FALSE(divides("X[i,j]/s[i]", "M=8 N=1000", isa));
    CHECK_FALSE(divides("X[i,j]/x", "M=8 N=1000", isa));
    // A divisor for each lane, few quotients, much else to do, read where a condition holds.
    CHECK(divides("X[i,j]/t[j]", "M=8 N=1000", isa));
    CHECK(divides("X[i,j]/s[i]", "M=8 N=17", isa));
    CHECK(divides("erf(tanh(X[i,j])/s[i])", "M=8 N=1000", isa));
    CHECK(divides("select(i > 3, X[i,j]/s[i], 1)", "M=8 N=1000", isa));
  }
}

TEST_CASE("space: products of narrow types by the instructions that the target has") {
  const auto chosen = [](const char* text, const char* isa) {
    const auto problem = ops::parse_problem(text);
    REQUIRE_MESSAGE(problem, problem.failure().message);
    const auto target = ir::parse_target(isa, {});
    REQUIRE(target);
    const std::string steps = schedules::default_schedule(problem->program, *target).text();
    const size_t at = steps.find("tensorize");
    const size_t name = steps.find(' ', at == std::string::npos ? at : at + 10) + 1;
    return at == std::string::npos ? "" : steps.substr(name, steps.find(';', name) - name);
  };
  const char* three =
      "op three(A: i8[I,K,L], B: i8[L,K,J]) -> (Y: i32[I,J]) "
      "{ Y[i,j] = sum[k,l](A[i,k,l] * B[l,k,j]) } I=60 J=70 K=5 L=9";
  CHECK(chosen(three, "x86 isa=avx512,vnni") == "vnni.i8i8");
  CHECK(chosen(three, "x86 isa=avx2,avxvnni") == "vnni.i8i8");
  CHECK(chosen(three, "x86 isa=avx512") == "madd.i8i8");
  const char* halves = "matmul M=64 N=64 K=64 T=bf16 const=B";
  CHECK(chosen(halves, "x86 isa=avx512,bf16") == "bf16.dot");
  CHECK(chosen(halves, "x86 isa=avx512,vnni") == "");
  CHECK(chosen("matmul M=64 N=64 K=64 const=B", "x86 isa=avx512,vnni,bf16") == "");
  CHECK(chosen("matmul M=64 N=64 K=64 T=i32 const=B", "x86 isa=avx512,vnni,bf16") == "");
}

TEST_CASE("space: results of several ranges share vectors and tiles") {
  const auto predicates = [](const char* tensors, const char* term) {
    const auto problem =
        ops::parse_problem("op f(A: f32[N,N], " + std::string(tensors) + " { " + term + " } N=200");
    REQUIRE_MESSAGE(problem, problem.failure().message);
    const auto target = ir::parse_target("x86 isa=avx512 threads=1", {});
    const std::string steps = schedules::default_schedule(problem->program, *target).text();
    return steps.find("predicate") != std::string::npos;
  };
  const char *matrix = "B: f32[N,N]) -> (Y: f32[N,N])", *vector = "x: f32[N]) -> (Y: f32[N])";
  CHECK(predicates(matrix, "Y[i,j] = sum[k in 0..i+1](A[i,k]*B[k,j])"));
  CHECK(predicates(matrix, "Y[i,j] = sum[k in j..N](A[i,k]*B[k,j])"));
  CHECK(predicates(vector, "Y[j] = sum[k in 0..j+1](x[k]*A[k,j])"));
  // Lanes are partial sums; and all have one range.
  CHECK_FALSE(predicates(vector, "Y[i] = sum[k in 0..i+1](x[k]*A[i,k])"));
  CHECK_FALSE(predicates(matrix, "Y[i,j] = sum[k](A[i,k]*B[k,j])"));
}

TEST_CASE("space: where register tiles are refused, vectors stay; where all is, the plain loops") {
  const ir::Target target = tests::target_named(kTargets[0]);
  size_t vectors = 0, stages = 0;
  for (const ops::Case& c : ops::stock_library().cases) {
    if (c.small) continue;
    const auto problem = ops::parse_problem(c.problem);
    REQUIRE(problem);
    const auto fallback =
        schedules::fallback_schedule(problem->program, target, [&](const schedules::Schedule& s) {
          if (s.text().find("in=registers") != std::string::npos) return false;
          const auto nest = jit::lower(*schedules::apply(problem->program, s), target);
          return nest && jit::compile_x86(*nest, target, {});
        });
    // What reads itself may have no neighbours that do not depend on one another, nor what scatters
    // single elements.
    const bool has_vectors = fallback.text().find("vectorize") != std::string::npos;
    const bool has_scatter = fallback.text().find("scatter") != std::string::npos;
    CHECK_MESSAGE((has_vectors || has_scatter || ir::has_recurrence(problem->program)), c.problem);
    const auto refused = [](const schedules::Schedule&) { return false; };
    CHECK(schedules::fallback_schedule(problem->program, target, refused).steps.empty());
    const auto applied = schedules::apply(problem->program, fallback);
    for (const ir::Stage& s : applied->stages) {
      if (ir::is_recurrence(s) || !ir::scattered_vars(s).empty()) continue;
      ++stages;
      vectors += std::any_of(s.loops.begin(), s.loops.end(),
                             [](const ir::Loop& l) { return l.mark == ir::Mark::kVector; });
    }
  }
  CHECK(vectors >= stages * 9 / 10);
}

TEST_CASE("space: no default repeats a reduction in loops that it does not depend on") {
  const ir::Target target = tests::target_named(kTargets[0]);
  for (const char* text : {
           "op c(A: f32[D,D]) -> (Y: f32[D,D]) { Y[i,j] = relu(max[r](A[r,j])) } D=640",
           "op b(A: f32[D,D]) -> (Y: f32[D,D]) { Y[i,j] = A[i,j] * sum[r](A[r,j]) } D=640",
       }) {
    const ir::Program applied = tests::by_default(text, target);
    for (const ir::Stage& s : applied.stages) {
      if (s.output == "Y.1") CHECK_MESSAGE(s.at.root(), text);
    }
  }
}

TEST_CASE("space: a row's own reduction is not repeated for every element of the row") {
  const ir::Target target = tests::target_named(kTargets[0]);
  const ir::Program p = tests::by_default(
      "op f(A: bool[D,D]) -> (Y: i32[D,D]) { Y[i,j] = 100 * min[r: i64](cast<i32>(A[i,D-1-r]) * "
      "sum[s](cast<i32>(A[s,r]))) } D=533",
      target);
  for (const ir::Stage& s : p.stages) {
    if (s.reduce == ir::Reduce::kNone || s.at.stage != "Y") continue;
    CHECK(s.at.loop.rfind('j', 0) != 0);
  }
}

TEST_CASE("space: what no index runs along in memory runs along the nearest, as vectors") {
  const ir::Target target = tests::target_named(kTargets[0]);
  const ir::Program p = tests::by_default(
      "op f(A: f32[M,N]) -> (Y: f32[M,N]) { Y[i,j] = exp(A[i,j]) } M=512 N=153 Y.stride=(2,1024) "
      "A.stride=(3,1600)",
      target);
  const ir::Loop& innermost = p.stage("Y")->loops.back();
  CHECK(innermost.mark == ir::Mark::kVector);
  CHECK(innermost.name.rfind('i', 0) == 0);
}

TEST_CASE("space: loops follow the result in memory, gaps or none, known or not") {
  const ir::Target target = tests::target_named(kTargets[0]);
  const auto order = [&](const std::string& layout) {
    std::string out;
    const ir::Program p = tests::by_default(
        "op f(A: f32[]) -> (Y: f32[L,M,N]) { Y[i,j,k] = A[] } L=50 M=60 N=70 " + layout, target);
    for (const ir::Loop& l : p.stage("Y")->loops) out += l.name[0];
    return out;
  };
  CHECK(order("Y.stride=(5000,71,1)") == "ijkk");
  CHECK(order("Y.stride=(1,51,3100)") == "kji");
  CHECK(order("Y.stride=(71,4000,1)") == "jikk");
  CHECK(order("Y.stride=(?,?,?)") == "ijkk");
}

TEST_CASE("space: rows that fill no vectors run as one, where each goes on") {
  const ir::Target target = tests::target_named(kTargets[0]);
  const auto joined = [&](const std::string& value, const std::string& dims, const char* type) {
    const ir::Program p = tests::by_default(
        std::string("op f<T=") + type + ">(X: T[M,N], a: T[M]) -> (Y: T[M,N]) { Y[i,j] = " + value +
            " } M=400 " + dims,
        target);
    return p.stage("Y")->relations.size() == 2 && p.stage("Y")->loops.size() == 2;
  };
  CHECK(joined("X[i,j]*a[i]", "N=10", "f32"));
  CHECK(joined("X[i,j]*a[i]", "N=3", "u8"));
  CHECK_FALSE(joined("X[i,j]*a[i]", "N=16", "f32"));
  CHECK_FALSE(joined("X[i,j]*a[i]", "N=31", "f32"));
  CHECK_FALSE(joined("X[i,j]*a[i]", "N=10 Y.stride=(11,1)", "f32"));
  CHECK_FALSE(joined("X[i,9-j]*a[i]", "N=10", "f32"));
  // Divisions of rows are known in blocks of their period, what borders do only in all rows.
  CHECK_FALSE(joined("X[max(0, min(M - 1, i - 2)),min(N - 1, j)]*a[i]", "N=10", "f32"));
  CHECK(joined("X[i%7,j]*a[i]", "N=10", "f32"));
  CHECK(joined("X[i/2,j/3]*a[i]", "N=7", "f32"));
  CHECK_FALSE(joined("X[i%61,j]*a[i]", "N=10", "f32"));
  CHECK_FALSE(joined("X[i,3*j%7]*a[i]", "N=10", "f32"));
}

TEST_CASE("space: axes of strides that the call tells are not taken for one") {
  const ir::Target target = tests::target_named(kTargets[0]);
  const auto steps = [&](const char* layout) {
    const std::string text = std::string("op f(X: f32[M,N,K]) -> (Y: f32[M]) ") +
                             "{ Y[m] = sum[n,k](X[m,n,k]) } M=9 N=7 K=84" + layout;
    const auto problem = ops::parse_problem(text);
    REQUIRE(problem);
    return schedules::default_schedule(problem->program, target).text();
  };
  CHECK(steps("").find("fuse") != std::string::npos);
  CHECK(steps(" X.stride=(?,?,1)").find("fuse") == std::string::npos);
  CHECK(steps(" X.stride=(?,?,?)").find("fuse") == std::string::npos);
}

TEST_CASE("space: elements apart that a loop does not move are loaded once for all of it") {
  const auto steps = [](const char* target, const char* strides) {
    const auto problem = ops::parse_problem(
        std::string("op f(X: f32[B,C]) -> (Y: f32[B,C]) { Y[b,c] = X[b,c] } B=152 C=127 ") +
        strides);
    REQUIRE(problem);
    return schedules::default_schedule(problem->program, tests::target_named(target)).text();
  };
  const std::string one = steps(kTargets[1], "X.stride=(0,256)");
  CHECK_MESSAGE(one.find("reorder Y/c.o Y/b Y/c.i") != std::string::npos, one);
  // Threads share the loop.
  const std::string two = steps(kTargets[0], "X.stride=(0,256)");
  CHECK_MESSAGE(two.find("reorder Y/b.o Y/c.o Y/b.i Y/c.i") != std::string::npos, two);
  const std::string moved = steps(kTargets[1], "X.stride=(1,256)");
  CHECK_MESSAGE(moved.find("Y/c.o Y/b Y/c.i") == std::string::npos, moved);
}

TEST_CASE("space: steps of which lanes know that most read nothing are all unrolled") {
  for (const char* target : kTargets) {
    const auto problem =
        ops::parse_problem("avg_pool2d_padded N=2 H=112 W=2 P=2 V=12 A=7 B=17 SH=2 SW=3 PH=1 PW=5");
    REQUIRE(problem);
    const std::string steps =
        schedules::default_schedule(problem->program, tests::target_named(target)).text();
    CHECK_MESSAGE(steps.find("split Y.1/q") == std::string::npos, steps);
    CHECK_MESSAGE(steps.find("Y.1/q") != std::string::npos, steps);
  }
}

TEST_CASE("space: dear values of short rows run along a longer index") {
  const ir::Target target = tests::target_named(kTargets[0]);
  const auto problem = ops::parse_problem(
      "op f(X: f32[K,N]) -> (Y: f32[N,K]) { Y[n,k] = atan2(sin(X[k,n]), 1 + abs(X[k,n])) "
      "} N=128 K=5");
  REQUIRE(problem);
  const std::string steps = schedules::default_schedule(problem->program, target).text();
  CHECK_MESSAGE(steps.find("vectorize Y/n.i") != std::string::npos, steps);
}

TEST_CASE("space: rows that load the same elements are computed a few at a time") {
  const ir::Target target = tests::target_named(kTargets[0]);
  const auto unrolled = [&](const std::string& value, const char* shape) {
    const ir::Program p = tests::by_default(std::string("op f(X: f32[") + shape +
                                                "], b: f32[N]) -> (Y: f32[M,N]) { Y[i,j] = b[j]*(" +
                                                value + ") } M=512 N=512",
                                            target);
    for (const ir::Loop& l : p.stage("Y")->loops) {
      if (l.mark == ir::Mark::kUnroll) return l.name.substr(0, 1);
    }
    return std::string();
  };
  CHECK(unrolled("X[i,j] + X[i+1,j] + X[i+2,j]", "M+2,N") == "i");
  CHECK(unrolled("(X[i-1,j] else 0) + (X[i+1,j] else 0) + (X[i,j-1] else 0) + X[i,j]", "M,N") ==
        "i");
  // Each row has its own.
  CHECK(unrolled("X[i,j] + X[i,j+1] + X[i,j+2]", "M,N+2").empty());
  CHECK(unrolled("X[2*i,j] + X[2*i+1,j] + X[0,j]", "2*M,N").empty());
}

TEST_CASE("space: stages go over all short rows, unless what they leave would be large") {
  const ir::Target target = tests::target_named(kTargets[0]);
  const auto apart = [&](const char* problem) {
    const ir::Program p = tests::by_default(problem, target);
    return std::all_of(p.stages.begin(), p.stages.end(),
                       [](const ir::Stage& s) { return s.at.root() || s.at.stage == s.name; }) ||
           std::count_if(p.stages.begin(), p.stages.end(), [&](const ir::Stage& s) {
             // Copies that are laid out anew are made beforehand either way.
             return s.at.root() && p.buffer(s.output)->axes.empty();
           }) > 2;
  };
  CHECK(apart("softmax M=256 N=10"));
  CHECK_FALSE(apart("softmax M=256 N=64"));
  CHECK_FALSE(apart("attention B=1 H=2 L=512 S=512 D=8"));
}

TEST_CASE("space: what constants alone decide is left to the bind, unless it grows") {
  const ir::Target target = tests::target_named(kTargets[0]);
  const auto stays = [&](const std::string& text, const char* stage) {
    const ir::Program p = tests::by_default(text, target);
    const ir::Stage* s = p.stage(stage);
    return s && s->at.root();
  };
  const std::string sums =
      "op f(W: f32[M,K], X: f32[M,N]) -> (Y: f32[M,N]) { t[i] = sum[k](W[i,k]); "
      "Y[i,j] = X[i,j]*t[i] } M=64 N=512 K=100";
  CHECK(stays(sums + " const=W", "t"));
  CHECK_FALSE(stays(sums, "t"));
  const std::string table =
      "op f(W: f32[N], X: f32[N]) -> (Y: f32[N,N]) { t[i,j] = exp(W[i]) / exp(W[j]); "
      "Y[i,j] = X[i] + t[i,j] } N=2000 const=W";
  CHECK_FALSE(stays(table, "t"));
  // What is updated is read by its own stage.
  CHECK(
      stays("op f(W: f32[N], inout Y: f32[N]) -> (Z: f32[N]) { Y[i] += W[i]; Z[i] = Y[i]*W[i] } "
            "N=50 const=W",
            "Y"));
  // Chains that read twice what they are made of.
  std::string chain = "op f(W: f32[N], X: f32[N]) -> (Y: f32[N]) { t0[i] = W[i]; ";
  for (int i = 1; i < 40; ++i) {
    const std::string last = "t" + std::to_string(i - 1) + "[";
    chain += "t" + std::to_string(i) + "[i] = exp(" + last + "i]) + sqrt(" + last + "N-1-i]); ";
  }
  CHECK(stays(chain + "Y[i] = X[i]*t39[i] } N=50 const=W", "t39"));
}

TEST_CASE("space: what would be scalar in a row is computed for all rows beforehand") {
  const ir::Target target = tests::target_named(kTargets[0]);
  for (const char* text : {
           "op f(X: f32[N], Z: f32[N,M]) -> (Y: f32[N,M]) { t[i] = exp(sin(X[i])); "
           "Y[i,j] = Z[i,j] * t[i] } N=4000 M=64",
           "op c(X: f32[N,M], P: f32[N,M]) -> (Y: f32[M,N,M]) { t[b] = max[r](exp(X[r,b])); "
           "Y[b,i,j] = X[i,j] * P[i,b] + t[b] } N=200 M=100",
       }) {
    const ir::Program applied = tests::by_default(text, target);
    for (const ir::Stage& s : applied.stages) {
      if (s.output == "t") CHECK_MESSAGE(s.at.root(), text);
    }
  }
  // A row's own sum is there no sooner than the row.
  const ir::Program rows = tests::by_default("softmax M=64 N=1000", target);
  CHECK(std::none_of(rows.stages.begin(), rows.stages.end(),
                     [](const ir::Stage& s) { return s.at.root() && s.output != "Y"; }));
}

TEST_CASE("space: what is read in a small part is computed where it is read") {
  const ir::Target target = tests::target_named(kTargets[0]);
  const std::string table =
      "op f(X: f32[N,N]) -> (Y: f32[N]) { t[i in 0..N,j in 0..N] = exp(X[i,j]) * X[j,i]; ";
  const auto stages = [&](const std::string& reader) {
    return tests::by_default(table + reader + " } N=200", target).stages.size();
  };
  CHECK(stages("Y[i] = t[i,i]") == 1);
  CHECK(stages("Y[i] = (t[i-1,i] else 0) + (t[i+1,2*i] else 1)") == 1);
  CHECK(tests::by_default(table + "Y[i] = sum[j](t[i,j] * t[j,i]) } N=200", target).stage("t"));
}

TEST_CASE("space: a reduction read in a small part reduces where it is read") {
  const std::string product =
      "op f(A: f32[M,K], B: f32[N,K], p: i32[L]) -> (Y: f32[L,N]) { "
      "t[i in 0..M,j in 0..N] = sum[k](A[i,k]*B[j,k]); ";
  const std::string sizes = " } M=512 N=64 K=100 L=";
  const auto places = [&](const std::string& reader, const char* on) {
    const auto problem = ops::parse_problem(product + reader);
    REQUIRE_MESSAGE(problem, problem.failure().message);
    const auto applied = schedules::analytic_schedule(problem->program, tests::target_named(on));
    if (applied.program.stage("t")) return std::string("all");
    return ir::print(applied.program.stage("t.r")->vars[0].hi);
  };
  for (const char* on : {kTargets[0], kTargets[1], "cuda sm=90"}) {
    CAPTURE(on);
    CHECK(places("Y[l,j] = relu(t[p[l],j])" + sizes + "100", on) == "100");
    CHECK(places("Y[l,j] = t[p[l],0]*B[j,0]" + sizes + "100", on) == "100");
    CHECK(places("Y[l,j] = relu(t[p[l]-1,j] else 2)" + sizes + "100", on) == "100");
    // Of half of it a product of matrices is as fast.
    CHECK(places("Y[l,j] = relu(t[p[l],j])" + sizes + "400", on) == "all");
  }
}

TEST_CASE("space: a long value read in a small part is computed for each read by itself") {
  const ir::Target target = tests::target_named(kTargets[1]);
  std::string value;
  for (int i = 0; i < 9; ++i) {
    const std::string n = std::to_string(i);
    value += (i ? " + " : "") + ("exp(A[i,j]*" + n + ")*A[j,i]*" + n);
  }
  const std::string op =
      "op f(A: f32[N,N], p: i32[K], q: i32[K]) -> (Y: f32[K]) { t[i,j] = " + value +
      "; Y[k] = t[p[k],q[k]]*t[q[k],p[k]] + t[p[k],p[k]] } K=64 N=";
  const ir::Program inside = tests::by_default(op + "512", target);
  CHECK(!inside.stage("t"));
  CHECK(inside.stages.size() == 4);
  // Of a small one each element is read, on average.
  CHECK(tests::by_default(op + "8", target).stage("t"));
}

TEST_CASE("space: threads are given work that is worth waking them for") {
  const ir::Target target = tests::target_named(kTargets[0]);
  const auto shared = [&](const char* text) {
    const auto problem = ops::parse_problem(text);
    REQUIRE(problem);
    const auto schedule = schedules::default_schedule(problem->program, target);
    return schedule.text().find("parallel") != std::string::npos;
  };
  for (const char* tiny : {"softmax M=4 N=64", "add N=4096", "matmul M=16 N=16 K=16", "dot K=20000",
                           "layernorm M=8 N=64", "transpose M=32 N=32"}) {
    CHECK_MESSAGE(!shared(tiny), tiny);
  }
  for (const char* large : {"softmax M=256 N=1024", "add N=1048576", "matmul M=128 N=128 K=128",
                            "dot K=1000000", "layernorm M=512 N=512", "transpose M=1024 N=1024"}) {
    CHECK_MESSAGE(shared(large), large);
  }
}

TEST_CASE("space: each rule tells of each stage why it applies or does not") {
  for (const char* text : {"softmax M=64 N=512", "fc_relu M=70 N=90 K=40", "transpose M=300 N=200",
                           "max_pool2d N=1 C=8 H=20 W=20 A=3 B=3 P=1"}) {
    for (const char* on : {"x86 isa=avx2 threads=2 l2=1M l3=32M", "cuda sm=90"}) {
      const auto problem = ops::parse_problem(text);
      const auto target = ir::parse_target(on, {});
      REQUIRE(problem);
      const auto trail = schedules::explain(problem->program, *target);
      size_t applied = 0;
      for (const schedules::RuleTrial& t : trail) {
        CAPTURE(t.rule);
        CAPTURE(t.stage);
        CHECK_FALSE(t.what.empty());
        applied += t.applied;
      }
      CHECK(applied > 0);
      CHECK(applied < trail.size());
      CHECK(schedules::analytic_schedule(problem->program, *target).schedule ==
            schedules::default_schedule(problem->program, *target));
    }
  }
}

TEST_CASE("space: producers of the inner indices of a stage are made in blocks of neighbours") {
  const char* const kX86 = "x86 isa=avx512 threads=1 l1d=48K l2=1M l3=32M";
  const auto steps_of = [&](const char* text, const std::string& rule) {
    const auto problem = ops::parse_problem(text);
    REQUIRE(problem);
    std::string out;
    for (const auto& t : schedules::explain(problem->program, *ir::parse_target(kX86, {}))) {
      if (t.rule == rule && t.applied) out += t.what + "\n";
    }
    return out;
  };
  // By columns: a row of all of them exceeds the nearest cache.
  CHECK(steps_of("axis_softmax A=8 N=64 B=1000", "columns").find("at Y/b.o") != std::string::npos);
  CHECK(steps_of("axis_softmax A=8 N=16 B=16", "columns").empty());
  // Over all images of a channel at a time; what gives the running mean too is kept.
  CHECK(steps_of("batchnorm_train N=8 C=256 L=784", "columns").find("at Y/c store root") !=
        std::string::npos);
  CHECK(steps_of("layernorm_stats M=64 N=1024", "rows").find("compute r u.1 at Y/i.o store root") !=
        std::string::npos);
  // A result of the call is made beside the rows that need it.
  CHECK(steps_of("op f(X: f32[M,N]) -> (Y: f32[M,N], m: f32[M]) { m[i] = max[j](X[i,j]); "
                 "Y[i,j] = X[i,j] - m[i] } M=64 N=1024",
                 "rows")
            .find("compute m at Y/i") != std::string::npos);
  // Results of the same elements are vectors, not a number for each.
  CHECK(steps_of("op f(X: f32[N]) -> (m: f32[N], Y: f32[N]) { m[i] = 2*X[i]; Y[i] = sqrt(m[i]) } "
                 "N=100000",
                 "rows")
            .empty());
  // Of a large tensor the members touch a diagonal.
  CHECK(steps_of("op f(X: f32[N,N]) -> (Y: f32[N,N]) { d[j] = exp(X[j,j]); Y[i,j] = X[i,j]*d[j] } "
                 "N=500",
                 "columns")
            .empty());
  // A division that each value of another index would repeat is no part of its reader.
  CHECK(steps_of("op f(X: f32[N,C,L]) -> (Y: f32[N,C,L]) { u[n,l] = sum[c](X[n,c,l])/3; "
                 "Y[n,c,l] = X[n,c,l] - u[n,l] } N=8 C=64 L=500",
                 "inline")
            .empty());
}

TEST_CASE("space: a rule that gives up names the loop, tensor or stage that is the cause") {
  const char* const x86 = "x86 isa=avx2 threads=2 l1d=32K l2=1M l3=32M";
  const struct {
    const char *problem, *target, *rule, *stage, *reason;
  } rows[] = {
      {"transpose M=300 N=200", x86, "rows", "Y",
       "no stage that it needs follows its outermost index j"},
      {"transpose M=300 N=200", x86, "tile", "Y", "it neither reduces nor reads a reduction"},
      {"transpose M=300 N=200", x86, "prefetch", "Y", "what it reads of X.t is made beside it"},
      {"softmax M=64 N=512", x86, "inline", "e",
       "several stages would compute it, at 13 operations each"},
      {"softmax M=64 N=512", x86, "tile", "Y", "its loops would repeat the reduction s"},
      {"softmax M=64 N=512", x86, "tile", "s",
       "vectors along j, which is reduced, cost less than along results"},
      {"softmax M=64 N=512", x86, "stream", "s", "its result is no output of the op"},
      {"fc_relu M=70 N=90 K=40", x86, "rows", "Y",
       "stage Y.1 has all its indices: a tile keeps it in registers"},
      {"fc_relu M=70 N=90 K=40", "cuda sm=90", "split_reduction", "Y.1",
       "index k has too few terms for parts of them"},
      {"fc_relu M=70 N=90 K=40", "cuda sm=90", "mma_gemm", "Y",
       "the target has no mma for f32 by f32, summed as f32"},
      {"softmax M=64 N=512", "cuda sm=90", "simt_gemm", "Y",
       "it neither reduces nor ends a reduction"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.problem);
    CAPTURE(row.rule);
    const auto problem = ops::parse_problem(row.problem);
    const auto target = ir::parse_target(row.target, {});
    REQUIRE(problem);
    std::vector<std::string> reasons;
    for (const schedules::RuleTrial& t : schedules::explain(problem->program, *target)) {
      if (t.rule == row.rule && t.stage == row.stage && !t.applied) reasons.push_back(t.what);
    }
    REQUIRE(reasons.size() == 1);
    CHECK(reasons[0] == row.reason);
  }
}

TEST_CASE("space: a GPU's tile has its sides from different factors") {
  const auto problem = ops::parse_problem(
      "op f(X: f32[N,I], W: f32[O,I,J]) -> (Y: f32[N,O,J]) { Y[n,o,j] = sum[i](X[n,i]*W[o,i,j]) } "
      "N=64 O=64 I=128 J=128");
  REQUIRE(problem);
  const ir::Target target = tests::target_named("cuda sm=90 sms=132");
  const auto space = schedules::derive_space(problem->program, target);
  const std::string text = space.front().analytic().text();
  CHECK_MESSAGE(text.find("split Y/n ") != std::string::npos, text);
  CHECK_MESSAGE(text.find("split Y/o ") == std::string::npos, text);
}

TEST_CASE("space: no rule gives up without a reason, on any op of the library") {
  const auto every = static_cast<size_t>(tests::by_effort(4, 1, 1));
  size_t count = 0;
  for (const ops::Case& c : ops::stock_library().cases) {
    if (count++ % every != 0) continue;
    const auto problem = ops::parse_problem(c.problem);
    REQUIRE(problem);
    for (const char* on : {"x86 isa=avx2 threads=2", "x86 isa=avx512 threads=1", "cuda sm=90"}) {
      const auto target = ir::parse_target(on, {});
      for (const schedules::RuleTrial& t : schedules::explain(problem->program, *target)) {
        CHECK_MESSAGE(!t.what.empty(), t.rule << " of " << t.stage << ": " << c.problem);
      }
    }
  }
}

TEST_CASE("space: rows that no near cache holds are read once, and so are tensors of two outputs") {
  const std::string sum =
      "op f(X: f32[M,N]) -> (Y: f32[M]) { m[i] = max[j](X[i,j]); "
      "Y[i] = log(sum[j](exp(X[i,j] - m[i]))) + m[i] } ";
  const std::string outputs =
      "op g(A: f32[M,N], inout B: f32[M,N]) -> (C: f32[M,N]) { "
      "C[i,j] = A[i,j]*2; B[i,j] = B[i,j] + A[i,j]*A[i,j] } ";
  const auto launches = [](const std::string& text, const char* machine) {
    CAPTURE(text);
    const ir::Target target = tests::target_named(machine);
    const auto problem = ops::parse_problem(text);
    REQUIRE(problem);
    check_space(text, problem->program, target);
    const ir::Program applied = tests::by_default(text, target);
    std::string at_loops;
    for (const ir::Stage& s : applied.stages) {
      const bool own = !s.at.root() && problem->program.stage(s.at.stage) == nullptr;
      if (own && s.reduce == ir::Reduce::kMax && s.name == "m.r") at_loops += "part ";
      if (!s.at.root() && s.name == "C") at_loops += "output ";
    }
    return at_loops;
  };
  for (const char* machine : kTargets) {
    CHECK(launches("softmax M=4 N=4000000", machine) == "part ");
    CHECK(launches("softmax M=4 N=3000000..4194304", machine) == "part ");
    CHECK(launches("softmax M=4 N=1000", machine) == "");
    CHECK(launches(sum + "M=7 N=1000003", machine) == "part ");
    CHECK(launches(outputs + "M=1 N=4000000", machine) == "output ");
    CHECK(launches(outputs + "M=3000 N=1000", machine) == "output ");
    CHECK(launches(outputs + "M=3 N=1000", machine) == "");
  }
}
