// SPDX-License-Identifier: Apache-2.0
//
// Rows of two products in one pass: what a part leaves behind in registers, and what goes on.
#include <doctest/doctest.h>

#include <string>

#include "jit/cuda/resources.h"
#include "schedules/space/space.h"
#include "tests/cuda/by_hand.h"
#include "tests/support/effort.h"

using namespace hone;
using namespace hone::tests;

namespace {

const char* const kGrouped =
    "op grouped(Q: bf16[B,G,N,S,D], K: bf16[B,G,L,D], V: bf16[B,G,L,D]) -> (O: bf16[B,G,N,S,D]) { "
    "s[b,g,n,i,j] = sum[d](Q[b,g,n,i,d] * K[b,g,j,d]) * 0.125; m[b,g,n,i] = max[j](s[b,g,n,i,j]); "
    "p[b,g,n,i,j] = exp(s[b,g,n,i,j] - m[b,g,n,i]); "
    "O[b,g,n,i,d] = sum[j](cast<bf16>(p[b,g,n,i,j]) * V[b,g,j,d]) / sum[j](p[b,g,n,i,j]) } ";

/// A schedule's default, with a step of it in another form.
std::string altered(const std::string& text, const std::string& from, const std::string& to) {
  const DiffProblem p = problem(text);
  std::string schedule = schedules::default_schedule(p.program, gpu()).text();
  const size_t at = schedule.find(from);
  REQUIRE_MESSAGE(at != std::string::npos, schedule);
  return schedule.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("cuda online: one launch without workspace, and right") {
  const std::vector<std::pair<std::string, int64_t>> problems = {
      {"causal_attention B=1 H=1 S=192 D=64 T=bf16", 0},
      {"attention B=1 H=1 S=1..150 L=1..300 D=64 T=f16", 131},
      {"attention B=1 H=2 S=70 L=77 D=64 T=f16", 0},
      {kGrouped + std::string("B=1 G=1 N=2 S=64 L=130 D=64"), 0},
      {"causal_attention B=1 H=1 S=1..300 D=128 T=f16", 200},
      {"attention B=2 H=1 S=64 L=128 D=64 T=bf16 Q@B,S,H,D K@B,L,H,D V@B,L,H,D O@B,S,H,D", 0},
      {"attention B=1 H=1 S=130 L=40 D=128 T=bf16", 0},
  };
  std::vector<DiffProblem> all;
  for (const auto& [text, dim] : problems) {
    all.push_back(problem(text));
    all.back().dims.assign(all.back().program.dims.size(), dim);
  }
  Batch batch;
  for (const DiffProblem& p : all) {
    const schedules::Schedule schedule = schedules::default_schedule(p.program, gpu());
    CHECK_MESSAGE(schedule.text().find("online m/") != std::string::npos, p.text);
    const auto printed = print(p, schedule);
    REQUIRE_MESSAGE(static_cast<bool>(printed), p.text);
    CHECK_MESSAGE(printed->nest.workspace_bytes == 0, p.text);
    CHECK_MESSAGE(printed->source.launches.size() == 1, p.text);
    CHECK_MESSAGE(printed->source.kernels.find("_registers<1>(") != std::string::npos, p.text);
    const std::string refused = batch.add(p, schedule);
    CHECK_MESSAGE(refused.empty(), p.text << ": " << refused);
  }
  batch.check();
}

TEST_CASE("cuda online: other forms take several launches") {
  const std::string softmax = "softmax M=64 N=1024 T=bf16";
  for (const std::string& text :
       {softmax, std::string("attention B=1 H=1 S=128 L=128 D=80 T=bf16"),
        std::string("attention B=1 H=1 S=128 L=128 D=64"),
        std::string("attention B=1 H=1 S=3 L=128 D=64 T=bf16"),
        std::string("attention B=1 H=1 S=128 L=128 D=64 T=bf16 K@B,H,D,L")}) {
    const DiffProblem p = problem(text);
    const std::string schedule = schedules::default_schedule(p.program, gpu()).text();
    CHECK_MESSAGE(schedule.find("online ") == std::string::npos, text);
  }
}

TEST_CASE("cuda online: what goes on is computed from the first part on, and kept around") {
  const std::string text = "attention B=1 H=1 S=128 L=256 D=64 T=bf16";
  check_refused({
      {text,
       altered(text, "compute m.r at O.1.r/r.p store O/i.w in=warp",
               "compute m.r at O.1.r/r.p in=warp"),
       "outside loop O.1.r/r.p"},
      {text,
       altered(text, "compute O.2.r at O.1.r/r.p store O/i.w in=warp",
               "compute O.2.r at O.1.r/r.p store O/i.w in=registers"),
       "each of which has O.2.r to itself"},
      {text,
       altered(text, "reorder O.1.r/r.p O.1.r/b O.1.r/h O.1.r/i O.1.r/d",
               "split O.1.r/i 16 -> i.x i.y; reorder i.x r.p O.1.r/b O.1.r/h i.y O.1.r/d"),
       ""},
  });
}

TEST_CASE("cuda online: registers hold it") {
  const auto nvrtc = compiler_for(90);
  for (const char* text : {"causal_attention B=4 H=32 S=2048 D=128 T=bf16",
                           "attention B=4 H=16 S=2048 L=2048 D=64 T=f16"}) {
    const auto made = print_default(problem(text).program);
    REQUIRE_MESSAGE(static_cast<bool>(made), text);
    const std::string& kernels = made->source.kernels;
    CHECK_MESSAGE(kernels.find("from_lane(") != std::string::npos, text);
    if (!nvrtc) continue;
    const auto binary = nvrtc->compile(made->source, 90);
    REQUIRE_MESSAGE(static_cast<bool>(binary), binary.failure().message);
    const auto all = jit::resources_in(binary->log);
    const jit::KernelResources* found = jit::resources_of(all, made->source.launches[0].symbol);
    REQUIRE(found);
    CHECK_MESSAGE(found->spill_bytes == 0, text);
    CHECK_MESSAGE(binary->log.find("serialized") == std::string::npos, binary->log);
  }
}
