// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/integers.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "ops/graph/group.h"
#include "schedules/model/model.h"
#include "schedules/space/space.h"

namespace hone::runtime {
namespace {

/// What is known of an untuned kernel.
struct Forecast {
  double cycles = INFINITY;
  bool dots = false;  ///< it has dot product instructions
};

class Gains {
 public:
  Gains(const std::vector<ir::Dim>& dims, EngineState& engine)
      : dims_(dims), engine_(engine), library_(engine.library()) {}

  bool operator()(const ops::Graph& graph, const ops::GraphNode& before,
                  const ops::GraphNode& after) {
    const Forecast integers = of(graph, after);
    return integers.dots || integers.cycles < of(graph, before).cycles;
  }

 private:
  Forecast of(const ops::Graph& graph, const ops::GraphNode& node) {
    const auto problem = ops::problem_of(graph, node, dims_, library_.get());
    if (!problem) return {};
    const auto [known, fresh] = known_.emplace(problem->text, Forecast());
    if (fresh) known->second = of(problem->program);
    return known->second;
  }

  Forecast of(const ir::Program& program) const {
    const ir::Target& target = engine_.target;
    const auto scheduled = schedules::apply(program, schedules::default_schedule(program, target));
    if (!scheduled) return {};
    Forecast out;
    out.cycles = schedules::estimate(*scheduled, target);
    for (const ir::Stage& s : scheduled->stages) {
      out.dots |= std::any_of(s.loops.begin(), s.loops.end(),
                              [](const ir::Loop& l) { return l.mark == ir::Mark::kTensor; });
    }
    return out;
  }

  const std::vector<ir::Dim>& dims_;
  EngineState& engine_;
  std::shared_ptr<const ops::Library> library_;
  std::map<std::string, Forecast> known_;  ///< by the problem's text
};

}  // namespace

ops::Graph with_integers(ops::Graph graph, const std::vector<ir::Dim>& dims, ops::KnownBytes known,
                         EngineState& engine) {
  Gains gains(dims, engine);
  return ops::with_integer_sums(std::move(graph), dims, std::move(known), std::ref(gains));
}

}  // namespace hone::runtime
