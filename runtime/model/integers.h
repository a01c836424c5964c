// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "ops/graph/passes.h"
#include "runtime/model/drafts.h"

namespace hone::runtime {

/// The graph with sums of integers in the place of sums of dequantized numbers. A sum stays as it
/// is unless an untuned kernel has dot product instructions for integers, or takes less time by the
/// cost model.
ops::Graph with_integers(ops::Graph graph, const std::vector<ir::Dim>& dims, ops::KnownBytes known,
                         KernelDrafts& drafts);

}  // namespace hone::runtime
