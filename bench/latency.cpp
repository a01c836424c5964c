// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iostream>

#include "bench/contender.h"
#include "bench/suites.h"
#include "hone/hone.h"
#include "runtime/kernel_check/kernel_call.h"
#include "runtime/measure/bound.h"

namespace hone::bench {
namespace {

using Clock = std::chrono::steady_clock;
using runtime::Json;

double microseconds(Clock::duration d) {
  return std::chrono::duration<double, std::micro>(d).count();
}

void show(const Options& options, const std::string& what, Json figures) {
  Json row{{"latency", what}};
  row.update(figures);
  if (options.common.json) {
    runtime::print_line(row);
    return;
  }
  std::cout << fmt::format("{:<36}", what);
  for (const auto& [name, value] : figures.items()) {
    std::cout << fmt::format(
        "  {} {}", name,
        value.is_number_float() ? fmt::format("{:.2f}", value.get<double>()) : value.dump());
  }
  std::cout << "\n";
}

/// Text to callable kernel, nothing cached or tuned, over all cases of the library.
int text_to_kernel(const Options& options) {
  std::vector<double> times;
  std::string slowest;
  double most = 0;
  runtime::Common fresh = options.common;
  fresh.cache = ":memory:";
  auto engine = runtime::open_engine(fresh);
  if (!engine) return runtime::report(options.common, engine.failure());
  for (const ops::Case& c : ops::stock_library().cases) {
    const auto start = Clock::now();
    auto kernel = (*engine)->compile(c.problem, CompileOptions{});
    const double us = microseconds(Clock::now() - start);
    if (!kernel) return runtime::report(options.common, kernel.failure());
    times.push_back(us);
    if (us > most) {
      most = us;
      slowest = c.problem;
    }
  }
  std::sort(times.begin(), times.end());
  show(options, "text to kernel, us",
       {{"median", times[times.size() / 2]},
        {"p99", times[times.size() * 99 / 100]},
        {"max", times.back()},
        {"kernels", times.size()},
        {"slowest", slowest}});
  return 0;
}

/// A call with its checks against the raw launches of the same kernel.
int call_overhead(const Options& options) {
  runtime::Common alone = options.common;
  alone.threads = 1;  // what a pool takes is none of a call's
  auto engine = runtime::open_engine(alone);
  if (!engine) return runtime::report(options.common, engine.failure());
  auto problem = (*engine)->parse("matmul M=8 N=16 K=8");
  if (!problem) return runtime::report(options.common, problem.failure());
  auto fixture = runtime::Fixture::create(*problem, {}, jit::DataSet::kTimed, runtime::Guard::kFar,
                                          1, runtime::kStagger);
  auto kernel = (*engine)->compile(*problem, CompileOptions{});
  if (!fixture || !kernel) return 1;
  auto call = runtime::KernelCall::create(*kernel, *fixture);
  if (!call) return runtime::report(options.common, call.failure());
  std::vector<Contender> both;
  both.push_back({"raw", [&](int64_t n) { static_cast<void>((*call)->run(n)); }, true, {}});
  both.push_back({"checked",
                  [&](int64_t n) {
                    for (int64_t i = 0; i < n; ++i) static_cast<void>((*call)->call());
                  },
                  true,
                  {}});
  race(both, 51, 200);
  const double raw = both[0].spread().median, checked = both[1].spread().median;
  show(options, "call, ns",
       {{"raw", 1e3 * raw}, {"checked", 1e3 * checked}, {"over", 1e3 * (checked - raw)}});
  return 0;
}

/// From nothing to the first result with a cache that has the answer.
int warm_start(const Options& options) {
  std::vector<double> times;
  std::vector<float> a(64 * 31), b(31 * 48), c(64 * 48);
  for (int round = 0; round < options.rounds; ++round) {
    const auto start = Clock::now();
    Engine engine({.cache = options.common.cache, .threads = 1});
    hone::Kernel k = engine.compile("matmul M=64 N=48 K=31");
    k(a, b, c);
    times.push_back(microseconds(Clock::now() - start));
  }
  std::sort(times.begin(), times.end());
  show(options, "engine to first result, us",
       {{"median", times[times.size() / 2]}, {"max", times.back()}});
  return 0;
}

}  // namespace

int run_latency(const Options& options) {
  return std::max({text_to_kernel(options), call_overhead(options), warm_start(options)});
}

}  // namespace hone::bench
