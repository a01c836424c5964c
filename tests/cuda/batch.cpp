// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda/batch.h"

#include <doctest/doctest.h>

#include "jit/passes/barriers.h"
#include "jit/passes/lower.h"
#include "ops/op.h"
#include "schedules/space/space.h"
#include "tests/diff/subject.h"
#include "tests/support/effort.h"

namespace hone::tests {

ir::Target gpu() {
  ir::Target t;
  t.sm = 90;
  return t;
}

DiffProblem problem(const std::string& text) {
  auto parsed = ops::parse_problem(text);
  REQUIRE_MESSAGE(static_cast<bool>(parsed), text);
  return {parsed->op.name(), parsed->text, parsed->program, {}};
}

Result<Printed, std::string> print(const DiffProblem& problem, const schedules::Schedule& schedule,
                                   const ir::Target& target) {
  return print(problem.program, schedule, target);
}

Result<Printed, std::string> print_default(const ir::Program& program, const ir::Target& target) {
  return print(program, schedules::default_schedule(program, target), target);
}

Result<Printed, std::string> print(const ir::Program& program, const schedules::Schedule& schedule,
                                   const ir::Target& target) {
  const auto scheduled = schedules::apply(program, schedule);
  if (!scheduled) return scheduled.failure().text();
  auto nest = jit::lower(*scheduled, target);
  if (!nest) return nest.failure().reason;
  Printed out{jit::with_barriers(*std::move(nest)), {}};
  auto source = jit::print_cuda(out.nest, target);
  if (!source) return source.failure().reason;
  out.source = *std::move(source);
  return out;
}

std::string Batch::add(const DiffProblem& problem, schedules::Schedule schedule, bool narrows) {
  auto printed = print(problem, schedule);
  if (!printed) return printed.failure();
  if (added_++ % static_cast<size_t>(by_effort(12, 4, 3, 1)) != 0) return "";
  Candidate c{&problem, std::move(schedule), std::move(printed->nest), 0, narrows};
  c.source = code_.add(std::move(printed->source));
  candidates_.push_back(std::move(c));
  return "";
}

void Batch::check() {
  const std::string wrong = code_.compile();
  REQUIRE_MESSAGE(wrong.empty(), wrong);
  for (const Candidate& c : candidates_) {
    Subject subject(c.problem->text, c.problem->program, c.problem->dims);
    const std::string failed = subject.check(c.nest, [&](int launch, const int64_t* args) {
      return code_.run(c.source, launch, args, subject.dims());
    });
    // With sanitizers the interpreter takes longer than all else here; `diff` has it there.
    const bool smoke = effort() == tests::Effort::kSmoke;
    const std::string interpreted = smoke ? "" : subject.check(c.nest, Subject::Launch());
    const std::string repro = c.problem->text + " | " + print(gpu()) + " | " + c.schedule.text();
    const bool forgiven = c.narrows && failed.starts_with("random data");
    CHECK_MESSAGE((failed.empty() || forgiven), failed << "\n  repro: " << repro);
    CHECK_MESSAGE(interpreted.empty(), "interpreted: " << interpreted << "\n  repro: " << repro);
  }
}

}  // namespace hone::tests
