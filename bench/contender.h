// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runtime/measure/spread.h"

namespace hone::bench {

/// Something that solves a problem, timed side by side with others.
struct Contender {
  std::string name;
  std::function<void(int64_t n)> run;  ///< solves it n times
  bool alone = true;                   ///< on the calling thread
  std::function<void()> before = {};   ///< runs before each solution and is not timed; may be empty
  std::vector<double> samples_us = {};  ///< of one solution, in each round that counts
  double schedule_us = 0;               ///< a peer that compiles: until it had a schedule; else 0
  double compile_us = 0;  ///< a peer that compiles: from there to machine code; else 0
  runtime::Spread spread() const { return runtime::spread_of(samples_us); }
};

/// Rounds of a race.
struct Rounds {
  int counted = 0;  ///< those that count
  int noisy = 0;    ///< those that do not: another process had a core meanwhile
};

/// Fewer rounds say nothing of a ratio.
inline constexpr int kFewRounds = 3;

/// Times all contenders in turns, so that a noisy neighbour hits them alike: `rounds` samples of
/// at least `sample_us` each, of those on several threads a few calls now and then. A round in
/// which another process took a core is made again, three times as many in all at most. Where few
/// are left the others stand in, of one thread by its processor time, and count as none. After
/// `most_s` seconds no other round begins once there are a few; 0: they may take any time.
Rounds race(std::vector<Contender>& contenders, int rounds, double sample_us, double most_s = 0);

/// How many times as long `other` takes as `c`, round by round: the middle one and the middle half.
/// Of few rounds that count this says little.
runtime::Spread ratios_of(const Contender& c, const Contender& other);

/// How many times faster `c` is than `other`: the middle one of their rounds' ratios; 0 where too
/// few rounds count.
double ratio_of(const Contender& c, const Contender& other, const Rounds& rounds);

/// Waits for the threads of what ran before: they spin for a while on cores that others need.
void let_threads_park();

}  // namespace hone::bench
