// SPDX-License-Identifier: Apache-2.0
#include "runtime/check/candidate.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace hone::runtime {

bool Candidate::parallel() const {
  const auto& launches = nest().launches;
  return std::any_of(launches.begin(), launches.end(),
                     [](const ir::Launch& l) { return l.parallel && !l.at_bind; });
}

Result<Candidate, ir::Reject> build_candidate(const ops::Problem& problem, const ir::Target& target,
                                              const std::string& schedule, const DevicePlace& place,
                                              const BuildOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  auto compiled = compile_schedule(problem.program, target, schedule, options);
  if (!compiled) return compiled.failure();
  auto executable = load(*compiled, target, place);
  if (!executable) return executable.failure();
  Candidate c;
  c.edges = tile_edges(compiled->scheduled);
  c.code = std::move(compiled->code);
  c.executable = *std::move(executable);
  c.jit_us =
      std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
  return c;
}

void compile_ahead(const ops::Problem& problem, const ir::Target& target,
                   const std::string& schedule, const DevicePlace& place) {
  if (!place.gpu) return;
  auto compiled = compile_schedule(problem.program, target, schedule);
  if (!compiled || !compiled->backend->load_ahead) return;
  compiled->backend->load_ahead(compiled->code, target, place);
}

}  // namespace hone::runtime
