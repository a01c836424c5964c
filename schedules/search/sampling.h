// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "schedules/search/search.h"

namespace hone::schedules {

/// A small generator whose sequence is the same on every machine (SplitMix64; Steele, Lea and
/// Flood, 2014).
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next();
  /// Uniform in 0..n-1; n > 0.
  size_t below(size_t n) { return static_cast<size_t>(next() % n); }
  bool chance(double p) { return static_cast<double>(next() >> 11) * 0x1.0p-53 < p; }

 private:
  uint64_t state_;
};

/// What the strategies share: the knobs of each space, and which candidates are new.
class Sampler {
 public:
  explicit Sampler(const SearchInput& input);

  Random& random() { return random_; }
  size_t spaces() const { return knobs_.size(); }
  const std::vector<Knob>& knobs(int space) const { return knobs_[static_cast<size_t>(space)]; }
  /// The analytic choice of a space.
  Candidate analytic(int space) const;
  /// The analytic choices that were not proposed before and are worth trying, at most `count`, in
  /// the order of the spaces. The first of all is worth trying whatever it costs.
  std::vector<Candidate> first(size_t count);
  /// Candidates that were not proposed before, in order, where there are few enough to list them.
  std::vector<Candidate> rest();
  /// Any candidate; spaces that come first (which the rules prefer) are likelier.
  Candidate any();
  /// `c` with one knob moved to a neighbouring value, or now and then to any value.
  Candidate moved(Candidate c);
  /// `c` with knob `k` at its value number `index`.
  Candidate with(Candidate c, size_t k, size_t index) const;
  /// The number of the value that knob `k` of `c` has.
  size_t index_of(const Candidate& c, size_t k) const;
  /// True once for every candidate that the log does not hold.
  bool take(const Candidate& c) { return seen_.insert(c).second; }

 private:
  const SearchInput& input_;
  std::vector<std::vector<Knob>> knobs_;
  std::set<Candidate> seen_;
  Random random_;
};

/// The candidates of the log that have a time, fastest first.
std::vector<Tried> ranked(std::span<const Tried> log);

/// The `count` of `pool` with the lowest cost, cheapest first; infinite costs are left out.
std::vector<Candidate> cheapest(const SearchInput& input, std::vector<Candidate> pool, int count);

}  // namespace hone::schedules
