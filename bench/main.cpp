// SPDX-License-Identifier: Apache-2.0
// hone-bench: default and tuned schedules and, if asked, other libraries, side by side in one run.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "bench/cuda/run.h"
#include "bench/models/suite.h"
#include "bench/speed/suite.h"
#include "bench/suites.h"
#include "runtime/machine/host.h"

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

int run(Options& o, char** argv) {
  const auto tuning = runtime::parse_duration(o.tune);
  if (!tuning) return runtime::report(o.common, tuning.failure());
  o.tuning = *tuning;
  o.problems = runtime::lines_of(o.problems);
  if (o.common.target.rfind("cuda", 0) == 0) {
    return o.models.empty() ? run_gpu(o, argv) : run_models(o);
  }
  const auto target =
      ir::parse_target(o.common.target.empty() ? "x86" : o.common.target, runtime::host_target());
  if (!target) return runtime::report(o.common, target.failure());
  const bool speed = o.suite == "speed" && o.problems.empty() && o.models.empty();
  // Its goals are those of one thread.
  if (speed && o.common.threads == 0) o.common.threads = 1;
  restart_with_threads(argv, o.common.threads > 0 ? o.common.threads : target->threads);
  if (!o.models.empty()) return run_models(o);
  if (speed) return run_speed(o);
  if (o.suite == "estimate") return run_estimate(o);
  const bool latency = o.suite == "latency" && o.problems.empty();
  const int exit = latency ? runtime::kExitOk : run_races(o);
  return latency || o.suite == "all" ? std::max(exit, run_latency(o)) : exit;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("hone bench: default, tuned and peers against the machine's limit, in one run",
               "hone bench");
  Options o;
  runtime::add_common(app, o.common);
  app.add_option("--suite", o.suite, "What to run")
      ->check(CLI::IsMember(
          {"library", "outside", "square", "demo", "speed", "latency", "estimate", "all"}))
      ->capture_default_str();
  app.add_option("--problem", o.problems, "Problems instead of a suite");
  app.add_option("--models", o.models,
                 "A folder: its .onnx and .graph files as whole models, instead of a suite");
  app.add_option("--dim", o.dims, "Of --models: a dim of those that have it, `batch=8`")
      ->allow_extra_args(false);
  app.add_flag("--peers", o.peers, "Other libraries too, where they can solve the problem");
  app.add_option("--tune", o.tune, "Time to tune each problem that the cache lacks: 10s, 2m")
      ->capture_default_str();
  app.add_option("--rounds", o.rounds, "Samples of each contender")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  app.add_option("--group", o.groups,
                 "Of the speed suite or on a GPU: these groups of problems only");
  app.add_option("--case", o.cases,
                 "Of the speed suite, and of --models: rows of these names only, `*` is anything");
  app.add_option("--svg", o.svg, "Of the speed suite: a file for a picture of it");
  app.add_option(
         "--tuned", o.tuned,
         "Of the speed suite: a folder of tuned records, which go before the cache's; or none")
      ->capture_default_str();
  app.add_option("--save-tuned", o.save_tuned,
                 "Of the speed suite: a folder to keep the records that serve in");
  app.add_option("--state", o.state, "On a GPU: the file of what was found so far")
      ->capture_default_str();
  app.add_flag("--resume", o.resume, "On a GPU: go on from the state file");
  app.add_option("--schedules", o.schedules, "Of the suite estimate: schedules of each problem")
      ->check(CLI::Range(8, 10000))
      ->capture_default_str();
  app.add_option("--minutes", o.minutes,
                 "On a GPU, and of the suite estimate: stop after about so long, to be resumed");
  app.add_option("--limit", o.limit, "On a GPU: seconds after which a problem counts as hung");
  app.add_option("--ab", o.forms, "On a GPU: forms of kernels to time beside, as of HONE_CUDA_AB");
  app.add_flag("--list", o.list,
               "Of the speed suite, of --models or on a GPU: name what there is, and run none");
  app.add_flag("--tiny", o.tiny,
               "On a GPU: problems of a few elements, to see that all of it works");
  app.footer(
      "Contenders run in turns, with the threads that run and tune use: all of this machine, or "
      "--threads. Times are medians with the middle half of the rounds; a round in which another "
      "process had a core is made again. Shares are of the best that was ever measured of this "
      "machine, busy where a contender is faster than that. A ratio to the first contender is the "
      "middle one of the rounds' ratios, and left out where fewer than three count.");
  int exit = runtime::kExitOk;
  app.callback([&] { exit = run(o, argv); });
  return runtime::run_program(app, argc, argv, exit);
}
