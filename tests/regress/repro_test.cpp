// SPDX-License-Identifier: Apache-2.0
//
// The lines of repro.txt, `PROBLEM | TARGET | SCHEDULE`: each on its target's back end and on the
// interpreter, for every size that its dims known at the call may have (up to a few).
#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "ops/op.h"
#include "tests/diff/subject.h"
#include "tests/support/source_root.h"

using namespace hone;
using namespace hone::tests;

namespace {

/// A line in its parts.
struct Repro {
  std::string problem;
  const BackEnd* back_end;
  std::string schedule;
};

std::vector<Repro> read_repros() {
  std::vector<Repro> repros;
  std::ifstream in(source_root() + "/tests/regress/repro.txt");
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    const size_t first = line.find(" | "), second = line.find(" |", first + 1);
    REQUIRE_MESSAGE(second != std::string::npos, "not PROBLEM | TARGET | SCHEDULE: " << line);
    const std::string target = line.substr(first, second - first);
    const auto has = [&](const char* isa) { return target.find(isa) != std::string::npos; };
    const BackEnd* back_end = has("isa=avx512") ? &kAvx512 : has("avxvnni") ? &kAvxVnni : &kAvx2;
    const std::string schedule = line.substr(std::min(second + 3, line.size()));
    repros.push_back({line.substr(0, first), back_end, schedule});
  }
  return repros;
}

/// Dims known at the call at their least, in the middle and at most: what differs between them.
std::vector<std::vector<int64_t>> sizes_of(const ir::Program& program) {
  std::vector<std::vector<int64_t>> sizes;
  for (int step = 0; step <= 3; ++step) {
    std::vector<int64_t> dims;
    for (const ir::Dim& d : program.dims) dims.push_back(d.lo + (d.hi - d.lo) * step / 3);
    if (sizes.empty() || dims != sizes.back()) sizes.push_back(dims);
  }
  return sizes;
}

}  // namespace

TEST_CASE("regress: defects that were fixed") {
  const std::vector<Repro> repros = read_repros();
  CHECK(!repros.empty());
  for (const Repro& repro : repros) {
    CAPTURE(repro.problem);
    const auto problem = ops::parse_problem(repro.problem);
    REQUIRE_MESSAGE(problem, problem.failure().message);
    const auto schedule = schedules::Schedule::parse(repro.schedule);
    REQUIRE_MESSAGE(schedule, schedule.failure().message);
    for (const std::vector<int64_t>& dims : sizes_of(problem->program)) {
      Subject subject(problem->text, problem->program, dims);
      REQUIRE_MESSAGE(subject.broken().empty(), subject.broken());
      for (const BackEnd* back_end : {&kInterp, repro.back_end}) {
        if (!can_run(*back_end)) continue;
        // To be refused is right as well, to give something else is not.
        CHECK(subject.check(*schedule, *back_end) == "");
      }
    }
  }
}
