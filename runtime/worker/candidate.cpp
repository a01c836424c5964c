// SPDX-License-Identifier: Apache-2.0
#include "runtime/worker/candidate.h"

#include <chrono>

#include "jit/passes/lower.h"
#include "schedules/schedule.h"

namespace hone::runtime {

Result<Candidate, Refused> build_candidate(const ops::Problem& problem, const ir::Target& target,
                                           const std::string& schedule,
                                           jit::ExecutableMemory& memory) {
  const auto start = std::chrono::steady_clock::now();
  auto parsed = schedules::Schedule::parse(schedule);
  if (!parsed) return Refused{parsed.failure().message};
  auto program = schedules::apply(problem.program, *parsed);
  if (!program) return Refused{program.failure().text()};
  auto nest = jit::lower(*program, target);
  if (!nest) return Refused{nest.failure().message};
  auto code = jit::compile_x86(*nest, target);
  if (!code) return Refused{code.failure().message};
  auto span = memory.add(code->bytes);
  if (!span) return Refused{span.failure().message};
  Candidate c{std::move(*nest), std::move(*code), *span, {}, tile_edges(*program), 0};
  for (const jit::CodeLaunch& l : c.code.launches) {
    c.functions.push_back(reinterpret_cast<LaunchFunction>(
        reinterpret_cast<uintptr_t>(c.span.data) + static_cast<uintptr_t>(l.entry)));
  }
  c.jit_us =
      std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
  return c;
}

}  // namespace hone::runtime
