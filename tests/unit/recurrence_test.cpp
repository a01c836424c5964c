// SPDX-License-Identifier: Apache-2.0
// Stages that read themselves: which orders of their loops are legal, and which order is found.
#include "jit/ir/recurrence.h"

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "jit/interp/reference.h"
#include "jit/passes/lower.h"
#include "ops/op.h"
#include "schedules/schedule.h"
#include "schedules/space/space.h"
#include "tests/support/programs.h"

using namespace hone;

namespace {

ir::Program parsed(const std::string& text) {
  auto p = ops::parse_problem(text);
  REQUIRE_MESSAGE(p, p.failure().message);
  return p->program;
}

/// Y reads itself at `reads`, over i, j and b.
ir::Program recurrence(const std::string& reads) {
  return parsed("op f(X: f32[I,J,B]) -> (Y: f32[I,J,B]) { Y[i,j,b] = X[i,j,b] + " + reads +
                " } I=13 J=14 B=15");
}

/// Why a schedule is refused; empty: it is not.
std::string refused(const ir::Program& p, const std::string& schedule) {
  auto s = schedules::Schedule::parse(schedule);
  REQUIRE_MESSAGE(s, s.failure().message);
  const auto applied = schedules::apply(p, *s);
  return applied ? "" : applied.failure().reason;
}

std::string loops(const ir::Program& p) {
  std::string out;
  for (const ir::Loop& l : p.stages[p.stages.size() - 1].loops) {
    out += (out.empty() ? "" : " ") + l.name;
    for (const ir::IndexVar& v : p.stages[p.stages.size() - 1].vars) {
      if (v.name == l.name && v.backward) out += "<";
    }
  }
  return out;
}

}  // namespace

TEST_CASE("recurrence: an order and directions are found") {
  CHECK(loops(recurrence("(Y[i-1,j,b] else 0)")) == "i j b");
  CHECK(loops(recurrence("(Y[i+1,j,b] else 0)")) == "i< j b");
  CHECK(loops(recurrence("(Y[i,j,b-2] else 0)")) == "i j b");
  CHECK(loops(recurrence("(Y[i+1,j-1,b] else 0)")) == "i< j b");
  // One way along i serves only one of them, so j comes first.
  CHECK(loops(recurrence("(Y[i-1,j-1,b] else 0) + (Y[i+1,j-1,b] else 0)")) == "j i b");
  // First b, which lets the second read run either way; then the first one decides.
  CHECK(loops(recurrence("(Y[i-1,j+1,b] else 0) + (Y[i+1,j-1,b-1] else 0)")) == "b i j");
  // What stands at a place of its own is earlier along another index.
  CHECK(loops(recurrence("(Y[i,j-1,3] else 0)")) == "i j b");
}

TEST_CASE("recurrence: what one index carries") {
  const ir::Program p = recurrence("exp(Y[i-1,j,b] else 0)");
  for (const std::string legal : {
           "",
           "reorder j i; parallel j",
           "reorder b j i; parallel b",
           "vectorize b",
           "split b 8 -> b.o b.i; vectorize b.i",
           "split i 4 -> i.o i.i",
           "unroll i j b",
           "split i 4 -> i.o i.i; reorder i.o j b i.i; unroll i.i",
           "partition i",
           "split i 4 -> i.o i.i tail=peel; partition i.o",
           "split b 8 -> b.o b.i tail=peel",
           "reorder j b i; fuse j b -> jb; parallel jb",
           "fuse i j -> ij",
           "split i 4 -> i.o i.i; split i.o 2 -> i.a i.b",
       }) {
    CAPTURE(legal);
    CHECK(refused(p, legal) == "");
  }
  for (const std::string illegal : {
           "parallel i",
           "reorder j b i; vectorize i",
           "split i 4 -> i.o i.i; reorder i.i i.o",
           "split i 4 -> i.o i.i; parallel i.o",
           "reorder j i b; fuse j i -> ji; parallel ji",
           "split i 4 -> i.o i.i; reorder i.i j b i.o",
           "fuse i j -> ij; split ij 4 -> ij.o ij.i",
       }) {
    CAPTURE(illegal);
    CHECK(refused(p, illegal).find("reads its own Y[i - 1,j,b] else 0") != std::string::npos);
  }
  CHECK(refused(p, "split i 4 -> i.o i.i tail=overlap") != "");
  CHECK(refused(p, "parallel i").starts_with("loop i: stage Y"));
}

