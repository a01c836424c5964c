// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <iostream>

#include "ops/random.h"
#include "runtime/cli/common.h"
#include "runtime/cli/fuzz_speed.h"
#include "runtime/tune/trials.h"
#include "schedules/search/random_steps.h"

namespace hone::runtime {
namespace {

using Clock = std::chrono::steady_clock;
using schedules::Schedule;

/// Steps of a random schedule, at most; few are easier to shrink, many meet more of one another.
/// Chosen: between short and varied (not measured).
constexpr int kMostSteps = 12;

struct FuzzOptions {
  Common common;
  uint64_t seed = 1;
  std::string time = "60s";
  std::vector<std::string> words;
  std::string problem;
  int schedules = 6;  ///< of one problem
  bool speed = false;
  std::string budget = "1s";  ///< of one problem, with `speed`
};

struct Counts {
  int64_t problems = 0, runs = 0, refused = 0, failures = 0;
};

/// One run of the verb: random problems under random legal schedules, in workers, so that a crash
/// is a finding like any other.
class Fuzzer {
 public:
  Fuzzer(const FuzzOptions& options, EngineState* engine, std::string worker)
      : options_(options), engine_(engine), worker_(std::move(worker)) {}

  Result<Counts> run(Clock::time_point end) {
    for (uint64_t seed = options_.seed; Clock::now() < end; ++seed) {
      const std::string text =
          options_.problem.empty() ? ops::random_problem(seed) : options_.problem;
      auto problem = engine_->parse(text);
      if (!problem && !options_.problem.empty()) return problem.failure();
      if (!problem) {
        tell("a random problem does not parse: " + problem.failure().message, text, "");
        continue;
      }
      ++counts_.problems;
      try_problem(*problem, seed, end);
    }
    return counts_;
  }

 private:
  void try_problem(const ops::Problem& problem, uint64_t seed, Clock::time_point end) {
    Trials trials(worker_, problem.text, engine_->target_text, engine_->options.gpu);
    if (const auto opened = trials.open(); !opened) {
      tell(opened.failure().message, problem.text, "");
      return;
    }
    schedules::RandomSchedules random(problem.program, engine_->target, seed);
    for (int i = 0; i < options_.schedules && Clock::now() < end; ++i) {
      const Schedule schedule = random.next(1 + static_cast<int>((seed + i) % kMostSteps), nullptr);
      ++counts_.runs;
      const std::string wrong = wrong_with(trials, schedule);
      if (wrong.empty()) continue;
      shrink(problem, schedule, verdict_in(wrong));
      return;
    }
  }

  /// What the worker says is wrong; empty: right, or the backend refuses it.
  std::string wrong_with(Trials& trials, const Schedule& schedule) {
    const auto outcome = trials.run(schedule.text(), {.samples = 0});
    if (!outcome) return outcome.failure().message;
    if (outcome->refused()) ++counts_.refused;
    if (outcome->ok() || outcome->refused() || outcome->lost()) return "";
    return outcome->verdict + ": " + outcome->note;
  }

  std::string wrong_with(const std::string& text, const Schedule& schedule) {
    auto problem = engine_->parse(text);
    if (!problem || !schedules::apply(problem->program, schedule)) return "";
    Trials trials(worker_, problem->text, engine_->target_text, engine_->options.gpu);
    return wrong_with(trials, schedule);
  }

  /// The verdict in what is wrong with a schedule, `wrong` of `wrong: Y[0] is 1 where 2 is right`.
  static std::string verdict_in(const std::string& wrong) {
    return wrong.substr(0, wrong.find(':'));
  }

  /// Tells the smallest problem and schedule found that still fail, and in the same way. A simpler
  /// problem may take longer than a worker has to open it.
  void shrink(const ops::Problem& problem, Schedule schedule, const std::string& verdict) {
    std::string text = problem.text;
    const auto fails = [&](const std::string& simpler, const Schedule& less) {
      return verdict_in(wrong_with(simpler, less)) == verdict;
    };
    for (bool again = true; again;) {
      again = false;
      schedule =
          schedules::shrink(schedule, [&](const Schedule& less) { return fails(text, less); });
      for (const std::string& simpler : ops::simpler_problems(text)) {
        if (!fails(simpler, schedule)) continue;
        text = simpler;
        again = true;
        break;
      }
    }
    tell(wrong_with(text, schedule), text, schedule.text());
  }

  void tell(const std::string& what, const std::string& problem, const std::string& schedule) {
    ++counts_.failures;
    const std::string line = problem + " | " + engine_->target_text + " | " + schedule;
    if (options_.common.json) {
      print_line({{"failure", what}, {"repro", line}});
    } else {
      std::cout << what << "\n  " << line << std::endl;
    }
  }

