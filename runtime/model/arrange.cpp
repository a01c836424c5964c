// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/arrange.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "ops/graph/extent_range.h"
#include "runtime/model/waves.h"
#include "schedules/model/model.h"
#include "schedules/schedule.h"

namespace hone::runtime {
namespace {

/// Per call: those by which its arguments are made. A node without a kernel hands on what its
/// arguments need.
std::vector<std::vector<int>> needs_of(const ModelState& model, const ops::Graph& graph,
                                       const ops::GraphGroups& ran) {
  std::vector<int> call_of(graph.nodes.size(), -1);
  for (size_t i = 0; i < model.calls.size(); ++i) {
    for (const int n : model.calls[i].nodes) call_of[static_cast<size_t>(n)] = static_cast<int>(i);
  }
  std::vector<std::set<int>> made_by(graph.values.size()), needs(model.calls.size());
  for (const std::vector<int>& nodes : ran) {
    for (const int n : nodes) {
      const ops::GraphNode& node = graph.nodes[static_cast<size_t>(n)];
      const int call = call_of[static_cast<size_t>(n)];
      std::set<int> from;
      for (const int v : node.reads) from.merge(std::set(made_by[static_cast<size_t>(v)]));
      for (const int v : node.makes) {
        if (v >= 0) made_by[static_cast<size_t>(v)] = call < 0 ? from : std::set<int>{call};
      }
      if (call < 0) continue;
      from.erase(call);
      needs[static_cast<size_t>(call)].merge(from);
    }
  }
  std::vector<std::vector<int>> out;
  for (const std::set<int>& calls : needs) out.emplace_back(calls.begin(), calls.end());
  return out;
}

/// Bytes of what a call makes for others of its model, at most.
double made_bytes(const ops::Graph& graph, const ModelCall& call,
                  const std::vector<ir::Dim>& dims) {
  double sum = 0;
  for (const int v : call.args) {
    const ops::GraphValue& value = graph.values[static_cast<size_t>(v)];
    const bool made = std::any_of(call.nodes.begin(), call.nodes.end(), [&](int n) {
      const std::vector<int>& makes = graph.nodes[static_cast<size_t>(n)].makes;
      return std::find(makes.begin(), makes.end(), v) != makes.end();
    });
    if (!made || value.output) continue;
    double bytes = size_of(value.type);
    for (const ir::Expr& e : value.shape) {
      const auto range = ops::range_of_extent(ops::with_fixed_dims(e, dims), dims);
      bytes *= range ? static_cast<double>(range->hi) : INFINITY;
    }
    sum += bytes;
  }
  return sum;
}

StepCost cost_of(const ModelCall& call, const ops::Problem& problem, const ir::Target& target) {
  const auto applied = schedules::apply_text(problem.program, call.kernel->schedule);
  if (!applied) return {INFINITY, INFINITY, 0};
  ir::Target alone = target;
  alone.threads = 1;
  return {schedules::estimate(applied->program, target),
          schedules::estimate(applied->program, alone), 0};
}

/// The waves between functions of the host.
Waves waves_of(const ModelState& model, const ops::Graph& graph, const ops::GraphGroups& ran,
               const std::vector<const ops::Problem*>& problems, const ir::Target& target) {
  const std::vector<std::vector<int>> needs = needs_of(model, graph, ran);
  std::set<size_t> ends{model.calls.size()};
  for (const ModelHost& host : model.hosts) ends.insert(host.before);
  Waves out;
  size_t begin = 0;
  for (const size_t end : ends) {
    const int first = static_cast<int>(begin);
    std::vector<std::vector<int>> inside;
    for (; begin < end; ++begin) {
      inside.emplace_back();
      for (const int call : needs[begin]) {
        if (call >= first) inside.back().push_back(call - first);
      }
    }
    const auto cost = [&](int i) {
      const auto call = static_cast<size_t>(first + i);
      StepCost out = cost_of(model.calls[call], *problems[call], target);
      out.bytes = made_bytes(graph, model.calls[call], model.bound_dims);
      return out;
    };
    // What a wave makes stays in the caches of its threads.
    const int threads = target.is_cuda() ? 1 : target.threads;
    for (std::vector<int>& wave :
         form_waves(inside, cost, {threads, static_cast<double>(threads * target.l2)})) {
      for (int& call : wave) call += first;
      out.push_back(std::move(wave));
    }
  }
  return out;
}

}  // namespace

void arrange(ModelState& model, const ops::Graph& graph, const ops::GraphGroups& ran,
             const std::vector<const ops::Problem*>& problems, const ir::Target& target) {
  std::vector<ModelCall> calls;
  std::vector<ModelStep> steps;
  for (const std::vector<int>& wave : waves_of(model, graph, ran, problems, target)) {
    ModelWave& added = model.waves.emplace_back();
    added.first = static_cast<int>(calls.size());
    added.count = static_cast<int>(wave.size());
    if (added.count > 1) {
      added.pool = model.services->pool();
      added.workers = model.services->workers();
    }
    for (const int i : wave) {
      ModelCall& call = model.calls[static_cast<size_t>(i)];
      const int64_t bytes =
          added.count > 1 ? call.kernel->serial_workspace_bytes() : call.kernel->workspace_bytes();
      added.workspace = std::max(added.workspace, bytes);
      calls.push_back(std::move(call));
      steps.push_back(std::move(model.steps[static_cast<size_t>(i)]));
    }
  }
  model.calls = std::move(calls);
  model.steps = std::move(steps);
}

}  // namespace hone::runtime
