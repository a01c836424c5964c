// SPDX-License-Identifier: Apache-2.0
// How results are held against the definition, where that is evaluated whole and where it is not.
#include "runtime/kernel_check/kernel_check.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/check/difference.h"
#include "runtime/check/reference_kernel.h"
#include "runtime/check/tile_edges.h"
#include "runtime/engine/build.h"
#include "runtime/engine/engine_state.h"
#include "runtime/machine/host.h"
#include "runtime/measure/bound.h"
#include "schedules/schedule.h"

using namespace hone;
using namespace hone::runtime;

namespace {

/// More than 2^24 scalar operations, 128 KB of results.
constexpr const char* kLarge = "matmul M=130 N=250 K=300";

bool no_code() { return host_target().vector_bytes() == 0; }

ops::Problem problem_of(const std::string& text) {
  auto problem = ops::parse_problem(text);
  REQUIRE_MESSAGE(problem, (problem ? "" : problem.failure().message));
  return *std::move(problem);
}

/// What the spoilt kernel calls, and which element it then spoils.
Launch::Function right_function = nullptr;
int output_slot = 0;
int64_t spoilt_element = -1;

void spoilt_function(const int64_t* args, int64_t begin, int64_t end, void* scratch) {
  right_function(args, begin, end, scratch);
  if (spoilt_element < 0) return;
  auto* output = reinterpret_cast<float*>(args[output_slot]);
  output[spoilt_element] += 1;
}

/// A kernel whose last launch adds one to an element of its only output.
std::shared_ptr<const KernelState> spoilt_kernel(EngineState& engine, const ops::Problem& problem,
                                                 const std::string& schedule) {
  auto kernel = build_kernel(engine.services, {&problem, &engine.target, schedule, Source::kGiven});
  REQUIRE_MESSAGE(kernel, (kernel ? "" : kernel.failure().text()));
  // Kernels never change; this one was made for the test.
  auto& state = const_cast<KernelState&>(**kernel);
  right_function = state.launches.back().function;
  state.launches.back().function = spoilt_function;
  state.launches.back().parallel = false;
  output_slot = state.layout.tensor_slots.back();
  return *kernel;
}

}  // namespace

TEST_CASE("check: one wrong element of a large problem is found") {
  if (no_code()) return;
  EngineOptions options;
  options.cache = ":memory:";
  options.threads = 1;
  auto engine = EngineState::create(options);
  REQUIRE(engine);
  const ops::Problem problem = problem_of(kLarge);
  const auto kernel = spoilt_kernel(
      **engine, problem, "split C/n 16 -> a b tail=peel; reorder C/m a C/k b; vectorize b");
  spoilt_element = -1;
  auto right = check_kernel(kernel, problem);
  REQUIRE_MESSAGE(right, (right ? "" : right.failure().message));
  CHECK_MESSAGE(right->mismatch.empty(), right->mismatch);
  CHECK(right->compared > 3 * 130 * 250);
  for (int64_t element : {int64_t{0}, int64_t{1777}, int64_t{9999}, int64_t{130 * 250 - 1}}) {
    CAPTURE(element);
    spoilt_element = element;
    auto wrong = check_kernel(kernel, problem);
    REQUIRE_MESSAGE(wrong, (wrong ? "" : wrong.failure().message));
    CHECK(wrong->mismatch.find("C[" + std::to_string(element / 250) + "," +
                               std::to_string(element % 250) + "] is ") == 0);
  }
}

TEST_CASE("check: strides given at the call are those of rows side by side and some apart") {
  EngineOptions options;
  options.cache = ":memory:";
  auto engine = EngineState::create(options);
  REQUIRE(engine);
  for (const char* text : {"matmul M=4 N=8 K=16 A.stride=(?,1)", "add_rows M=3 N=5 Y.stride=(?,?)",
                           "op f(X: f32[A,B,C]) -> (Y: f32[A,B,C]) { Y[i,j,k] = X[i,j,k] } "
                           "A=1 B=3 C=3 Y.stride=(17,17,?)",
                           "matmul M=1..4 N=8 K=1..16 A.stride=(?,1) C.stride=(?,1)"}) {
    CAPTURE(text);
    const ops::Problem problem = problem_of(text);
    for (const ir::Dim& d : dims_to_try(problem.program)) CHECK(d.hi < 500);
    const auto kernel = (*engine)->compile(text, CompileOptions{});
    REQUIRE_MESSAGE(kernel, (kernel ? "" : kernel.failure().message));
    const auto outcome = check_kernel(*kernel, problem);
    REQUIRE_MESSAGE(outcome, (outcome ? "" : outcome.failure().message));
    CHECK_MESSAGE(outcome->mismatch.empty(), outcome->mismatch);
  }
  const auto dims = dims_to_try(problem_of("matmul M=4 N=8 K=16 A.stride=(?,1)").program);
  REQUIRE(dims.size() == 1);
  CHECK(dims[0].lo == 16);
  CHECK(dims[0].hi == 32);
}

