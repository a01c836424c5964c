// SPDX-License-Identifier: Apache-2.0
#include "schedules/search/search.h"

namespace hone::schedules {
namespace {

constexpr const Strategy* kStrategies[] = {&kEvolveStrategy, &kRandomStrategy, &kDescentStrategy};

}  // namespace

std::span<const Strategy* const> strategies() { return kStrategies; }

const Strategy* strategy_named(std::string_view name) {
  for (const Strategy* s : kStrategies) {
    if (s->name == name) return s;
  }
  return nullptr;
}

}  // namespace hone::schedules
