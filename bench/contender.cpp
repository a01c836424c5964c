// SPDX-License-Identifier: Apache-2.0
#include "bench/contender.h"

#include <time.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

namespace hone::bench {
namespace {

double clock_us(clockid_t id) {
  timespec t{};
  ::clock_gettime(id, &t);
  return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_nsec) * 1e-3;
}

/// Threads of the contender before spin for a while after its last run (those of OpenMP a few
/// milliseconds) on cores that the next one needs.
void let_threads_park(bool one_thread) {
  if (!one_thread) std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

/// Microseconds of `n` runs.
double time_of(const Contender& c, int64_t n, bool one_thread) {
  const double wall = clock_us(CLOCK_MONOTONIC), cpu = clock_us(CLOCK_THREAD_CPUTIME_ID);
  c.run(n);
  const double wall_us = clock_us(CLOCK_MONOTONIC) - wall;
  const double cpu_us = clock_us(CLOCK_THREAD_CPUTIME_ID) - cpu;
  constexpr double kUndisturbed = 0.97;
  return one_thread && cpu_us < kUndisturbed * wall_us ? cpu_us : wall_us;
}

}  // namespace

double Contender::median_us() const {
  if (samples_us.empty()) return 0;
  std::vector<double> v = samples_us;
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

void race(std::vector<Contender>& contenders, int rounds, double sample_us, bool one_thread) {
  std::vector<int64_t> batch;
  for (Contender& c : contenders) {
    let_threads_park(one_thread);
    c.run(1);
    double once = std::max(time_of(c, 1, one_thread), 0.01);
    if (once < sample_us / 10) {  // one cold run of a short kernel says little
      const auto n = static_cast<int64_t>(sample_us / 10 / once) + 1;
      once = std::max(time_of(c, n, one_thread) / static_cast<double>(n), 0.001);
    }
    batch.push_back(std::max<int64_t>(1, static_cast<int64_t>(std::ceil(sample_us / once))));
  }
  for (int round = 0; round < rounds; ++round) {
    for (size_t i = 0; i < contenders.size(); ++i) {
      Contender& c = contenders[i];
      let_threads_park(one_thread);
      c.run(std::max<int64_t>(1, batch[i] / 4));  // its operands and code back into the caches
      c.samples_us.push_back(time_of(c, batch[i], one_thread) / static_cast<double>(batch[i]));
    }
  }
}

}  // namespace hone::bench
