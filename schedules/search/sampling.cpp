// SPDX-License-Identifier: Apache-2.0
#include "schedules/search/sampling.h"

#include <algorithm>
#include <cmath>

#include "jit/ir/sort.h"

namespace hone::schedules {

uint64_t Random::next() {
  state_ += 0x9e3779b97f4a7c15;
  uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

Sampler::Sampler(const SearchInput& input)
    : input_(input), random_(input.seed * 0x9e3779b97f4a7c15 + input.log.size()) {
  for (const Space& s : input.spaces) knobs_.push_back(schedules::knobs(s.schedule));
  for (const Tried& t : input.log) seen_.insert(t.candidate);
}

Candidate Sampler::analytic(int space) const {
  return {space, input_.spaces[static_cast<size_t>(space)].values};
}

std::vector<Candidate> Sampler::first(size_t count) {
  std::vector<Candidate> out;
  for (size_t s = 0; s < spaces() && out.size() < count; ++s) {
    Candidate c = analytic(static_cast<int>(s));
    const bool worth = s == 0 || !input_.cost || std::isfinite(input_.cost(c));
    if (worth && take(c)) out.push_back(std::move(c));
  }
  return out;
}

std::vector<Candidate> Sampler::rest() {
  constexpr size_t kMost = 2048;  // candidates of a space that are listed. Fixed by: time.
  std::vector<Candidate> out;
  for (size_t s = 0; s < spaces(); ++s) {
    size_t points = 1;
    for (const Knob& k : knobs_[s]) points = points > kMost ? points : points * k.values.size();
    if (points > kMost) continue;
    for (size_t p = 0; p < points; ++p) {
      Candidate c{static_cast<int>(s), {}};
      size_t left = p;
      for (const Knob& k : knobs_[s]) {
        c.values.push_back(k.values[left % k.values.size()]);
        left /= k.values.size();
      }
      if (take(c)) out.push_back(std::move(c));
    }
  }
  return out;
}

Candidate Sampler::any() {
  // The smaller of two draws: earlier spaces are about twice as likely as the average.
  const size_t space = std::min(random_.below(spaces()), random_.below(spaces()));
  Candidate c{static_cast<int>(space), {}};
  for (const Knob& k : knobs_[space]) c.values.push_back(k.values[random_.below(k.values.size())]);
  return c;
}

Candidate Sampler::with(Candidate c, size_t k, size_t index) const {
  c.values[k] = knobs(c.space)[k].values[index];
  return c;
}

size_t Sampler::index_of(const Candidate& c, size_t k) const {
  const auto& values = knobs(c.space)[k].values;
  const auto at = std::find(values.begin(), values.end(), c.values[k]);
  return at == values.end() ? 0 : static_cast<size_t>(at - values.begin());
}

Candidate Sampler::moved(Candidate c) {
  if (c.values.empty()) return any();
  const size_t k = random_.below(c.values.size());
  const size_t count = knobs(c.space)[k].values.size();
  if (random_.chance(0.25)) return with(std::move(c), k, random_.below(count));
  const size_t at = index_of(c, k);
  const bool up = random_.chance(0.5) ? at + 1 < count : at == 0;
  const size_t next = up ? std::min(at + 1, count - 1) : at - (at > 0 ? 1 : 0);
  return with(std::move(c), k, next);
}

std::vector<Tried> ranked(std::span<const Tried> log) {
  std::vector<Tried> out;
  for (const Tried& t : log) {
    if (std::isfinite(t.time_us)) out.push_back(t);
  }
  ir::stable_sort(out, [](const Tried& a, const Tried& b) { return a.time_us < b.time_us; });
  return out;
}

std::vector<Candidate> cheapest(const SearchInput& input, std::vector<Candidate> pool, int count) {
  std::vector<std::pair<double, size_t>> order;
  for (size_t i = 0; i < pool.size(); ++i) {
    const double cost = input.cost ? input.cost(pool[i]) : 0;
    if (std::isfinite(cost)) order.emplace_back(cost, i);
  }
  ir::stable_sort(order, [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Candidate> out;
  for (const auto& o : order) {
    if (static_cast<int>(out.size()) == count) break;
    out.push_back(std::move(pool[o.second]));
  }
  return out;
}

}  // namespace hone::schedules
