// SPDX-License-Identifier: Apache-2.0
//
// Every scalar function of the language as CUDA has it, under the emulation, against its
// definition.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <vector>

#include "jit/ir/functions/function.h"
#include "schedules/space/space.h"
#include "tests/cuda/batch.h"

using namespace hone;
using namespace hone::tests;

namespace {

/// One op with an output for each function.
std::string op_of_all(const char* type) {
  std::string outputs, statements;
  for (const ir::Function& f : ir::functions()) {
    outputs += fmt::format("{}Y_{}: T[N]", outputs.empty() ? "" : ", ", f.name);
    const std::string args = f.arity == 2 ? "A[i], B[i]" : "A[i]";
    statements += fmt::format("Y_{}[i] = {}({}); ", f.name, f.name, args);
  }
  return fmt::format("op all_functions<T=f32>(A: T[N], B: T[N]) -> ({}) {{ {}}} N=100 T={}",
                     outputs, statements, type);
}

}  // namespace

TEST_CASE("cuda: every scalar function under the emulation") {
  std::vector<DiffProblem> problems;
  for (const char* type : {"f32", "f64", "bf16"}) problems.push_back(problem(op_of_all(type)));
  for (const DiffProblem& p : problems) {
    Batch batch;  // of one: no effort leaves it out
    const std::string refused = batch.add(p, schedules::default_schedule(p.program, gpu()));
    CHECK_MESSAGE(refused.empty(), p.text << ": " << refused);
    batch.check();
  }
}
