// SPDX-License-Identifier: Apache-2.0
#include "runtime/machine/ceilings.h"

#include <cmath>
#include <utility>

namespace hone::runtime {
namespace {

/// Chosen: above what repeats; far above any load (not measured).
constexpr double kWorthKeeping = 1.002;  // times what is kept: less is not worth a write
constexpr double kBelieved = 8;          // times what is seen: no load of a machine explains more

}  // namespace

void Ceilings::raise(const std::string& name, Ceiling& ceiling, double seen) {
  if (!std::isfinite(seen) || seen <= ceiling.rate) return;
  const bool keep = store_.keep && seen > kWorthKeeping * ceiling.rate;
  ceiling.rate = seen;
  if (keep) store_.keep(name, seen);
}

double Ceilings::rate(const std::string& name, const Probe& probe) {
  const auto [at, fresh] = ceilings_.try_emplace(name);
  if (fresh) {
    at->second.probe = probe;
    const double seen = probe(), known = store_.known ? store_.known(name) : 0;
    if (known > 0 && known < kBelieved * seen) at->second.rate = known;
    raise(name, at->second, seen);
  }
  at->second.asked = true;
  return at->second.rate;
}

void Ceilings::again() {
  for (auto& [name, ceiling] : ceilings_) {
    if (std::exchange(ceiling.asked, false)) raise(name, ceiling, ceiling.probe());
  }
}

}  // namespace hone::runtime
