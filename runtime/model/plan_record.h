// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "ops/graph/graph.h"
#include "runtime/engine/engine_state.h"

namespace hone::runtime {

/// The cache's key of how a graph runs: `graph mlp 6c62.. B=1..64`, with a hash of its text. The
/// schedule of such a record is a plan; see ops/graph/plan.h.
Key plan_key(const EngineState& engine, const ops::Graph& graph, const std::vector<ir::Dim>& dims);

/// The plans that tuning kept for a graph, the fastest here first, then those of other machines.
/// The weights have a say in what a graph becomes, so that one may not fit.
std::vector<std::string> recorded_plans(EngineState& engine, const Key& key);

}  // namespace hone::runtime
