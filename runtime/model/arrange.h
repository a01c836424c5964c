// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "ops/graph/plan.h"
#include "ops/op.h"
#include "runtime/model/model_state.h"

namespace hone::runtime {

/// Brings the calls and steps of a model into the order in which they run, and makes its waves.
/// `ran` has the groups of `graph` in an order in which they can run, `problems` those of calls.
/// On a GPU the order stays. Nothing is brought past a function of the host.
void arrange(ModelState& model, const ops::Graph& graph, const ops::GraphGroups& ran,
             const std::vector<const ops::Problem*>& problems, const ir::Target& target);

}  // namespace hone::runtime
