// SPDX-License-Identifier: Apache-2.0
//
// Default schedules of problems that fill a GPU, on problems small enough for the emulation: what
// rules do only where there is much of something, on sizes that divide and on sizes that do not.
#include <doctest/doctest.h>

#include "ops/op.h"
#include "schedules/search/sampling.h"
#include "schedules/space/space.h"
#include "tests/cuda/batch.h"
#include "tests/diff/problems.h"
#include "tests/diff/subject.h"
#include "tests/support/effort.h"

using namespace hone;
using namespace hone::tests;

namespace {

struct Scaled {
  const char* op;
  const char* large;
  const char* small[2];
};

constexpr Scaled kScaled[] = {
    {"copy", "N=67108864", {"N=8192", "N=5003"}},
    {"convert", "N=67108864 T=i8 U=f32", {"N=8192 T=i8 U=f32", "N=4101 T=i8 U=f32"}},
    {"gelu", "N=67108864", {"N=16384", "N=5001"}},
    {"sigmoid", "N=67108864 T=f16", {"N=16384 T=f16", "N=5001 T=f16"}},
    {"add_rows", "M=16384 N=4096", {"M=6 N=2048", "M=5 N=1100"}},
    {"add_rows", "M=16384 N=4095", {"M=8 N=255", "M=7 N=301"}},
    {"batchnorm", "N=64 C=256 H=56 W=56", {"N=4 C=4 H=8 W=16", "N=5 C=3 H=14 W=10"}},
    {"concat", "M=65536 N=512 L=512", {"M=8 N=512 L=512", "M=5 N=260 L=132"}},
    {"row_sum", "M=64 N=1048576", {"M=2 N=131072", "M=3 N=131072"}},
    {"row_sum", "M=8388608 N=8", {"M=300 N=8", "M=301 N=12"}},
    {"row_argmax", "M=16384 N=4096", {"M=2 N=4096", "M=3 N=1100"}},
    {"sum_all", "M=8192 N=8192 T=f16", {"M=16 N=8192 T=f16", "M=13 N=5000 T=f16"}},
    {"column_sum", "M=8192 N=8192 T=f16", {"M=512 N=512 T=f16", "M=300 N=264 T=f16"}},
    {"column_sum", "M=5000000 N=20", {"M=4096 N=20", "M=5000 N=12"}},
    {"column_max", "M=1024 N=65536", {"M=64 N=256", "M=70 N=132"}},
    {"softmax", "M=65536 N=1000", {"M=16 N=1000", "M=11 N=900"}},
    {"softmax", "M=1048576 N=128 T=bf16", {"M=64 N=128 T=bf16", "M=37 N=120 T=bf16"}},
    {"softmax", "M=8192 N=8192", {"M=2 N=4096", "M=3 N=5000"}},
    {"softmax", "M=65536 N=1023", {"M=8 N=1023", "M=9 N=517"}},
    {"log_softmax", "M=16384 N=32000 T=bf16", {"M=2 N=32000 T=bf16", "M=1 N=20008 T=bf16"}},
    {"softmax", "M=8192 N=50257 T=f16", {"M=2 N=8200 T=f16", "M=3 N=2047 T=f16"}},
    {"layernorm", "M=16384 N=8192", {"M=2 N=8192", "M=3 N=6004"}},
    {"transpose", "M=8192 N=8192", {"M=64 N=64", "M=75 N=61"}},
    {"transpose", "M=8192 N=8192 T=f16", {"M=128 N=64 T=f16", "M=90 N=70 T=f16"}},
    {"transpose", "M=8192 N=8192 T=i8", {"M=256 N=128 T=i8", "M=148 N=140 T=i8"}},
    {"split_heads", "B=16 S=4096 H=16 D=64", {"B=1 S=32 H=4 D=64", "B=2 S=9 H=3 D=32"}},
    {"embedding_bag",
     "R=400000 D=128 L=1048576 B=16384 T=f16",
     {"R=20 D=128 L=60 B=16 T=f16", "R=20 D=64 L=41 B=5 T=f16"}},
    {"embedding_bag", "R=100000 D=64 L=16384 B=512", {"R=20 D=64 L=90 B=4", "R=20 D=36 L=61 B=5"}},
    {"segment_sum", "L=67108864 B=65536", {"L=900 B=8", "L=777 B=13"}},
    {"max_pool2d",
     "N=64 C=64 H=112 W=112 A=3 B=3 P=1",
     {"N=1 C=2 H=16 W=16 A=3 B=3 P=1", "N=1 C=3 H=13 W=19 A=3 B=3 P=1"}},
    // Groups of 16 rows of tiles, clusters along a column.
    {"matmul",
     "M=4096 N=4096 K=4096 T=bf16",
     {"M=2048 N=256 K=72 T=bf16", "M=1930 N=264 K=72 T=bf16"}},
    {"batched_matmul",
     "B=64 M=256 N=1024 K=512 T=f16",
     {"B=3 M=256 N=256 K=72 T=f16", "B=2 M=200 N=264 K=72 T=f16"}},
    // Short results of long sums, in parts.
    {"matmul",
     "M=256 N=256 K=16384 T=bf16",
     {"M=128 N=64 K=4096 T=bf16", "M=100 N=72 K=5000 T=bf16"}},
    {"matmul",
     "M=16 N=1024 K=4096 T=bf16",
     {"M=16 N=128 K=1024 T=bf16", "M=9 N=136 K=1104 T=bf16"}},
    {"matmul", "M=256 N=320 K=5000", {"M=64 N=64 K=1728", "M=70 N=68 K=1900"}},
    {"matmul_i8", "M=256 N=320 K=8192", {"M=64 N=64 K=4096", "M=70 N=80 K=3008"}},
};

}  // namespace

