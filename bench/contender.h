// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace hone::bench {

/// Something that solves a problem, timed side by side with others.
struct Contender {
  std::string name;
  std::function<void(int64_t n)> run;  ///< solves it n times
  std::vector<double> samples_us;      ///< of one solution, a sample a round
  double median_us() const;
};

/// Times all contenders in turns, so that a noisy neighbour hits them alike: `rounds` samples of at
/// least `sample_us` each. With one thread, processor time stands in where another process took the
/// core.
void race(std::vector<Contender>& contenders, int rounds, double sample_us, bool one_thread);

}  // namespace hone::bench
