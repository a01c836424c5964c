// SPDX-License-Identifier: Apache-2.0
// What a compile by the rules costs: no step is parsed, and the program is lowered once. The linker
// leads calls of both functions through here (--wrap).
#include <doctest/doctest.h>

#include <atomic>
#include <string>
#include <utility>

#include "include/hone/hone.h"
#include "jit/passes/lower.h"
#include "schedules/step.h"

using namespace hone;

namespace {

std::atomic<int> lowerings = 0;
std::atomic<int> parses = 0;

using Lowered =
    decltype(jit::lower(std::declval<const ir::Program&>(), std::declval<const ir::Target&>()));
using Parsed = decltype(schedules::parse_step(std::string_view()));

}  // namespace

Lowered real_lower(const ir::Program& program, const ir::Target& target) asm(
    "__real__ZN4hone3jit5lowerERKNS_2ir7ProgramERKNS1_6TargetE");
Lowered counted_lower(const ir::Program& program, const ir::Target& target) asm(
    "__wrap__ZN4hone3jit5lowerERKNS_2ir7ProgramERKNS1_6TargetE");
Parsed real_parse(std::string_view text) asm(
    "__real__ZN4hone9schedules10parse_stepESt17basic_string_viewIcSt11char_traitsIcEE");
Parsed counted_parse(std::string_view text) asm(
    "__wrap__ZN4hone9schedules10parse_stepESt17basic_string_viewIcSt11char_traitsIcEE");

Lowered counted_lower(const ir::Program& program, const ir::Target& target) {
  ++lowerings;
  return real_lower(program, target);
}

Parsed counted_parse(std::string_view text) {
  ++parses;
  return real_parse(text);
}

TEST_CASE("default compile: parses no step, and lowers once") {
  for (const char* problem :
       {"softmax M=64 N=512", "fc_relu M=70 N=90 K=40 const=W,b", "add N=5000",
        "embedding_bag R=100 D=64 L=50 B=8", "transpose M=300 N=200"}) {
    CAPTURE(problem);
    Engine engine({.target = "x86 isa=avx2 threads=2", .cache = ":memory:"});
    lowerings = parses = 0;
    const Kernel kernel = engine.compile(problem);
    REQUIRE(kernel.source() == Source::kDefault);
    CHECK(lowerings == 1);
    CHECK(parses == 0);
    // The count would notice: a schedule that is given as text is parsed.
    CHECK(schedules::parse_step("unroll i"));
    CHECK(parses == 1);
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
