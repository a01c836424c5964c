// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "schedules/search/sampling.h"

namespace hone::schedules {
namespace {

/// Neighbours of `c`, one knob one value up or down, nearest knobs first.
void neighbours(Sampler& sampler, const Candidate& c, std::vector<Candidate>& out) {
  for (size_t k = 0; k < c.values.size(); ++k) {
    const size_t at = sampler.index_of(c, k);
    if (at > 0) out.push_back(sampler.with(c, k, at - 1));
    if (at + 1 < sampler.knobs(c.space)[k].values.size()) {
      out.push_back(sampler.with(c, k, at + 1));
    }
  }
}

/// All neighbours of the fastest, then of the next fastest; a stranger where they are exhausted.
std::vector<Candidate> propose_descent(const SearchInput& input, int count) {
  Sampler sampler(input);
  std::vector<Candidate> out;
  if (sampler.spaces() == 0 || count <= 0) return out;
  const auto wanted = static_cast<size_t>(count);
  out = sampler.first(wanted);
  if (!out.empty()) return out;
  const auto worth = [&](const Candidate& c) {
    return !input.cost || std::isfinite(input.cost(c));
  };
  for (const Tried& t : ranked(input.log)) {
    std::vector<Candidate> around;
    neighbours(sampler, t.candidate, around);
    for (Candidate& c : around) {
      if (out.size() < wanted && sampler.take(c) && worth(c)) out.push_back(std::move(c));
    }
    if (out.size() == wanted) return out;
  }
  for (size_t draw = 0; draw < 100 * wanted && out.size() < wanted; ++draw) {
    Candidate c = sampler.any();
    if (sampler.take(c) && worth(c)) out.push_back(std::move(c));
  }
  return out.empty() ? cheapest(input, sampler.rest(), count) : out;
}

}  // namespace

const Strategy kDescentStrategy = {
    "descent", "moves one knob of the fastest so far one value at a time", propose_descent};

}  // namespace hone::schedules
