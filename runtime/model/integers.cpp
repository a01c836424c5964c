// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/integers.h"

#include <cmath>

#include "ops/graph/group.h"

namespace hone::runtime {
namespace {

class Gains {
 public:
  Gains(const std::vector<ir::Dim>& dims, KernelDrafts& drafts) : dims_(dims), drafts_(drafts) {}

  bool operator()(const ops::Graph& graph, const ops::GraphNode& before,
                  const ops::GraphNode& after) {
    const KernelDraft* integers = of(graph, after);
    if (!integers || integers->dots) return integers;
    const KernelDraft* floats = of(graph, before);
    return floats ? integers->cycles < floats->cycles : std::isfinite(integers->cycles);
  }

 private:
  const KernelDraft* of(const ops::Graph& graph, const ops::GraphNode& node) {
    const auto problem = ops::problem_of(graph, node, dims_, drafts_.library());
    return problem ? &drafts_.of(*problem) : nullptr;
  }

  const std::vector<ir::Dim>& dims_;
  KernelDrafts& drafts_;
};

}  // namespace

ops::Graph with_integers(ops::Graph graph, const std::vector<ir::Dim>& dims, ops::KnownBytes known,
                         KernelDrafts& drafts) {
  Gains gains(dims, drafts);
  return ops::with_integer_sums(std::move(graph), dims, std::move(known), std::ref(gains));
}

}  // namespace hone::runtime
