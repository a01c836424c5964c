// SPDX-License-Identifier: Apache-2.0
// What a compile by the rules costs: the problem is parsed and lowered once, and no step is parsed.
// The linker leads calls of these functions through here (--wrap).
#include <doctest/doctest.h>

#include <atomic>
#include <string>
#include <utility>

#include "include/hone/hone.h"
#include "jit/passes/lower.h"
#include "ops/op.h"
#include "runtime/build/compile.h"
#include "schedules/space/space.h"
#include "schedules/step.h"

using namespace hone;

namespace {

std::atomic<int> lowerings = 0;
std::atomic<int> parses = 0;
std::atomic<int> problems = 0;

using Lowered =
    decltype(jit::lower(std::declval<const ir::Program&>(), std::declval<const ir::Target&>()));
using Parsed = decltype(schedules::parse_step(std::string_view()));
using Problem = Result<ops::Problem>;

struct Compile {
  const char* problem;
  int checks;  ///< structures of which a GPU's rules ask whether they lower
};
constexpr Compile kCompiles[] = {{"softmax M=64 N=512", 1},
                                 {"fc_relu M=70 N=90 K=40 const=W,b", 1},
                                 {"add N=5000", 2},
                                 {"embedding_bag R=100 D=64 L=50 B=8", 2},
                                 {"transpose M=300 N=200", 1}};

}  // namespace

Lowered real_lower(const ir::Program& program, const ir::Target& target) asm(
    "__real__ZN4hone3jit5lowerERKNS_2ir7ProgramERKNS1_6TargetE");
Lowered counted_lower(const ir::Program& program, const ir::Target& target) asm(
    "__wrap__ZN4hone3jit5lowerERKNS_2ir7ProgramERKNS1_6TargetE");
Parsed real_parse(std::string_view text) asm(
    "__real__ZN4hone9schedules10parse_stepESt17basic_string_viewIcSt11char_traitsIcEE");
Parsed counted_parse(std::string_view text) asm(
    "__wrap__ZN4hone9schedules10parse_stepESt17basic_string_viewIcSt11char_traitsIcEE");

Problem real_problem(std::string_view text, const ops::Library* library) asm(
    "__real__ZN4hone3ops13parse_problemESt17basic_string_viewIcSt11char_traitsIcEEPKNS0_7LibraryE");
Problem counted_problem(std::string_view text, const ops::Library* library) asm(
    "__wrap__ZN4hone3ops13parse_problemESt17basic_string_viewIcSt11char_traitsIcEEPKNS0_7LibraryE");

Lowered counted_lower(const ir::Program& program, const ir::Target& target) {
  ++lowerings;
  return real_lower(program, target);
}

Parsed counted_parse(std::string_view text) {
  ++parses;
  return real_parse(text);
}

Problem counted_problem(std::string_view text, const ops::Library* library) {
  ++problems;
  return real_problem(text, library);
}

TEST_CASE("default compile: parses the problem once and no step, and lowers once") {
  for (const Compile& c : kCompiles) {
    CAPTURE(c.problem);
    Engine engine({.target = "x86 isa=avx2 threads=2", .cache = ":memory:"});
    lowerings = parses = problems = 0;
    const Kernel kernel = engine.compile(c.problem);
    REQUIRE(kernel.source() == Source::kDefault);
    CHECK(lowerings == 1);
    CHECK(problems == 1);
    CHECK(parses == 0);
    // The count would notice: a schedule that is given as text is parsed.
    CHECK(schedules::parse_step("unroll i"));
    CHECK(parses == 1);
  }
}

// As the engine compiles, but for loading: of machines that this one need not be.
TEST_CASE("default compile: every target's back end lowers once what the rules derive") {
  for (const char* on :
       {"x86 isa=avx2 threads=2", "x86 isa=avx512 threads=2", "cuda sm=80", "cuda sm=90"}) {
    const auto target = ir::parse_target(on, {});
    REQUIRE(target);
    for (const Compile& c : kCompiles) {
      CAPTURE(on);
      CAPTURE(c.problem);
      lowerings = parses = problems = 0;
      const auto problem = ops::parse_problem(c.problem);
      REQUIRE(problem);
      schedules::Scheduled scheduled = schedules::analytic_schedule(problem->program, *target);
      CHECK(lowerings == (target->is_cuda() ? c.checks : 0));
      lowerings = 0;
      const auto compiled = runtime::compile_scheduled(std::move(scheduled), *target);
      REQUIRE_MESSAGE(compiled, compiled.failure().text());
      CHECK(lowerings == 1);
      CHECK(problems == 1);
      CHECK(parses == 0);
    }
  }
}

TEST_CASE("default compile: a rule that compares ways lowers each of them once") {
  Engine engine({.target = "x86 isa=avx2 threads=1", .cache = ":memory:"});
  lowerings = 0;
  engine.compile(
      "op stencil(A: f32[H,W]) -> (Y: f32[H,W]) { Y[i,j] = A[i-1,j] else 0 + A[i,j-1] else 0 } "
      "H=200 W=200");
  // The loops as they are, with borders cut from each of two, and what the back end compiles.
  CHECK(lowerings <= 4);
}
