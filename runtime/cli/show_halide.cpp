// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/show_halide.h"

#include "jit/halide/text/program.h"
#include "runtime/machine/host.h"
#include "schedules/space/space.h"

namespace hone::runtime {

Result<std::string> halide_text(const Common& common, const ReproLine& line) {
  auto target = ir::parse_target(line.target.empty() ? common.target : line.target, host_target());
  if (!target) return target.failure();
  if (common.threads > 0) target->threads = common.threads;
  // The engine reads the problem; it may be one that cannot compile for the target.
  Common host = common;
  host.target.clear();
  const auto engine = open_engine(host, "");
  if (!engine) return engine.failure();
  const auto problem = (*engine)->parse(line.problem);
  if (!problem) return problem.failure();
  const std::string schedule = line.scheduled
                                   ? line.schedule
                                   : schedules::default_schedule(problem->program, *target).text();
  const auto scheduled = schedules::apply_text(problem->program, schedule);
  if (!scheduled) return scheduled.failure();
  return jit::halide_program(scheduled->program, *target, problem->text);
}

}  // namespace hone::runtime
