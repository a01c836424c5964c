// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "schedules/search/sampling.h"

namespace hone::schedules {
namespace {

constexpr int kDraws = 200;  // per candidate wanted, before the spaces count as exhausted

std::vector<Candidate> propose(const SearchInput& input, int count) {
  Sampler sampler(input);
  std::vector<Candidate> out;
  if (sampler.spaces() == 0) return out;
  if (input.log.empty()) {
    for (size_t s = 0; s < sampler.spaces() && static_cast<int>(out.size()) < count; ++s) {
      const Candidate c = sampler.analytic(static_cast<int>(s));
      if (sampler.take(c)) out.push_back(c);
    }
  }
  for (int draw = 0; draw < kDraws * count && static_cast<int>(out.size()) < count; ++draw) {
    Candidate c = sampler.any();
    if (sampler.take(c)) out.push_back(std::move(c));
  }
  return out;
}

}  // namespace

const Strategy kRandomStrategy = {
    "random", "analytic choices first, then uniform draws; the yardstick of the others", propose};

}  // namespace hone::schedules
