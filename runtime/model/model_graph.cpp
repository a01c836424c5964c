// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/model_graph.h"

#include <algorithm>
#include <utility>

#include "runtime/engine/graph_state.h"
#include "runtime/fine.h"

namespace hone::runtime {

ModelGraph::ModelGraph(std::shared_ptr<Gpu> gpu, const DeviceSteps& steps)
    : stream_(steps.place().stream),
      dims_(steps.call().dims().begin(), steps.call().dims().end()),
      graph_(std::move(gpu)) {}

bool ModelGraph::serves(const DeviceSteps& steps) const {
  const auto dims = steps.call().dims();
  return stream_ == steps.place().stream && std::equal(dims_.begin(), dims_.end(), dims.begin());
}

bool ModelGraph::is_set_for(const DeviceSteps& steps) const {
  const auto data = steps.call().data();
  return built_ && place_ == steps.place() && std::equal(data_.begin(), data_.end(), data.begin());
}

/// Gives all launches their arguments; those that have them already cost the driver nothing.
Result<Done> ModelGraph::set(const DeviceSteps& steps) {
  size_t at = 0;
  for (size_t i = 0; i < steps.steps().size(); ++i) {
    int64_t slots[kMaxSlots];
    if (auto f = steps.fill(i, slots); !f) return f.failure();
    auto items = graph_items(*steps.steps()[i].kernel, slots);
    if (!items) return items.failure();
    for (LaunchGraph::Item& item : *items) {
      if (!built_) {
        graph_.add(std::move(item));
      } else if (auto f = graph_.set(at, std::move(item)); !f) {
        return f.failure();
      }
      ++at;
    }
  }
  built_ = true;
  place_ = steps.place();
  data_.assign(steps.call().data().begin(), steps.call().data().end());
  return fine();
}

Result<Done> ModelGraph::launch(const DeviceSteps& steps) {
  if (!std::exchange(met_, true)) return steps.enqueue();
  if (!is_set_for(steps)) {
    if (auto f = set(steps); !f) return f.failure();
  }
  return graph_.launch(stream_);
}

}  // namespace hone::runtime
