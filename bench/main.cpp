// SPDX-License-Identifier: Apache-2.0
// hone-bench: default and tuned schedules and, if asked, other libraries, side by side in one run.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>

#include "bench/suites.h"

namespace {

using namespace hone;
using namespace hone::bench;

/// Peers read the number of threads when they are loaded, which is before main.
void restart_with_threads(char** argv, int threads) {
  const std::string count = std::to_string(threads > 0 ? threads : 1);
  const char* set = std::getenv("OMP_NUM_THREADS");
  if (set && set == count) return;
  ::setenv("OMP_NUM_THREADS", count.c_str(), 1);
  ::setenv("OPENBLAS_NUM_THREADS", count.c_str(), 1);
  ::execv("/proc/self/exe", argv);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("hone-bench: default, tuned and peers against the machine's limit, in one run");
  Options o;
  runtime::add_common(app, o.common);
  app.add_option("--suite", o.suite, "library, outside, square, latency or all")
      ->check(CLI::IsMember({"library", "outside", "square", "latency", "all"}))
      ->capture_default_str();
  app.add_option("--problem", o.problems, "Problems instead of a suite");
  app.add_flag("--peers", o.peers, "Other libraries too, where they can solve the problem");
  app.add_option("--tune", o.tune_seconds, "Seconds to tune problems that the cache lacks")
      ->capture_default_str();
  app.add_option("--rounds", o.rounds, "Samples of each contender")->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? runtime::kExitOk : runtime::kExitUserError;
  }
  if (o.common.threads == 0) o.common.threads = 1;
  restart_with_threads(argv, o.common.threads);
  int exit = 0;
  const bool latency = o.suite == "latency" && o.problems.empty();
  if (!latency) exit = run_races(o);
  if (latency || o.suite == "all") exit = std::max(exit, run_latency(o));
  return exit;
}
