// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "schedules/search/sampling.h"

namespace hone::schedules {
namespace {

/// Draws for each candidate wanted, before the spaces count as exhausted.
/// Fixed by: time.
constexpr size_t kDraws = 200;

std::vector<Candidate> propose_random(const SearchInput& input, int count) {
  Sampler sampler(input);
  std::vector<Candidate> out;
  if (sampler.spaces() == 0 || count <= 0) return out;
  const auto wanted = static_cast<size_t>(count);
  out = sampler.first(wanted);
  for (size_t draw = 0; draw < kDraws * wanted && out.size() < wanted; ++draw) {
    Candidate c = sampler.any();
    const bool fresh = sampler.take(c);
    if (fresh && (!input.cost || std::isfinite(input.cost(c)))) out.push_back(std::move(c));
  }
  return out.empty() ? cheapest(input, sampler.rest(), count) : out;
}

}  // namespace

const Strategy kRandomStrategy = {
    "random", "analytic choices first, then uniform draws; the yardstick of the others",
    propose_random};

}  // namespace hone::schedules
