// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "schedules/space/space.h"

namespace hone::schedules {

/// A point of the search: one of the spaces and a value for each of its knobs.
struct Candidate {
  int space = 0;
  std::vector<int64_t> values;
  auto operator<=>(const Candidate&) const = default;
};

/// A candidate that was tried; infinite time: refused, wrong or crashed.
struct Tried {
  Candidate candidate;
  double time_us = 0;
};

/// All that a strategy sees: its proposals are a function of this alone, so that a search can be
/// replayed from its log.
struct SearchInput {
  std::span<const Space> spaces;
  uint64_t seed = 1;
  std::span<const Tried> log;
  /// Estimated time of a candidate, in any unit; infinite for those not worth trying.
  std::function<double(const Candidate&)> cost;
};

/// A way to choose what to try next.
struct Strategy {
  std::string_view name;  ///< random, evolve, descent
  std::string_view doc;
  /// At most `count` candidates that the log does not hold; none when nothing is left to try.
  std::vector<Candidate> (*propose)(const SearchInput& input, int count);
};

// One row a file; strategies() lists them.
extern const Strategy kRandomStrategy;
extern const Strategy kEvolveStrategy;
extern const Strategy kDescentStrategy;

std::span<const Strategy* const> strategies();
/// The strategy of that name, or null.
const Strategy* strategy_named(std::string_view name);

}  // namespace hone::schedules
