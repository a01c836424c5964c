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

std::vector<std::string> recorded_plans(EngineState& engine, const Key& key) {
  std::vector<std::string> plans;
  for (Record& r : engine.cache->good(key)) plans.push_back(std::move(r.schedule));
  for (Record& r : engine.cache->near(key)) {
    if (r.key.problem == key.problem) plans.push_back(std::move(r.schedule));
  }
  return plans;
}

}  // namespace hone::runtime