  const FuzzOptions& options_;
  EngineState* engine_;
  std::string worker_;
  Counts counts_;
};

/// Problems that a text of speed lists; JSON has them all.
/// Chosen: what people read (not measured).
constexpr size_t kWorst = 10;

void report_speed(const Common& common, SpeedRun run) {
  std::sort(run.samples.begin(), run.samples.end(),
            [](const SpeedSample& a, const SpeedSample& b) { return a.untuned() < b.untuned(); });
  std::vector<double> untuned, tuned;
  for (const SpeedSample& s : run.samples) {
    untuned.push_back(s.untuned());
    tuned.push_back(s.tuned());
  }
  const auto points = [](const std::vector<double>& shares) -> Json {
    if (shares.empty()) return nullptr;
    return {{"median", percentile(shares, 0.5)},
            {"p10", percentile(shares, 0.1)},
            {"worst", percentile(shares, 0)}};
  };
  if (common.json) {
    for (const SpeedSample& s : run.samples) {
      print_line({{"untuned", s.untuned()},
                  {"tuned", s.tuned()},
                  {"limit_us", s.limit_us},
                  {"repro", s.line}});
    }
    for (const SpeedSample& s : run.beaten) {
      print_line({{"beaten", s.tuned()}, {"limit_us", s.limit_us}, {"repro", s.line}});
    }
    for (const std::string& text : run.failed) print_line({{"failure", text}});
    return print_line({{"problems", untuned.size()},
                       {"beaten", run.beaten.size()},
                       {"unknown", run.unknown},
                       {"failures", run.failed.size()},
                       {"untuned", points(untuned)},
                       {"tuned", points(tuned)}});
  }
  run.samples.resize(std::min(run.samples.size(), kWorst));
  for (const SpeedSample& s : run.samples) {
    std::cout << fmt::format("{:3.0f}% of {:.1f} us, tuned {:.0f}%\n  {}\n", 100 * s.untuned(),
                             s.limit_us, 100 * s.tuned(), s.line);
  }
  for (const SpeedSample& s : run.beaten) {
    std::cout << fmt::format("{:3.0f}% of {:.1f} us: faster than the limit\n  {}\n",
                             100 * s.tuned(), s.limit_us, s.line);
  }
  for (const std::string& text : run.failed) std::cout << text << "\n";
  std::cout << fmt::format(
      "{} problems, {} faster than their limit, {} of unknown share, {} failures\n", untuned.size(),
      run.beaten.size(), run.unknown, run.failed.size());
  for (const auto& [name, shares] : {std::pair("untuned", &untuned), std::pair("tuned", &tuned)}) {
    if (shares->empty()) continue;
    std::cout << fmt::format(
        "{}: {:.0f}% of the limit in the middle, {:.0f}% at the 10th "
        "percentile, {:.0f}% at worst\n",
        name, 100 * percentile(*shares, 0.5), 100 * percentile(*shares, 0.1),
        100 * percentile(*shares, 0));
  }
}

/// The verb with --speed: times, not results, are what is looked at.
int fuzz_for_speed(FuzzOptions& options, std::chrono::milliseconds time) {
  const auto budget = parse_duration(options.budget);
  if (!budget) return report(options.common, budget.failure());
  // Random problems are of no use in a cache.
  if (options.common.cache.empty()) options.common.cache = ":memory:";
  auto engine = open_engine(options.common);
  if (!engine) return report(options.common, engine.failure());
  SpeedRun run = fuzz_speed(**engine, {.seed = options.seed, .time = time, .budget = *budget});
  const bool failed = !run.failed.empty();
  report_speed(options.common, std::move(run));
  return failed ? kExitMismatch : kExitOk;
}

int fuzz(FuzzOptions& options) {
  if (!options.words.empty()) {
    const auto line = only_line(options.words, "fuzz");
    if (!line) return report(options.common, line.failure());
    options.problem = line->problem;
    if (!line->target.empty()) options.common.target = line->target;
  }
  const auto time = parse_duration(options.time);
  if (!time) return report(options.common, time.failure());
  if (options.speed && !options.problem.empty()) {
    return report(options.common, {ErrorCode::kArgument,
                                   "fuzz --speed makes its problems itself; `hone tune` measures "
                                   "one of your own"});
  }
  options.common.notices = !options.problem.empty();
  if (options.speed) return fuzz_for_speed(options, *time);
  auto engine = open_engine(options.common);
  if (!engine) return report(options.common, engine.failure());
  const std::string worker = find_worker("");
  if (worker.empty()) return report(options.common, no_worker());
  const auto counts = Fuzzer(options, engine->get(), worker).run(Clock::now() + *time);
  if (!counts) return report(options.common, counts.failure());
  if (options.common.json) {
    print_line({{"problems", counts->problems},
                {"schedules", counts->runs},
                {"refused", counts->refused},
                {"failures", counts->failures}});
  } else {
    std::cout << fmt::format("{} problems, {} schedules ({} refused by the backend), {} failures\n",
                             counts->problems, counts->runs, counts->refused, counts->failures);
  }
  return counts->failures == 0 ? kExitOk : kExitMismatch;
}

void declare_fuzz(CLI::App& app, int& exit) {
  auto options = std::make_shared<FuzzOptions>();
  add_common(app, options->common);
  app.add_option("problem", options->words, "A problem of one's own instead of random ones");
  app.add_option("--seed", options->seed, "Where the random numbers begin");
  app.add_option("--time", options->time, "How long: 500ms, 10s, 2m, 1h");
  app.add_option("--schedules", options->schedules, "Random schedules of one problem")
      ->check(CLI::Range(1, 1000000));
  app.add_flag("--speed", options->speed,
               "Larger problems, timed untuned and tuned: shares of the limit, the worst ten");
  app.add_option("--budget", options->budget, "Tuning of one problem, with --speed: 1s");
  app.callback([options, &exit] { exit = fuzz(*options); });
}

}  // namespace

const Verb kFuzzVerb = {
    "fuzz",
    "Random problems: under random legal schedules with a repro line for each failure, or timed",
    declare_fuzz};

}  // namespace hone::runtime
