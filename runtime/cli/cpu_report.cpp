// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/cpu_report.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "jit/ir/machine.h"
#include "jit/native/report/counts.h"
#include "jit/native/report/traffic.h"
#include "runtime/cli/report_text.h"
#include "runtime/engine/engine_state.h"
#include "runtime/measure/bound.h"
#include "runtime/measure/limits.h"
#include "runtime/measure/work.h"
#include "schedules/model/model.h"

namespace hone::runtime {
namespace {

using Times = std::vector<std::pair<const char*, double>>;

/// What no schedule can leave out, and how the best known one stands to that.
Json problem_facts(EngineState& engine, const ops::Problem& problem,
                   const std::vector<int64_t>& dims, Limits& limits) {
  const Work work = work_of(problem.program, dims, engine.target);
  const TimeBound bound = bound_of(problem.program, dims, &limits);
  Json facts;
  if (!dims.empty()) facts["at"] = text_of_dims(problem.program, dims);
  facts["operations"] = rounded(work.operations);
  facts["bytes_read"] = rounded(work.bytes_read);
  facts["bytes_written"] = rounded(work.bytes_written);
  if (work.memory_lines > 0) facts["bytes_from_memory"] = rounded(work.memory_lines);
  if (work.bytes() > 0) facts["intensity"] = rounded(work.operations / work.bytes());
  facts["limit_us"] = rounded(bound.time_us);
  facts["limit_by"] = bound.flops_bind ? "arithmetic" : "bytes";
  const auto best = engine.cache->best(engine.key_of(problem.text));
  if (!best || timing_points(problem.program).size() > 1) return facts;
  facts["best_us"] = rounded(best->median_us);
  const Share share = share_of(bound.time_us, best->median_us);
  if (share.of_limit > 0) facts["best_of_limit"] = rounded(share.of_limit);
  return facts;
}

/// Microseconds of each port of the cores that a call has, at the clock of the measured peak.
Times port_times(const ir::Nest& nest, const ir::Target& target, Limits& limits) {
  const ir::Machine machine = ir::machine_of(target);
  const schedules::Work work = schedules::examine(nest, target);
  const double lanes = std::max(4, machine.vector_bytes) / 4.0;
  // A core's peak is a multiply-add, two operations, of all lanes in each arithmetic port.
  const double cycles_a_us = limits.gflops(false) * 1e3 / (2 * lanes * machine.arithmetic_ports);
  const double cores = std::any_of(nest.launches.begin(), nest.launches.end(),
                                   [](const ir::Launch& l) { return l.parallel; })
                           ? 1
                           : 1.0 / machine.threads;
  const double rate = cycles_a_us * cores;
  return {{"arithmetic", work.arithmetic / machine.arithmetic_ports / rate},
          {"load", work.loads / machine.load_ports / rate},
          {"store", work.stores / machine.store_ports / rate}};
}

Json launch_facts(const ir::Nest& nest, size_t launch, const std::vector<int64_t>& dims) {
  const jit::Counts c = jit::count(nest, static_cast<int>(launch), dims);
  Json facts = {{"name", nest.launches[launch].name}, {"operations", rounded(c.operations)},
                {"loads", rounded(c.loads)},          {"load_bytes", rounded(c.load_bytes)},
                {"stores", rounded(c.stores)},        {"store_bytes", rounded(c.store_bytes)}};
  if (c.data) facts["depends_on_data"] = true;
  if (c.sampled) facts["sampled"] = true;
  return facts;
}

}  // namespace

Json cpu_report(EngineState& engine, const ops::Problem& problem, const Compiled& compiled) {
  const ir::Nest& nest = compiled.nest();
  const ir::Target& target = engine.target;
  const std::vector<int64_t> dims = timing_dims(problem.program);
  Limits limits = engine.limits();
  Json facts = problem_facts(engine, problem, dims, limits);
  Times times = port_times(nest, target, limits);
  const int64_t cores = target.threads;
  const struct {
    const char* name;
    int64_t inside, outside;  // bytes of the cache that is filled, and of what gives
  } levels[] = {{"l2", target.l1d * cores, target.l2 * cores / 2},
                {"l3", target.l2 * cores, target.l3 / 2},
                {"memory", target.l3, target.l3 * 8}};
  facts["footprint"] = rounded(jit::footprint(nest, dims));
  for (const auto& level : levels) {
    const double bytes = jit::traffic(nest, dims, static_cast<double>(level.inside));
    facts[std::string(level.name) + "_bytes"] = rounded(bytes);
    times.emplace_back(level.name, bytes / limits.gbps(level.outside, 0) * 1e-3);
  }
  const auto longest = std::max_element(
      times.begin(), times.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  for (const auto& [name, us] : times) facts[std::string(name) + "_us"] = rounded(us);
  // How busy each is while the longest one goes on.
  for (const auto& [name, us] : times) {
    if (longest->second > 0) facts[std::string(name) + "_share"] = rounded(us / longest->second);
  }
  facts["bound"] = longest->first;
  facts["kernels"] = Json::array();
  for (size_t l = 0; l < nest.launches.size(); ++l) {
    if (!nest.launches[l].at_bind) facts["kernels"].push_back(launch_facts(nest, l, dims));
  }
  return facts;
}

}  // namespace hone::runtime
