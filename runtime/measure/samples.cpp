// SPDX-License-Identifier: Apache-2.0
#include "runtime/measure/samples.h"

#include <immintrin.h>
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "runtime/measure/assemble.h"

namespace hone::runtime {
namespace {

/// Chosen: noise of a quiet core; time of a long sample (not measured).
constexpr double kShare = 0.97;     // of the wall time: less is a core lost
constexpr double kLongSample = 10;  // times the least length: then fewer samples do
constexpr int kFewSamples = 3;
constexpr double kPreparingUs = 5000;                    // what comes before the calls of a sample
constexpr auto kPause = std::chrono::microseconds(120);  // longer than threads of the pool spin

double cpu_us(clockid_t clock) {
  timespec t{};
  ::clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_nsec) * 1e-3;
}

/// Of all threads of the process.
int64_t involuntary_switches() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nivcsw;
}

/// The faster half, at least one.
std::vector<double> fastest(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  v.resize(std::max<size_t>(1, v.size() / 2));
  return v;
}

/// What one of `n` calls took. Of one thread that lost its core the processor time.
double each_of(const Stretch& s, int64_t n, const SampleOptions& options) {
  const double whole = options.alone && s.disturbed(true) ? s.cpu_us : s.wall_us;
  return whole / static_cast<double>(n);
}

/// Keeps the core and asks nothing of it.
void pause_for(std::chrono::microseconds length) {
  const auto end = std::chrono::steady_clock::now() + length;
  while (std::chrono::steady_clock::now() < end) _mm_pause();
}

}  // namespace

bool Stretch::disturbed(bool alone) const {
  return cpu_us < kShare * (wall_us + pause_us) || (!alone && switched_away > 0);
}

Stretch stretch_of(const std::function<void()>& work) {
  const int64_t switches = involuntary_switches();
  const double process = cpu_us(CLOCK_PROCESS_CPUTIME_ID);
  const double cpu = cpu_us(CLOCK_THREAD_CPUTIME_ID);
  const auto start = std::chrono::steady_clock::now();
  work();
  const auto end = std::chrono::steady_clock::now();
  Stretch s;
  s.cpu_us = cpu_us(CLOCK_THREAD_CPUTIME_ID) - cpu;
  s.process_us = cpu_us(CLOCK_PROCESS_CPUTIME_ID) - process;
  s.wall_us = std::chrono::duration<double, std::micro>(end - start).count();
  s.switched_away = involuntary_switches() - switches;
  return s;
}

Stretch spaced_stretch_of(const std::function<void()>& work, int64_t n,
                          const std::function<void()>& before) {
  double calls_us = 0;
  Stretch s = stretch_of([&] {
    for (int64_t i = 0; i < n; ++i) {
      if (before) before();
      pause_for(kPause);
      const auto start = std::chrono::steady_clock::now();
      work();
      const auto end = std::chrono::steady_clock::now();
      calls_us += std::chrono::duration<double, std::micro>(end - start).count();
    }
  });
  s.pause_us = s.wall_us - calls_us;
  s.wall_us = calls_us;
  return s;
}

Stretch prepared_stretch_of(const std::function<void()>& before, const std::function<void()>& work,
                            int64_t n) {
  Stretch all;
  for (int64_t i = 0; i < n; ++i) {
    before();
    const Stretch s = stretch_of(work);
    all.wall_us += s.wall_us;
    all.cpu_us += s.cpu_us;
    all.process_us += s.process_us;
    all.switched_away += s.switched_away;
  }
  return all;
}

int64_t calls_prepared_by(const std::function<void()>& before) {
  const double us = std::max(stretch_of(before).wall_us, 1.0);
  return std::max<int64_t>(1, static_cast<int64_t>(kPreparingUs / us));
}

Samples take_samples(const std::function<Stretch(int64_t n)>& run, const SampleOptions& options) {
  // The first call warms caches, page tables and predictors. Of a long one it also says how long.
  const auto once = [&] {
    const Stretch s = run(1);
    return std::min(s.wall_us, s.cpu_us);
  };
  double estimate = once();
  if (estimate < 4 * options.sample_us) estimate = once();
  const bool is_long = estimate > kLongSample * options.sample_us;
  const int wanted = is_long ? std::min(options.samples, kFewSamples) : options.samples;
  Samples out;
  std::vector<double> others;
  for (int left = 3 * wanted; left > 0 && static_cast<int>(out.us.size()) < wanted; --left) {
    auto n = static_cast<int64_t>(std::ceil(options.sample_us / std::max(estimate, 0.01)));
    if (options.most_calls > 0) n = std::min(n, options.most_calls);
    const Stretch s = run(n);
    const bool disturbed = s.disturbed(options.alone);
    const double each = each_of(s, n, options);
    if (options.alone || !disturbed) estimate = each;
    if (n != options.most_calls && s.wall_us < options.sample_us / 2) continue;
    const bool hopeless = options.give_up_us > 0 && each > options.give_up_us;
    // No long sample is undisturbed for long; of one thread its processor time is as good.
    const bool drop = disturbed && !(options.alone && (is_long || hopeless));
    if (drop || (!options.alone && lacks_cores(s.cores(), out.cores))) {
      others.push_back(each);
      continue;
    }
    if (!options.alone && lacks_cores(out.cores, s.cores())) {
      // Now a thread has a core that had none before.
      others.insert(others.end(), out.us.begin(), out.us.end());
      out.us.clear();
    }
    if (!options.alone) out.cores = std::max(out.cores, s.cores());
    out.us.push_back(each);
    if (hopeless) break;
  }
  out.quiet = static_cast<int>(out.us.size());
  out.noisy = static_cast<int>(others.size());
  if (out.us.empty() && others.empty()) out.us.push_back(estimate);
  const bool gave_up =
      options.give_up_us > 0 && !out.us.empty() && out.us.back() > options.give_up_us;
  if (gave_up || out.quiet * 2 >= wanted || others.empty()) return out;
  out.us.insert(out.us.end(), others.begin(), others.end());
  if (options.alone) return out;
  out.disturbed = true;
  out.us = fastest(std::move(out.us));
  return out;
}

Samples sample_calls(const std::function<void(int64_t n)>& calls, ThreadPool* pool,
                     SampleOptions options, const std::function<void()>& between) {
  options.alone = pool == nullptr;
  const std::function<void()>& before = options.before_call;
  if (before) options.most_calls = calls_prepared_by(before);
  if (pool && (!before || options.most_calls > kSpacedCalls)) options.most_calls = kSpacedCalls;
  const auto run = [&](int64_t n) {
    if (between) between();
    if (!pool && before)
      return prepared_stretch_of(
          before, [&] { calls(1); }, n);
    if (!pool) return stretch_of([&] { calls(n); });
    const bool all = assemble(*pool);
    Stretch s = spaced_stretch_of([&] { calls(1); }, n, before);
    s.switched_away += !all;
    return s;
  };
  return take_samples(run, options);
}

}  // namespace hone::runtime