TEST_CASE("recurrence: lanes that go on from one another") {
  const ir::Program sum = recurrence("(Y[i,j,b-1] else 0)");
  for (const std::string legal : {
           "vectorize b",
           "split b 8 -> b.o b.i; vectorize b.i",
           "split b 8 -> b.o b.i tail=peel; reorder i b.o j b.i; unroll j; vectorize b.i",
           "reorder i b j; vectorize b; unroll j",
       }) {
    CAPTURE(legal);
    CHECK(refused(sum, legal) == "");
  }
  CHECK(refused(sum, "split b 8 -> b.o b.i; reorder b.i b.o; vectorize b.o") != "");
  CHECK(refused(sum, "split b 8 -> b.o b.i tail=overlap; vectorize b.i") != "");
  CHECK(refused(sum, "split b 2 -> b.o b.i; vectorize b.o; unroll b.i") != "");
  CHECK(refused(sum, "parallel b") != "");
  const auto vectors = [](const std::string& statement) {
    return refused(
        parsed("op f(X: f32[B]) -> (Y: f32[B]) { Y[b] = " + statement + " + X[b] } B=20"),
        "vectorize b");
  };
  for (const std::string linear :
       {"(Y[b-1] else 0)", "(Y[b+1] else 0)", "X[b]*(Y[b-1] else 0)", "1 - 2*(Y[b+1] else 0)",
        "(Y[b-1] else 0) - 0.5*((Y[b-1] else 0) - X[b])"}) {
    CAPTURE(linear);
    CHECK(vectors(linear) == "");
  }
  for (const std::string other :
       {"(Y[b-2] else 0)", "(Y[b-1] else 0) + (Y[b-2] else 0)", "(Y[b-1] else 0) + (Y[b-1] else 1)",
        "(Y[b-1] else 0)*(Y[b-1] else 0)", "(Y[b-1] else 0)/X[b]", "exp(Y[b-1] else 0)"}) {
    CAPTURE(other);
    CHECK(vectors(other).find("its iterations are to run one after the other") !=
          std::string::npos);
  }
}

TEST_CASE("recurrence: what two indices carry") {
  const ir::Program both = recurrence("(Y[i-1,j,b] else 0) + (Y[i,j-1,b] else 0)");
  CHECK(refused(both, "reorder j i") == "");
  CHECK(refused(both, "split i 4 -> i.o i.i; split j 4 -> j.o j.i; reorder i.o j.o i.i j.i") == "");
  CHECK(refused(both, "split i 4 -> i.o i.i; split j 4 -> j.o j.i; reorder i.o j.i i.i j.o") != "");
  CHECK(refused(both, "reorder b i j; parallel b") == "");
  CHECK(refused(both, "parallel i") != "");
  // Of the diagonal, i is outside, and then j may run as it likes.
  const ir::Program across = recurrence("(Y[i-1,j+1,b] else 0)");
  CHECK(refused(across, "reorder j i") != "");
  CHECK(refused(across, "reorder i b j; vectorize j") == "");
  CHECK(refused(across, "split i 4 -> i.o i.i; reorder i.o j i.i") != "");
  // Where another element of the row is read, the whole row comes first.
  const ir::Program row = recurrence("(Y[i-1,3,b] else 0)");
  CHECK(refused(row, "reorder i b j; vectorize j") == "");
  CHECK(refused(row, "reorder j i") != "");
  CHECK(refused(row, "split i 4 -> i.o i.i; reorder i.o j i.i") != "");
}

TEST_CASE("recurrence: steps that would take its definition apart") {
  const ir::Program p = parsed(
      "op f(X: f32[M,N]) -> (Y: f32[M,N]) { s: f32[i,j] = X[i,j] + exp(s[i-1,j] else X[i,j]); "
      "Y[i,j] = 2*s[i,j] } M=9 N=10");
  CHECK(refused(p, "compute s at Y/j in=registers").find("computed at the root") !=
        std::string::npos);
  CHECK(refused(p, "reorder Y/j Y/i; compute s at Y/j") == "");
  CHECK(refused(p, "inline s").find("reads its own output") != std::string::npos);
  CHECK(refused(p, "precompute s 3 -> part") != "");
  CHECK(refused(p, "stage s at s/j -> copy in=registers") != "");
  CHECK(refused(p, "collapse s/i s/j -> ij") != "");
  CHECK(refused(p, "reorder s/j s/i; parallel s/j; parallel Y/i") == "");
}

TEST_CASE("recurrence: lowering refuses what no step was asked about") {
  ir::Program p = recurrence("(Y[i-1,j,b] else 0)");
  REQUIRE(jit::lower(p, ir::Target{}));
  p.stages.edit(0).loops[0].mark = ir::Mark::kParallel;
  const auto nest = jit::lower(p, ir::Target{});
  REQUIRE_FALSE(nest);
  CHECK(nest.failure().reason.find("run at one time") != std::string::npos);
}

