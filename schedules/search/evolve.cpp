// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "schedules/search/sampling.h"

namespace hone::schedules {
namespace {

/// Candidates that breed, and those bred for each one wanted, among which the model picks.
/// Tuned on: Zen 5 (AVX-512).
constexpr size_t kParents = 8;
constexpr int kPool = 6;

/// Knob values from either parent; parents of different spaces cannot mix.
Candidate crossed(Sampler& sampler, const Candidate& a, const Candidate& b) {
  if (a.space != b.space) return sampler.moved(a);
  Candidate c = a;
  for (size_t k = 0; k < c.values.size(); ++k) {
    if (sampler.random().chance(0.5)) c.values[k] = b.values[k];
  }
  return c;
}

void breed(Sampler& sampler, const std::vector<Tried>& best, size_t wanted,
           std::vector<Candidate>& pool) {
  const size_t parents = std::min(best.size(), kParents);
  for (size_t draw = 0; draw < 20 * wanted && pool.size() < wanted; ++draw) {
    Random& random = sampler.random();
    // The smaller of two draws prefers the fitter.
    const size_t first = std::min(random.below(parents), random.below(parents));
    Candidate c = best[first].candidate;
    if (random.chance(0.3)) {
      c = crossed(sampler, c, best[random.below(parents)].candidate);
    } else {
      c = sampler.moved(std::move(c));
    }
    if (random.chance(0.3)) c = sampler.moved(std::move(c));
    if (sampler.take(c)) pool.push_back(std::move(c));
  }
}

std::vector<Candidate> propose_evolve(const SearchInput& input, int count) {
  Sampler sampler(input);
  std::vector<Candidate> out;
  if (sampler.spaces() == 0 || count <= 0) return out;
  const auto wanted = static_cast<size_t>(count);
  out = sampler.first(wanted);
  if (!out.empty()) return out;
  std::vector<Candidate> pool;
  const std::vector<Tried> best = ranked(input.log);
  if (!best.empty()) breed(sampler, best, wanted * kPool, pool);
  // A quarter of strangers keeps the search from settling too early.
  const size_t strangers = best.empty() ? wanted * kPool : wanted * kPool / 4;
  for (size_t draw = 0, found = 0; draw < 20 * strangers && found < strangers; ++draw) {
    Candidate c = sampler.any();
    if (sampler.take(c)) {
      pool.push_back(std::move(c));
      ++found;
    }
  }
  out = cheapest(input, std::move(pool), count);
  // What chance no longer finds.
  return out.empty() ? cheapest(input, sampler.rest(), count) : out;
}

}  // namespace

const Strategy kEvolveStrategy = {
    "evolve", "breeds from the fastest so far, a model picks the offspring worth measuring",
    propose_evolve};

}  // namespace hone::schedules
