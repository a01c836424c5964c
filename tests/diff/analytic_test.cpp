// SPDX-License-Identifier: Apache-2.0
//
// What the space rules derive: the first structure of every case is accepted by every back end,
// and all structures of the small cases compute the right thing.
#include <doctest/doctest.h>

#include "jit/passes/lower.h"
#include "jit/x86/compile.h"
#include "ops/op.h"
#include "schedules/space/space.h"
#include "tests/diff/problems.h"
#include "tests/diff/subject.h"
#include "tests/support/effort.h"

using namespace hone;
using namespace hone::tests;

namespace {

/// A machine of today, one thread.
ir::Target machine(const BackEnd& back_end) {
  const char* text = &back_end == &kAvx2 ? "x86 isa=avx2 threads=1 l1d=32K l2=256K l3=8M"
                                         : "x86 isa=avx512 threads=1 l1d=48K l2=1M l3=32M";
  auto target = ir::parse_target(text, {});
  REQUIRE(target);
  return *target;
}

/// Why the first structure at its analytic values gives no code, or "".
std::string refusal(const ir::Program& program, const ir::Target& target) {
  const schedules::Space first = schedules::derive_space(program, target, 1).front();
  const auto scheduled = schedules::apply(program, first.analytic());
  if (!scheduled) return scheduled.failure().text();
  const auto nest = jit::lower(*scheduled, target);
  if (!nest) return nest.failure().reason;
  const auto code = jit::compile_x86(*nest, target, {});
  return code ? "" : code.failure().reason;
}

}  // namespace

TEST_CASE("diff: the analytic schedule of every case is accepted by every back end") {
  for (const ops::Case& c : ops::stock_library().cases) {
    const auto problem = ops::parse_problem(c.problem);
    REQUIRE(problem);
    for (const BackEnd* back_end : {&kAvx2, &kAvx512}) {
      const ir::Target target = machine(*back_end);
      const std::string why = refusal(problem->program, target);
      CHECK_MESSAGE(why.empty(), c.problem << " | " << print(target) << ": " << why);
    }
  }
}

TEST_CASE("diff: structures of the space on every back end") {
  const int most = static_cast<int>(by_effort(1, 3, 8, 24));
  uint64_t number = 0;
  for (const DiffProblem& problem : diff_problems()) {
    Subject subject(problem.text, problem.program, problem.dims);
    if (!subject.broken().empty()) continue;
    for (const BackEnd* back_end : back_ends_for(number++)) {
      for (const schedules::Space& s :
           schedules::derive_space(subject.program(), machine(*back_end), most)) {
        const std::string wrong = subject.check(s.analytic(), *back_end);
        CHECK_MESSAGE(wrong.empty(),
                      wrong << "\n  repro: " << subject.repro(s.analytic(), *back_end));
      }
    }
  }
}