TEST_CASE("recurrence: defaults have vectors and threads along independent indices") {
  const ir::Target target = tests::target_named("x86 isa=avx2 threads=4");
  const auto marks = [&](const std::string& text) {
    const ir::Program p = parsed(text);
    const auto applied = schedules::apply(p, schedules::default_schedule(p, target));
    REQUIRE(applied);
    std::string out;
    for (const ir::Loop& l : applied->stages[0].loops) {
      if (l.mark != ir::Mark::kSerial) out += std::string(name_of(l.mark)) + " ";
    }
    return out;
  };
  CHECK(marks("op f(X: f32[M,N]) -> (Y: f32[M,N]) { Y[i,j] = X[i,j] + (Y[i-1,j] else 0) } "
              "M=4096 N=4096") == "parallel vec ");
  CHECK(marks("op f(X: f32[M,N]) -> (Y: f32[M,N]) { Y[i,j] = X[i,j] + (Y[i,j-1] else 0) } "
              "M=4096 N=4096") == "parallel unroll vec ");
  CHECK(marks("op f(X: f32[M,N]) -> (Y: f32[M,N]) { Y[i,j] = X[i,j] * (Y[i,j-1] else 1) } "
              "M=4096 N=4096") == "unroll vec ");
  CHECK(marks("op f(X: f32[N]) -> (Y: f32[N]) { Y[i] = X[i] + (Y[i-1] else 0) } N=4096") == "vec ");
  CHECK(marks("op f(X: f32[N]) -> (Y: f32[N]) { Y[i] = X[i] * (Y[i-1] else 1) } N=4096") ==
        "unroll ");
}

namespace {

/// Values that no float type holds exactly, of either sign.
std::vector<float> uneven(size_t n) {
  std::vector<float> out;
  for (size_t i = 0; i < n; ++i) out.push_back(static_cast<float>(std::sin(0.7 * i) + 0.1));
  return out;
}

jit::TensorView view_of(std::vector<float>& data, int64_t rows, int64_t columns) {
  return {data.data(), DType::kF32, {rows, columns}, {columns, 1}};
}

jit::ReferenceOutcome evaluated(const ir::Program& p, std::vector<float>& x, std::vector<float>& y,
                                int64_t rows, int64_t columns,
                                const std::vector<std::vector<int64_t>>& elements = {}) {
  jit::ReferenceOptions options;
  options.bounds = true;
  options.elements = elements;
  const std::vector<jit::TensorView> views = {view_of(x, rows, columns), view_of(y, rows, columns)};
  auto out = jit::evaluate(p, views, {}, {}, options);
  REQUIRE_MESSAGE(out, out.failure().message);
  return *std::move(out);
}

}  // namespace

TEST_CASE("recurrence: error bounds add up along the chain, and hold what f32 makes of it") {
  constexpr int64_t kSteps = 3000;
  const ir::Program p = parsed(
      "op f(X: f32[M,N]) -> (Y: f32[M,N]) { Y[i,j] = X[i,j] + 0.99*(Y[i-1,j] else 0) } M=3000 N=1");
  std::vector<float> x = uneven(kSteps), y(kSteps);
  const jit::ReferenceOutcome out = evaluated(p, x, y, kSteps, 1);
  float state = 0;
  for (size_t i = 0; i < kSteps; ++i) {
    state = x[i] + 0.99f * state;
    const double bound = out.outputs[0].bound[i];
    CHECK(std::fabs(static_cast<double>(state) - out.outputs[0].f[i]) <= bound);
    CHECK(bound < 2e-3);  // what is forgotten takes its error along
  }
  CHECK(out.outputs[0].bound[500] > 3 * out.outputs[0].bound[5]);
  // Where each step doubles what came before, the bound ends at whatever may come out.
  const ir::Program wild = parsed(
      "op f(X: f32[M,N]) -> (Y: f32[M,N]) { Y[i,j] = sin(X[i,j] + 3*(Y[i-1,j] else 0)) } M=3000 "
      "N=1");
  const jit::ReferenceOutcome lost = evaluated(wild, x, y, kSteps, 1);
  CHECK(lost.outputs[0].bound[kSteps - 1] >= 1);
}

TEST_CASE("recurrence: an element alone is what it is among all") {
  for (const char* read : {"Y[i-1,j] else 0", "Y[i+1,j] else X[0,j]", "Y[i,j+2] else 1",
                           "Y[i-1,j+1] else 0", "Y[i-1,3] else 0"}) {
    CAPTURE(read);
    const ir::Program p = parsed(std::string("op f(X: f32[M,N]) -> (Y: f32[M,N]) { Y[i,j] = "
                                             "X[i,j] - 0.5*(") +
                                 read + ") } M=7 N=9");
    std::vector<float> x = uneven(63), y(63);
    const jit::ReferenceOutcome all = evaluated(p, x, y, 7, 9);
    const jit::ReferenceOutcome some = evaluated(p, x, y, 7, 9, {{5, 31, 62, 0}});
    for (size_t k = 0; k < some.outputs[0].elements.size(); ++k) {
      const auto at = static_cast<size_t>(some.outputs[0].elements[k]);
      CHECK(some.outputs[0].f[k] == all.outputs[0].f[at]);
      CHECK(some.outputs[0].bound[k] == all.outputs[0].bound[at]);
    }
    // By hand, for the first of them.
    if (std::string(read) == "Y[i-1,j] else 0") {
      CHECK(all.outputs[0].f[9 + 5] == doctest::Approx(x[9 + 5] - 0.5 * x[5]).epsilon(1e-6));
    }
  }
}
