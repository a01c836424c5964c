// SPDX-License-Identifier: Apache-2.0
#include "runtime/measure/samples.h"

#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cmath>

namespace hone::runtime {
namespace {

constexpr double kShare = 0.97;     // of the wall time: less is a core lost
constexpr double kLongSample = 10;  // times the least length: then fewer samples do
constexpr int kFewSamples = 3;

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

}  // namespace

bool Stretch::disturbed(bool alone) const {
  return cpu_us < kShare * wall_us || (!alone && switched_away > 0);
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

Samples take_samples(const std::function<Stretch(int64_t n)>& run, const SampleOptions& options) {
  // The first call warms caches, page tables and predictors. Of a long one it also says how long.
  double estimate = run(1).cpu_us;
  if (estimate < 4 * options.sample_us) estimate = run(1).cpu_us;
  const bool is_long = estimate > kLongSample * options.sample_us;
  const int wanted = is_long ? std::min(options.samples, kFewSamples) : options.samples;
  Samples out;
  std::vector<double> others;
  for (int left = 3 * wanted; left > 0 && static_cast<int>(out.us.size()) < wanted; --left) {
    const auto n = static_cast<int64_t>(std::ceil(options.sample_us / std::max(estimate, 0.01)));
    const Stretch s = run(n);
    const bool disturbed = s.disturbed(options.alone);
    const double whole = options.alone && disturbed ? s.cpu_us : s.wall_us;
    const double each = whole / static_cast<double>(n);
    if (options.alone || !disturbed) estimate = each;
    if (s.wall_us < options.sample_us / 2) continue;
    if (!options.alone && (disturbed || lacks_cores(s.cores(), out.cores))) {
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
    if (options.give_up_us > 0 && each > options.give_up_us) return out;
  }
  if (out.us.empty() && others.empty()) out.us.push_back(estimate);
  if (static_cast<int>(out.us.size()) * 2 >= wanted || others.empty()) return out;
  out.disturbed = true;
  out.us.insert(out.us.end(), others.begin(), others.end());
  out.us = fastest(std::move(out.us));
  return out;
}

}  // namespace hone::runtime
