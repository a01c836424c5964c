// SPDX-License-Identifier: Apache-2.0
// Convolutions from fewer products: where the problem admits them, what they are called, how their
// errors are judged, when the rule takes them, and that the bound knows them.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "include/hone/hone.h"
#include "jit/interp/compare.h"
#include "ops/op.h"
#include "runtime/measure/work.h"
#include "schedules/numerics.h"
#include "schedules/schedule.h"
#include "schedules/space/space.h"
#include "tests/support/programs.h"

using namespace hone;

namespace {

constexpr const char* kX86 = "x86 isa=avx512 threads=1 l1d=48K l2=1M l3=32M";
constexpr const char* kServer = "x86 isa=avx512 cpu=intel-06-a7 threads=1 l1d=48K l2=2M l3=480M";
const std::string kFir =
    "op fir(X: f32[N+2], g: f32[3]) -> (Y: f32[N]) { Y[i] = sum[r](X[i+r]*g[r]) } N=8";

ir::Program program_of(const std::string& problem) {
  const auto parsed = ops::parse_problem(problem);
  REQUIRE_MESSAGE(parsed, parsed.failure().message);
  return parsed->program;
}

std::string class_of(const std::string& problem, const std::string& steps) {
  const ir::Program program = program_of(problem);
  const auto schedule = schedules::Schedule::parse(steps);
  REQUIRE(schedule);
  const auto scheduled = schedules::apply(program, *schedule);
  REQUIRE_MESSAGE(scheduled, scheduled.failure().text());
  return schedules::numerics_class(program, *scheduled);
}

/// The steps of the first structure, `;` between.
std::string steps_of(const std::string& problem, const char* target) {
  std::string out;
  for (const std::string& step :
       schedules::default_schedule(program_of(problem), tests::target_named(target)).texts()) {
    out += step + "; ";
  }
  return out;
}

/// The `winograd` steps of the first structure, `;` between.
std::string combined_in(const std::string& problem, const char* target = kX86) {
  std::string out;
  for (const std::string& step :
       schedules::default_schedule(program_of(problem), tests::target_named(target)).texts()) {
    if (step.starts_with("winograd ")) out += (out.empty() ? "" : "; ") + step;
  }
  return out;
}

std::string convolution(int channels, int size, const std::string& numerics) {
  const std::string c = std::to_string(channels), s = std::to_string(size);
  return "conv2d N=1 C=" + c + " O=" + c + " H=" + s + " W=" + s + " R=3 Q=3 P=1 const=F" +
         numerics;
}

/// Bounds of the errors of kFir on these data and a filter of ones.
std::vector<double> bounds(const std::string& problem, std::vector<float> x) {
  const ir::Program program = program_of(problem);
  std::vector<float> g(3, 1), y(8);
  std::vector<jit::TensorView> views = jit::parameter_views(program, {});
  REQUIRE(views.size() == 3);
  views[0].data = x.data(), views[1].data = g.data(), views[2].data = y.data();
  const auto out = jit::evaluate(program, views, {}, {});
  REQUIRE(out);
  return out->outputs[0].bound;
}

}  // namespace

TEST_CASE("winograd: a class of its own, which problems that say nothing do not admit") {
  const std::string normwise = kFir + " numerics=normwise";
  const std::string name = class_of(normwise, "winograd Y/r 2 -> d f m");
  CHECK(name == "Y:winograd(r/2)");
  CHECK(class_of(normwise, "winograd Y/r 2 -> d f m; inline f") == "Y:winograd(r/2,filter)");
  CHECK(class_of(normwise, "winograd Y/r 2 -> d f m; inline m") == "Y:winograd(r/2,products)");
  CHECK(class_of(convolution(2, 4, " numerics=normwise"),
                 "winograd Y.1/r 2 -> d f m; winograd m/q 4 -> dd ff mm; vectorize mm/c") ==
        "Y.1:winograd(r/2)[winograd(q/4)[lanes(c)]]");
  CHECK(schedules::admits("normwise", name));
  CHECK(schedules::admits(name, name));
  CHECK_FALSE(schedules::admits("seq", name));
  CHECK_FALSE(schedules::admits("Y:winograd(r/4)", name));
  // A class that is pinned says that its errors are admitted.
  Engine engine({.target = kX86, .cache = ":memory:"});
  const auto pinned =
      engine.try_compile(kFir + " numerics=" + name, {.schedule = "winograd Y/r 2 -> d f m"});
  REQUIRE_MESSAGE(pinned, pinned.failure().message);
  CHECK(pinned->numerics() == name);
  const auto other = engine.try_compile(kFir, {.schedule = "winograd Y/r 2 -> d f m"});
  REQUIRE_FALSE(other);
  CHECK(other.failure().message.find("`numerics=normwise` does") != std::string::npos);
}

