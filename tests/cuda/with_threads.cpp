// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda/with_threads.h"

#include "jit/cuda/source.h"
#include "jit/passes/barriers.h"
#include "jit/passes/lower.h"
#include "schedules/steps/rows.h"

namespace hone::tests {
namespace {

/// Whether a kernel comes of it.
bool serves(const ir::Program& program, const ir::Target& target,
            const schedules::Schedule& schedule) {
  const auto scheduled = schedules::apply(program, schedule);
  if (!scheduled) return false;
  auto nest = jit::lower(*scheduled, target);
  return nest && jit::print_cuda(jit::with_barriers(*std::move(nest)), target);
}

}  // namespace

schedules::Schedule with_threads(const ir::Program& program, const ir::Target& target,
                                 schedules::Schedule schedule, schedules::Random& random) {
  std::erase_if(schedule.steps,
                [](const schedules::Step& s) { return s.row == &schedules::kParallel; });
  if (!serves(program, target, schedule)) schedule = {};
  constexpr const char* kAxes[] = {"block.x",  "block.y",  "block.z",
                                   "thread.x", "thread.y", "thread.z"};
  for (int tries = 0; tries < 12; ++tries) {
    const auto scheduled = schedules::apply(program, schedule);
    const ir::Stage& s = scheduled->stages[random.below(scheduled->stages.size())];
    if (s.loops.empty()) continue;
    // Outer loops more often: blocks can be nothing else.
    const size_t at = random.chance(0.5) ? 0 : random.below(s.loops.size());
    schedules::Schedule more = schedule;
    more.steps.push_back(*schedules::parse_step("bind " + s.name + "/" + s.loops[at].name + " " +
                                                kAxes[random.below(std::size(kAxes))]));
    if (serves(program, target, more)) schedule = std::move(more);
  }
  return schedule;
}

}  // namespace hone::tests
