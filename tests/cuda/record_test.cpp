// SPDX-License-Identifier: Apache-2.0
//
// The static report against what the emulation counts: requests, sectors and rounds of every launch
// of default kernels whose warps go one way.
#include <doctest/doctest.h>

#include <cstdio>
#include <set>

#include "jit/cuda/report/walk.h"
#include "schedules/space/space.h"
#include "tests/cuda/batch.h"
#include "tests/diff/subject.h"
#include "tests/support/effort.h"

using namespace hone;
using namespace hone::tests;

namespace {

/// Counts as EmulatedCode::recorded() gives them, from the nest.
std::array<double, 8> walked(const Printed& p, size_t launch, std::span<const int64_t> dims,
                             bool& comparable) {
  const jit::CudaLaunch& l = p.source.launches[launch];
  const jit::Walked w = jit::walk(p.nest, p.nest.launches[launch], l.block, jit::grid_of(l, dims),
                                  {dims.begin(), dims.end()}, {0, false});
  comparable = w.divergent == 0 && w.data_branches == 0;
  std::array<double, 8> out{};
  for (const jit::AccessSite& s : w.sites) {
    comparable &= !s.data;
    const size_t kind = (s.shared ? 2 : 0) + (s.store ? 1 : 0);
    out[kind] += s.requests;
    out[4 + kind] += s.shared ? s.rounds : s.sectors;
  }
  return out;
}

std::string text_record(const std::array<double, 8>& counts) {
  std::string out;
  for (double c : counts) out += " " + std::to_string(static_cast<int64_t>(c));
  return out;
}

}  // namespace

TEST_CASE("cuda report: requests, sectors and rounds are those that the emulation counts") {
  const auto problems = diff_problems();
  const auto step = static_cast<size_t>(by_effort(12, 4, 4, 1));
  EmulatedCode code;
  code.record();
  std::vector<const DiffProblem*> taken;
  std::vector<Printed> kernels;
  for (size_t i = 0; i < problems.size(); i += step) {
    auto printed =
        tests::print(problems[i], schedules::default_schedule(problems[i].program, gpu()));
    if (!printed) continue;
    code.add(printed->source);
    kernels.push_back(*std::move(printed));
    taken.push_back(&problems[i]);
  }
  const std::string wrong = code.compile();
  REQUIRE_MESSAGE(wrong.empty(), wrong);
  int compared = 0, launches = 0;
  for (size_t k = 0; k < kernels.size(); ++k) {
    Subject subject(taken[k]->text, taken[k]->program, taken[k]->dims);
    std::set<int> seen;  // the first data are good: all threads run
    subject.check(kernels[k].nest, [&](int launch, const int64_t* args) {
      const std::string failed = code.run(static_cast<int>(k), launch, args, subject.dims());
      const std::array<double, 8> counted = code.recorded();
      if (!seen.insert(launch).second) return failed;
      bool comparable = false;
      const auto expected =
          walked(kernels[k], static_cast<size_t>(launch), subject.dims(), comparable);
      ++launches;
      if (comparable) {
        ++compared;
        CHECK_MESSAGE(expected == counted, taken[k]->text << ", launch " << launch << ": said"
                                                          << text_record(expected) << ", counted"
                                                          << text_record(counted));
      }
      return failed;
    });
  }
  std::printf("%d of %d launches compared\n", compared, launches);
  CHECK(compared > launches / 4);
}
