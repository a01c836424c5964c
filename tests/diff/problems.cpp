// SPDX-License-Identifier: Apache-2.0
#include "tests/diff/problems.h"

#include <doctest/doctest.h>

#include "ops/op.h"
#include "tests/support/programs.h"

namespace hone::tests {
namespace {

/// Values for the dims that are known at the call: the least, the greatest, and one between.
std::vector<std::vector<int64_t>> call_dims(const ir::Program& program) {
  if (program.dims.empty()) return {{}};
  std::vector<std::vector<int64_t>> out(3);
  for (const ir::Dim& d : program.dims) {
    out[0].push_back(d.lo);
    out[1].push_back(d.hi);
    out[2].push_back(d.lo + (d.hi - d.lo) * 2 / 3);
  }
  return out;
}

}  // namespace

std::vector<DiffProblem> diff_problems() {
  std::vector<DiffProblem> out;
  for (const char* name :
       {"chain", "product", "bytes", "layer", "rows", "bag", "border", "masked"}) {
    out.push_back({name, name, example_program(name), {}});
  }
  for (const ops::Case& c : ops::stock_library().cases) {
    if (!c.small) continue;
    auto problem = ops::parse_problem(c.problem);
    if (!problem) {
      FAIL_CHECK(c.problem << ": " << problem.failure().message);
      continue;
    }
    for (const std::vector<int64_t>& dims : call_dims(problem->program)) {
      out.push_back({problem->op.name(), problem->text, problem->program, dims});
    }
  }
  return out;
}

}  // namespace hone::tests