TEST_CASE("cuda: schedules of large problems on small ones under the emulation") {
  std::vector<DiffProblem> problems;
  std::vector<schedules::Schedule> chosen;
  for (const Scaled& row : kScaled) {
    const std::string text = std::string(row.op) + " " + row.large;
    const auto large = ops::parse_problem(text);
    REQUIRE_MESSAGE(static_cast<bool>(large), text);
    // The second of a pair is the ragged one.
    for (auto i = static_cast<size_t>(by_effort(1, 1, 1, 0)); i < 2; ++i) {
      problems.push_back(problem(std::string(row.op) + " " + row.small[i]));
      chosen.push_back(schedules::default_schedule(large->program, gpu()));
    }
  }
  Batch batch;
  for (size_t i = 0; i < problems.size(); ++i) {
    const std::string refused = batch.add(problems[i], chosen[i]);
    CHECK_MESSAGE(refused.empty(), problems[i].text << ": " << refused);
  }
  batch.check();
}

TEST_CASE("cuda: what a tuner tries of large problems, on small ones under the emulation") {
  const int wanted = static_cast<int>(by_effort(0, 1, 1, 3));
  const auto every = static_cast<size_t>(by_effort(1, 2, 2, 1));
  std::vector<DiffProblem> problems;
  std::vector<schedules::Schedule> tried;
  for (size_t r = 0; r < std::size(kScaled); r += every) {
    const Scaled& row = kScaled[r];
    const auto large = ops::parse_problem(std::string(row.op) + " " + row.large);
    REQUIRE(static_cast<bool>(large));
    const auto spaces = schedules::derive_space(large->program, gpu());
    const schedules::SearchInput search{spaces, 17, {}, {}};
    schedules::Sampler sampler(search);
    for (int i = 0; i < wanted; ++i) {
      const schedules::Candidate c = sampler.any();
      if (!sampler.take(c)) continue;
      problems.push_back(problem(std::string(row.op) + " " + row.small[i % 2]));
      tried.push_back(schedules::fix(spaces[static_cast<size_t>(c.space)].schedule, c.values));
    }
  }
  Batch batch;
  size_t taken = 0;
  for (size_t i = 0; i < problems.size(); ++i) taken += batch.add(problems[i], tried[i]).empty();
  CHECK_MESSAGE(2 * taken >= problems.size(), "most are refused");
  batch.check();
}
