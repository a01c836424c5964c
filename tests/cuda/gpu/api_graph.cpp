// SPDX-License-Identifier: Apache-2.0
//
// Graphs of launches.
#include <algorithm>

#include "tests/cuda/gpu/calls.h"
#include "tests/cuda/gpu/launch.h"

namespace hone::tests {
namespace {

int request_of(Context& c, const void* kernel, LaunchRequest& request) {
  const auto& node = *static_cast<const KernelNode*>(kernel);
  request.kernel = c.kernel(node.function);
  if (!request.kernel) return kInvalidHandle;
  std::copy_n(node.grid, 3, request.grid);
  std::copy_n(node.block, 3, request.block);
  request.shared_bytes = node.shared_bytes;
  return check(c, node.parameters, node.extra, request);
}

Graph::Node* node_of(Graph& graph, const void* handle) {
  for (const auto& n : graph.nodes) {
    if (n.get() == handle) return n.get();
  }
  return nullptr;
}

}  // namespace
}  // namespace hone::tests

using namespace hone::tests;

int cuGraphCreate(void** graph, unsigned flags) {
  return in_context(Call::graph_create, [&](Context& c, auto&) {
    if (!graph || flags != 0) return kInvalidValue;
    auto made = std::make_unique<Graph>();
    *graph = made.get();
    c.graphs.insert(std::move(made));
    return kSuccess;
  });
}

int cuGraphDestroy(void* graph) {
  return in_context(Call::graph_destroy, [&](Context& c, auto&) {
    return discard(c.graphs, graph) ? kSuccess : kInvalidValue;
  });
}

int cuGraphAddKernelNode(void** node, void* graph, void* const* dependencies, size_t count,
                         const void* kernel) {
  return in_context(Call::graph_add_kernel, [&](Context& c, auto&) -> int {
    Graph* const g = member(c.graphs, graph);
    if (!g || !node || !kernel || (count && !dependencies)) return kInvalidValue;
    auto made = std::make_unique<Graph::Node>();
    for (size_t i = 0; i < count; ++i) {
      Graph::Node* const before = node_of(*g, dependencies[i]);
      if (!before) return kInvalidValue;
      made->after.push_back(before);
    }
    if (const int wrong = request_of(c, kernel, made->launch)) return wrong;
    *node = made.get();
    g->nodes.push_back(std::move(made));
    return kSuccess;
  });
}

int cuGraphInstantiateWithFlags(void** executable, void* graph, unsigned long long flags) {
  return in_context(Call::graph_instantiate, [&](Context& c, auto&) {
    Graph* const g = member(c.graphs, graph);
    if (!g || !executable || flags > 15) return kInvalidValue;
    auto made = std::make_unique<GraphExec>();
    // Nodes are named before others can come after them, so the order of making serves.
    for (const auto& n : g->nodes) {
      GraphExec::Step step{n.get(), n->launch, {}};
      for (size_t i = 0; i < made->steps.size(); ++i) {
        const auto& after = n->after;
        if (std::find(after.begin(), after.end(), made->steps[i].node) != after.end()) {
          step.after.push_back(i);
        }
      }
      made->steps.push_back(std::move(step));
    }
    *executable = made.get();
    c.executables.insert(std::move(made));
    return kSuccess;
  });
}

int cuGraphExecKernelNodeSetParams(void* executable, void* node, const void* kernel) {
  return in_context(Call::graph_set_kernel, [&](Context& c, auto&) -> int {
    GraphExec* const e = member(c.executables, executable);
    if (!e || !kernel) return kInvalidValue;
    for (GraphExec::Step& step : e->steps) {
      if (step.node != node) continue;
      LaunchRequest request;
      if (const int wrong = request_of(c, kernel, request)) return wrong;
      step.launch = std::move(request);
      return kSuccess;
    }
    return kInvalidValue;
  });
}

int cuGraphLaunch(void* executable, void* stream) {
  return in_context(Call::graph_launch, [&](Context& c, auto&) {
    GraphExec* const e = member(c.executables, executable);
    Stream* const s = c.stream(stream);
    if (!e || !s) return kInvalidHandle;
    if (gpus().settings.idle) {
      gpus().launches += static_cast<int64_t>(e->steps.size());
      return kSuccess;
    }
    const std::vector<WorkRef> front = c.front(*s);
    std::vector<WorkRef> steps;
    for (const GraphExec::Step& step : e->steps) {
      std::vector<WorkRef> after = front;
      for (const size_t i : step.after) after.push_back(steps[i]);
      steps.push_back(launch(c, step.launch, std::move(after)));
    }
    if (steps.empty()) steps = front;
    s->tail = c.queue.add(nullptr, std::move(steps));
    return kSuccess;
  });
}

int cuGraphExecDestroy(void* executable) {
  return in_context(Call::graph_executable_destroy, [&](Context& c, auto&) {
    return discard(c.executables, executable) ? kSuccess : kInvalidValue;
  });
}
