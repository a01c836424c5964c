// SPDX-License-Identifier: Apache-2.0
// Tuning inside a program: a progress line, and a stop on Ctrl-C that keeps what was measured. A
// second run is served from the cache.
#include <hone/hone.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <stop_token>
#include <thread>

namespace {

volatile std::sig_atomic_t interrupted = 0;

void show(const hone::TuneProgress& p) {
  std::printf("\r%lld trials, %.2f us at best (default %.2f), %.0f%% of the limit, %.0f s left  ",
              static_cast<long long>(p.trials), p.best_us, p.default_us, 100 * p.of_limit,
              p.left.count());
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  using namespace std::chrono_literals;
  const char* problem = argc > 1 ? argv[1] : "softmax M=64 N=1024";
  std::signal(SIGINT, [](int) { interrupted = 1; });

  // A stop source can be asked from any thread; a signal handler may only set a flag.
  std::stop_source stop;
  std::jthread watch([&](std::stop_token done) {
    while (!done.stop_requested() && !interrupted) std::this_thread::sleep_for(20ms);
    if (interrupted) stop.request_stop();
  });

  hone::Engine engine;
  const auto result =
      engine.try_tune(problem, {.budget = 2s, .progress = show, .stop = stop.get_token()});
  if (!result) {
    std::printf("%s\n", result.failure().message.c_str());
    return 1;
  }
  std::printf("\n%s after %lld trials in %.1f s: %.2f us\n  %s\n",
              result->end == hone::TuneEnd::kHit       ? "in the cache"
              : result->end == hone::TuneEnd::kStopped ? "stopped"
                                                       : "tuned",
              static_cast<long long>(result->trials), result->seconds, result->time_us,
              result->schedule.c_str());
  const hone::Kernel best = engine.compile(problem);
  std::printf("compile takes it: %s\n", std::string(name_of(best.source())).c_str());
}
