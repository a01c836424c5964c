// SPDX-License-Identifier: Apache-2.0
#include "bench/contender.h"

#include <time.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include "runtime/measure/samples.h"

namespace hone::bench {
namespace {

using runtime::Stretch;

constexpr int kMostRounds = 3;     // times those wanted
constexpr double kLongUs = 20000;  // a run that long finds little of its own in a cache

/// Threads of OpenMP spin for a few milliseconds after their last run, those of ONNX Runtime for
/// tens. Chosen: steps in which what little the process does is seen, and patience (not measured).
constexpr auto kParking = std::chrono::milliseconds(10);
constexpr int kMostParkings = 50;
constexpr double kIdleUs = 1000;  // of processor time in a step: less is no thread that spins

/// Processor time of all threads.
double process_us() {
  timespec t{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_nsec) * 1e-3;
}

/// `n` runs back to back, or of several threads now and then.
Stretch stretch_of(const Contender& c, int64_t n) {
  if (!c.alone) return runtime::spaced_stretch_of([&] { c.run(1); }, n, c.before);
  if (c.before)
    return runtime::prepared_stretch_of(
        c.before, [&] { c.run(1); }, n);
  return runtime::stretch_of([&] { c.run(n); });
}

/// One contender and what its samples have come to.
struct Lane {
  int64_t batch = 1;
  bool warms = true;           ///< runs a little before each sample
  double cores = 0;            ///< the most that were at work
  std::vector<double> others;  ///< of rounds that do not count
};

/// Finds how many runs fill a sample.
void size_batch(const Contender& c, double sample_us, Lane* lane) {
  const auto each = [&](int64_t n) {
    const Stretch s = stretch_of(c, n);
    return std::max(std::min(s.wall_us, s.cpu_us) / static_cast<double>(n), 0.001);
  };
  double once = each(1);
  if (once < sample_us / 10) {  // one cold run of a short kernel says little
    const double filling = sample_us / 10 / once + 1;
    const bool few = !c.alone || c.before;
    once = each(static_cast<int64_t>(few ? std::min(filling, 4.0) : filling));
  }
  auto n = std::max<int64_t>(1, static_cast<int64_t>(std::ceil(sample_us / once)));
  if (c.before) n = std::min(n, runtime::calls_prepared_by(c.before));
  lane->batch = c.alone ? n : std::min(n, runtime::kSpacedCalls);
  lane->warms = once < kLongUs;
}

/// Everyone once; true when no other process had a core.
bool play(std::vector<Contender>& contenders, std::vector<Lane>& lanes,
          std::vector<double>& times_us) {
  bool quiet = true;
  for (size_t i = 0; i < contenders.size(); ++i) {
    const Contender& c = contenders[i];
    Lane& lane = lanes[i];
    if (!c.alone) let_threads_park();
    // Its operands and code back into the caches.
    if (lane.warms) c.run(std::max<int64_t>(1, lane.batch / 4));
    const Stretch s = stretch_of(c, lane.batch);
    const bool disturbed = s.disturbed(c.alone);
    const bool lacks = !c.alone && runtime::lacks_cores(s.cores(), lane.cores);
    lane.cores = std::max(lane.cores, s.cores());
    quiet = quiet && !disturbed && !lacks;
    const double whole = disturbed && c.alone ? s.cpu_us : s.wall_us;
    times_us.push_back(whole / static_cast<double>(lane.batch));
  }
  return quiet;
}

}  // namespace

Rounds race(std::vector<Contender>& contenders, int rounds, double sample_us, double most_s) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  std::vector<Lane> lanes(contenders.size());
  for (size_t i = 0; i < contenders.size(); ++i) {
    if (!contenders[i].alone) let_threads_park();
    contenders[i].run(1);
    size_batch(contenders[i], sample_us, &lanes[i]);
  }
  Rounds made;
  while (made.counted < rounds && made.counted + made.noisy < kMostRounds * rounds) {
    const std::chrono::duration<double> spent = Clock::now() - begin;
    const bool late = most_s > 0 && spent.count() > most_s;
    if (late && made.counted + made.noisy >= kFewRounds) break;
    std::vector<double> times_us;
    const bool quiet = play(contenders, lanes, times_us);
    ++(quiet ? made.counted : made.noisy);
    for (size_t i = 0; i < contenders.size(); ++i) {
      (quiet ? contenders[i].samples_us : lanes[i].others).push_back(times_us[i]);
    }
  }
  for (size_t i = 0; i < contenders.size() && made.counted < std::min(rounds, kFewRounds); ++i) {
    std::vector<double>& all = contenders[i].samples_us;
    all.insert(all.end(), lanes[i].others.begin(), lanes[i].others.end());
  }
  return made;
}

runtime::Spread ratios_of(const Contender& c, const Contender& other) {
  std::vector<double> ratios;
  for (size_t r = 0; r < c.samples_us.size() && r < other.samples_us.size(); ++r) {
    ratios.push_back(other.samples_us[r] / c.samples_us[r]);
  }
  return runtime::spread_of(std::move(ratios));
}

double ratio_of(const Contender& c, const Contender& other, const Rounds& rounds) {
  return rounds.counted < kFewRounds ? 0 : ratios_of(c, other).median;
}

void let_threads_park() {
  double before_us = process_us();
  for (int i = 0; i < kMostParkings; ++i) {
    std::this_thread::sleep_for(kParking);
    const double now_us = process_us();
    if (now_us - before_us < kIdleUs) return;
    before_us = now_us;
  }
}

}  // namespace hone::bench