TEST_CASE("winograd: errors are judged beside the largest elements") {
  const std::string normwise = kFir + " numerics=normwise";
  std::vector<float> x(10, 1);
  // Whole numbers are exact term by term, and not in combinations.
  CHECK(bounds(kFir, x)[0] == 0);
  const double plain = bounds(normwise, x)[0];
  CHECK(plain > 0);
  CHECK(plain < 1e-3);
  x[9] = 1000;
  CHECK(bounds(normwise, x)[0] == doctest::Approx(1000 * plain).epsilon(0.01));
  x[9] = std::numeric_limits<float>::infinity();
  for (const double b : bounds(normwise, x)) CHECK(std::isinf(b));
  CHECK(bounds(kFir, x)[0] == 0);
}

TEST_CASE("winograd: the rule weighs products, far reads and combinations") {
  CHECK(combined_in(convolution(64, 56, " numerics=normwise")) ==
        "winograd Y.1/r 4 -> Y.1.wd Y.1.wf Y.1.wm; "
        "winograd Y.1.wm/q 4 -> Y.1.wm.wd Y.1.wm.wf Y.1.wm.wm");
  CHECK(combined_in(convolution(64, 56, "")).empty());
  // A channel by itself has too few products for what combinations take.
  CHECK(combined_in("depthwise_conv2d N=1 C=64 H=56 W=56 R=3 Q=3 P=1 const=F numerics=normwise")
            .empty());
  // Few results share a filter that no near cache holds.
  CHECK(combined_in(convolution(512, 7, " numerics=normwise"), kServer).empty());
}

TEST_CASE("winograd: bands of rows keep combinations near, and each remainder has a body") {
  const auto has = [](const std::string& steps, const char* step) {
    return steps.find(step) != std::string::npos;
  };
  const std::string near = steps_of(convolution(64, 56, " numerics=normwise"), kServer);
  CHECK(has(near, "split Y/h 8 -> h.o h.i tail=peel; "));
  CHECK(has(near, "compute Y.1.wd Y.1.wm Y.1.wm.wd Y.1.wm.wm at Y/h.o; "));
  CHECK(has(near, "split Y/h.i 4 -> h.t h.r tail=peel; "));
  CHECK(has(near, "unroll Y/h.r; "));
  CHECK(has(near, "unroll Y.1.wd/r; "));
  CHECK(has(near, "unroll Y.1.wm/w.i; "));
  // Images stay apart where bands are.
  const std::string images = "conv2d N=8 C=64 O=64 H=56 W=56 R=3 Q=3 P=1 const=F numerics=normwise";
  CHECK(has(steps_of(images, kServer), "reorder Y/n Y/h.o Y/o Y/h.i Y/w; "));
  // Each band would read a filter from far.
  const std::string far = steps_of(convolution(256, 28, " numerics=normwise"), kServer);
  CHECK_FALSE(has(far, " at Y/h.o"));
}

TEST_CASE("winograd: the bound counts the fewest operations that the problem admits") {
  const auto operations = [](const std::string& problem) {
    return runtime::work_of(program_of(problem), {}, tests::target_named(kX86)).operations;
  };
  const double direct = operations(convolution(64, 56, ""));
  const double fewest = operations(convolution(64, 56, " numerics=normwise"));
  CHECK(fewest > direct / 4);
  CHECK(fewest < direct / 3);
}
