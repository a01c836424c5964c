// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/plan_record.h"

#include <fmt/format.h>

#include "runtime/cache/text_hash.h"

namespace hone::runtime {
Key plan_key(const EngineState& engine, const ops::Graph& graph, const std::vector<ir::Dim>& dims) {
  std::string words;
  for (const ir::Dim& d : dims) {
    words += d.lo == d.hi ? fmt::format(" {}={}", d.name, d.lo)
                          : fmt::format(" {}={}..{}", d.name, d.lo, d.hi);
  }
  return engine.key_of(fmt::format("graph {} {}{}", graph.name, text_hash({graph.text}), words));
}

std::optional<std::string> recorded_plan(EngineState& engine, const Key& key) {
  if (auto best = engine.cache->best(key)) return std::move(best->schedule);
  // Of the same graph on another machine; its kernels are adapted likewise.
  for (Record& near : engine.cache->near(key)) {
    if (near.key.problem == key.problem) return std::move(near.schedule);
  }
  return {};
}

}  // namespace hone::runtime