TEST_CASE("check: a shrunken problem has the remainders of the large one") {
  const ops::Problem large = problem_of("matmul M=1000 N=1003 K=500");
  const std::string schedule =
      "split C/m 12 -> m.o m.i tail=peel; split C/n 32 -> n.o n.i tail=peel";
  const auto small = shrunken(large, schedule);
  REQUIRE(small);
  // The least that leave the same of tiles of 12 and of 32, and hold two of each.
  CHECK(small->text == "matmul M=136 K=116 N=139");
  CHECK_FALSE(shrunken(problem_of("matmul M=3 N=3 K=3"), schedule));
  // A text that begins with the op keeps it.
  const auto own =
      shrunken(problem_of("op twice(X: f32[N]) -> (Y: f32[N]) { Y[i] = X[i] * 2 } N=100000"),
               "split Y/i 16 -> a b tail=peel");
  REQUIRE(own);
  CHECK(own->text == "op twice(X: f32[N]) -> (Y: f32[N]) { Y[i] = X[i]*2 } N=32");
}

TEST_CASE("check: tiles of a schedule") {
  const ops::Problem problem = problem_of("matmul M=100 N=90 K=80");
  auto schedule = schedules::Schedule::parse(
      "split C/m 24 -> m.o m.r tail=peel; split C/m.r 6 -> m.b m.i; split C/n 16 -> a b tail=mask");
  REQUIRE(schedule);
  auto scheduled = schedules::apply(problem.program, *schedule);
  REQUIRE_MESSAGE(scheduled, (scheduled ? "" : scheduled.failure().text()));
  const TileEdges edges = tile_edges(*scheduled);
  REQUIRE(edges.size() == 1);
  REQUIRE(edges[0].size() == 2);
  CHECK(edges[0][0] == std::vector<int64_t>{6, 24});
  CHECK(edges[0][1] == std::vector<int64_t>{16});
  const std::vector<int64_t> shape = {100, 90};
  const auto positions = edge_positions(shape, edges[0], 40);
  CHECK(positions.size() == 40);
  for (int64_t p : positions) {
    const int64_t column = p % 90;
    CHECK((column == 0 || column == 89 || column == 15 || column == 16 || column == 79 ||
           column == 80));
  }
}

TEST_CASE("check: differences are found wherever they lie") {
  constexpr int64_t kRows = 7, kColumns = 1500, kStride = 1600;
  std::vector<float> a(kRows * kStride, 1), b = a;
  const auto view = [](std::vector<float>& v) {
    return jit::TensorView{v.data(), DType::kF32, {kRows, kColumns}, {kStride, 1}};
  };
  const float nan = std::numeric_limits<float>::quiet_NaN();
  a[3 * kStride + 5] = b[3 * kStride + 5] = nan;
  a[0] = 1 + 1e-6f;
  a[kColumns] = 5;  // between rows: nobody's
  CHECK(difference(view(a), view(b), 1e-5, 8).count == 0);
  CHECK(difference(view(a), view(b), 0, 8).positions == std::vector<int64_t>{0});
  a[6 * kStride + kColumns - 1] = 2;
  a[2 * kStride + 700] = nan;
  const Difference d = difference(view(a), view(b), 1e-5, 8);
  CHECK(d.count == 2);
  CHECK(d.positions == std::vector<int64_t>{2 * kColumns + 700, 7 * kColumns - 1});
  for (float& x : a) x = 3;
  const Difference all = difference(view(a), view(b), 1e-5, 8);
  CHECK(all.count == kRows * kColumns);
  CHECK(all.positions.size() == 8);
  // A choice of all of them, not the first.
  CHECK(*std::max_element(all.positions.begin(), all.positions.end()) > kColumns);
}
