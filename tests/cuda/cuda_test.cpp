// SPDX-License-Identifier: Apache-2.0
//
// Generated CUDA against the definition, without a device: the kernels are compiled as C++ and run
// under an emulation that checks bounds, races and barriers.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>

#include "jit/cuda/source.h"
#include "jit/passes/barriers.h"
#include "jit/passes/lower.h"
#include "ops/op.h"
#include "schedules/search/random_steps.h"
#include "schedules/space/space.h"
#include "tests/cuda/by_hand.h"
#include "tests/cuda/with_threads.h"
#include "tests/diff/problems.h"
#include "tests/diff/subject.h"
#include "tests/support/effort.h"

using namespace hone;
using namespace hone::tests;

namespace {

/// Schedules that show what a GPU's steps are for.
const std::vector<ByHand> kByHand = {
    {"add N=1000", "split Y/i 256 -> b t; bind b block.x; bind t thread.x"},
    // A tile per block through shared memory, a tile per thread in registers.
    {"matmul M=70 N=90 K=50",
     "split C/m 64 -> m.b m.i; split C/n 64 -> n.b n.i; split C/m.i 8 -> m.t m.r; "
     "split C/n.i 8 -> n.t n.r; reorder C/m.b C/n.b C/m.t C/n.t C/k C/m.r C/n.r; "
     "stage C at C/n.t -> Ct in=registers; split Ct/k 16 -> k.o k.i; "
     "reorder Ct/k.o Ct/k.i Ct/m Ct/n; "
     "stage A at Ct/k.o -> As in=shared; stage B at Ct/k.o -> Bs in=shared; "
     "split As/d0 8 -> d0.o d0.i; bind As/d0.i thread.y; split As/d1 8 -> d1.o d1.i; "
     "bind As/d1.i thread.x; split Bs/d0 8 -> d0.o d0.i; bind Bs/d0.i thread.y; "
     "split Bs/d1 8 -> d1.o d1.i; bind Bs/d1.i thread.x; "
     "unroll Ct/m Ct/n; bind C/m.b block.y; bind C/n.b block.x; bind C/m.t thread.y; "
     "bind C/n.t thread.x"},
    // Every row by a block, its threads along the row.
    {"softmax M=5 N=300",
     "compute m at Y/i in=registers; compute s at Y/i in=registers; inline e; "
     "split m/j 64 -> o t; reorder m/t m/o; bind m/t thread.x; split s/j 64 -> o t; "
     "reorder s/t s/o; bind s/t thread.x; split Y/j 64 -> o t; reorder Y/t Y/o; "
     "bind Y/t thread.x; bind Y/i block.x"},
};

}  // namespace

TEST_CASE("cuda: schedules by hand under the emulation") { check_all(kByHand); }

TEST_CASE("cuda: every problem by the default schedule under the emulation") {
  const auto problems = diff_problems();
  Batch batch;
  for (const DiffProblem& p : problems) {
    const std::string refused = batch.add(p, schedules::default_schedule(p.program, gpu()));
    CHECK_MESSAGE(refused.empty(), p.text << ": " << refused);
  }
  batch.check();
}

TEST_CASE("cuda: valid ops are printed as plain loops, and right by the default schedule") {
  const auto problems = valid_problems();
  Batch batch;
  for (const DiffProblem& p : problems) {
    const auto plain = print(p, {});
    CHECK_MESSAGE(static_cast<bool>(plain), p.text << ": " << plain.failure());
    const std::string refused = batch.add(p, schedules::default_schedule(p.program, gpu()));
    CHECK_MESSAGE(refused.empty(), p.text << ": " << refused);
  }
  batch.check();
}

TEST_CASE("cuda: random legal schedules under the emulation") {
  const auto problems = diff_problems();
  const int each = static_cast<int>(by_effort(0, 0, 0, 2));
  const auto every = static_cast<size_t>(by_effort(4, 3, 3, 1));
  int bound = 0, checked = 0;
  for (size_t first = 0; first < problems.size(); first += 64) {
    Batch batch;
    for (size_t p = first; p < std::min(first + 64, problems.size()); p += every) {
      schedules::RandomSchedules random(problems[p].program, gpu(), p);
      for (int i = 0; i <= each; ++i) {
        schedules::Random draw(1000 * p + static_cast<uint64_t>(i));
        const schedules::Schedule schedule =
            with_threads(problems[p].program, gpu(), random.next(2 + i % 5, nullptr), draw);
        if (!batch.add(problems[p], schedule).empty()) continue;
        ++checked;
        bound += schedule.text().find("bind ") != std::string::npos;
      }
    }
    batch.check();
  }
  std::printf("%d schedules checked, %d of them bind loops\n", checked, bound);
  CHECK(bound > checked / 2);
}

TEST_CASE("cuda: a loop that data may make longer than a block is not bound to its threads") {
  const DiffProblem p = problem("embedding_bag R=20 D=33 L=12 B=1 I=i32");
  for (const char* axis : {"thread.x", "thread.y", "thread.z"}) {
    const auto schedule = schedules::Schedule::parse(
        std::string("stage Y at Y/b -> T in=registers; bind T/j ") + axis);
    REQUIRE(schedule);
    const auto source = print(p, *schedule);
    REQUIRE_FALSE(source);
    CHECK(source.failure().find("threads of a block") != std::string::npos);
  }
}

TEST_CASE("cuda: kernels compile for every GPU that the compiler at hand knows") {
  const auto nvrtc = compiler_at_hand();
  if (!nvrtc) return;
  for (const char* text :
       {"matmul M=300 N=200 K=100", "fc_gelu M=70 N=96 K=40 const=W T=bf16", "softmax M=5 N=300",
        "layernorm M=5 N=300 T=f16", "embedding_bag R=20 D=32 L=12 B=4", "mod N=133 T=i8"}) {
    const DiffProblem p = problem(text);
    for (int sm : {75, 80, 86, 89, 90, 100}) {
      if (!compiles_for(*nvrtc, sm)) continue;
      ir::Target target = gpu();
      target.sm = sm;
      const auto source = print(p, schedules::default_schedule(p.program, target), target);
      REQUIRE(static_cast<bool>(source));
      const auto binary = nvrtc->compile(source->source, sm);
      CHECK_MESSAGE(static_cast<bool>(binary), text << ": " << binary.failure().message);
      if (binary) CHECK_FALSE(binary->cubin.empty());
    }
  }
  // One that is to come takes PTX of the latest.
  const auto known = nvrtc->architectures();
  const int later = *std::max_element(known.begin(), known.end()) + 10;
  const DiffProblem p = problem("add N=1000");
  const auto source = print(p, schedules::default_schedule(p.program, gpu()));
  REQUIRE(static_cast<bool>(source));
  const auto exact = nvrtc->compile(source->source, later);
  REQUIRE_FALSE(static_cast<bool>(exact));
  CHECK_MESSAGE(exact.failure().message.find("it compiles for sm_") != std::string::npos,
                exact.failure().message);
  const auto ptx = nvrtc->compile_for_later(source->source, later);
  REQUIRE_MESSAGE(static_cast<bool>(ptx), ptx.failure().message);
  CHECK(ptx->cubin.empty());
  CHECK(ptx->ptx.find(".target sm_" + std::to_string(later - 10)) != std::string::npos);
}
