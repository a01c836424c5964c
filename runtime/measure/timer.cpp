// SPDX-License-Identifier: Apache-2.0
#include "runtime/measure/timer.h"

#include <algorithm>
#include <chrono>

namespace hone::runtime {
namespace {

using Clock = std::chrono::steady_clock;

double run_us(const std::function<void(int)>& f, int n) {
  const auto begin = Clock::now();
  f(n);
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

int repeats(double length_us, double one_us) {
  return static_cast<int>(std::clamp(length_us / std::max(one_us, 1e-3), 1.0, 1e8));
}

}  // namespace

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const size_t n = values.size();
  return (values[(n - 1) / 2] + values[n / 2]) / 2;
}

Timed time_repeated(const std::function<void(int n)>& f, const TimerOptions& options) {
  // Warming up also finds how many calls fill a sample.
  double one = run_us(f, 1);
  for (double spent = one; spent < options.warm_up_us;) {
    const int n = repeats(options.warm_up_us / 4, one);
    one = run_us(f, n) / n;
    spent += one * n;
  }
  const int n = repeats(options.sample_us, one) + 1;
  Timed timing;
  const auto begin = Clock::now();
  for (int i = 0; i < options.samples; ++i) {
    timing.samples_us.push_back(run_us(f, n) / n);
    const std::chrono::duration<double, std::micro> total = Clock::now() - begin;
    if (i >= 2 && total.count() > options.budget_us) break;
  }
  timing.median_us = median(timing.samples_us);
  return timing;
}

}  // namespace hone::runtime
