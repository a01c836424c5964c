// SPDX-License-Identifier: Apache-2.0
#include "runtime/threads/places.h"

#include <algorithm>
#include <numeric>

namespace hone::runtime {

Places::Places(const std::vector<std::vector<int>>& cores, int size) {
  // Units that are dealt out: whole cores, so that siblings do not disturb each other, or CPUs.
  std::vector<std::vector<int>> units = cores;
  if (cores.size() < static_cast<size_t>(size)) {
    units.clear();
    size_t most = 0;
    for (const auto& core : cores) most = std::max(most, core.size());
    for (size_t sibling = 0; sibling < most; ++sibling) {
      for (const auto& core : cores) {
        if (sibling < core.size()) units.push_back({core[sibling]});
      }
    }
  }
  if (size < 1) return;
  cpus_.resize(units.size() < static_cast<size_t>(size) ? 1 : static_cast<size_t>(size));
  for (cpu_set_t& set : cpus_) CPU_ZERO(&set);
  // In turns: threads that share data can still be neighbours.
  for (size_t u = 0; u < units.size(); ++u) {
    const size_t place = u % cpus_.size();
    for (int cpu : units[u]) {
      const auto index = static_cast<size_t>(cpu);
      if (cpu < 0 || cpu >= CPU_SETSIZE) continue;
      if (place_of_.size() <= index) place_of_.resize(index + 1, kNone);
      place_of_[index] = static_cast<int>(place);
      CPU_SET(cpu, &cpus_[place]);
    }
  }
  held_.resize(static_cast<size_t>(size));
  if (cpus_.size() > 1) std::iota(held_.begin(), held_.end(), size_t{0});
}

int Places::make_room(int place) {
  const auto holder = std::find(held_.begin() + 1, held_.end(), static_cast<size_t>(place));
  std::swap(*holder, held_[0]);
  return static_cast<int>(holder - held_.begin());
}

}  // namespace hone::runtime
