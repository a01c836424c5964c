// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <signal.h>

#include <atomic>
#include <iostream>
#include <sstream>
#include <stop_token>
#include <system_error>
#include <thread>

#include "runtime/cli/common.h"
#include "runtime/cli/progress.h"
#include "runtime/cli/terminal.h"
#include "runtime/cli/trials.h"
#include "schedules/search/search.h"

namespace hone::runtime {
namespace {

struct TuneVerbOptions {
  Common common;
  std::vector<std::string> words;
  std::string file;
  std::string log;
  std::string budget = "10s";
  std::string effort = "quick";
  std::string strategy = "evolve";
  int64_t trials = 0;
  uint64_t seed = 1;
  bool again = false;
};

/// Turns Ctrl-C and SIGTERM into a stop request while it lives: what was measured is kept.
class StopOnSignal {
 public:
  StopOnSignal() {
    sigemptyset(&set_);
    for (int number : {SIGINT, SIGTERM, SIGUSR1}) sigaddset(&set_, number);
    ::pthread_sigmask(SIG_BLOCK, &set_, &before_);
    try {
      waiter_ = std::thread([this] { wait(); });
    } catch (const std::system_error&) {
      // The system gives no thread: a signal ends the program, and the log has what was measured.
      ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }
  }
  ~StopOnSignal() {
    if (!waiter_.joinable()) return;
    done_ = true;
    ::pthread_kill(waiter_.native_handle(), SIGUSR1);
    waiter_.join();
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  std::stop_token token() const { return source_.get_token(); }

 private:
  void wait() {
    // SIGUSR1 may also come from outside: only `done_` ends it.
    while (!done_) {
      int number = 0;
      ::sigwait(&set_, &number);
      if (number != SIGUSR1) source_.request_stop();
    }
  }

  sigset_t set_{}, before_{};
  std::stop_source source_;
  std::atomic<bool> done_ = false;
  std::thread waiter_;
};

Json json_of(const TuneResult& r) {
  return {{"problem", r.problem},       {"target", r.target},     {"schedule", r.schedule},
          {"source", "tuned"},          {"end", name_of(r.end)},  {"time_us", r.time_us},
          {"default_us", r.default_us}, {"of_limit", r.of_limit}, {"numerics", r.numerics},
          {"trials", r.trials},         {"measured", r.measured}, {"rejected", r.rejected},
          {"failed", r.failed},         {"seconds", r.seconds}};
}

void print_text_tune(const TuneResult& r) {
  std::cout << r.problem << "\n  schedule  " << schedule_lines(r.schedule) << "\n";
  if (r.end == TuneEnd::kHit) {
    std::cout << fmt::format("  time      {:.3f} us, from the cache: nothing was measured\n",
                             r.time_us);
    return;
  }
  std::cout << fmt::format(
      "  time      {:.3f} us tuned, {:.3f} us default ({:.2f}x), the limit allows {:.3f} us "
      "({:.0f}%)\n  search    {} trials in {:.1f} s ({:.0f} a second), {} refused, {} failed; {}\n",
      r.time_us, r.default_us, r.default_us / r.time_us, r.of_limit * r.time_us, 100 * r.of_limit,
      r.trials, r.seconds, static_cast<double>(r.trials) / r.seconds, r.rejected, r.failed,
      name_of(r.end));
}

Result<std::vector<std::string>> problems_of(const TuneVerbOptions& o) {
  std::vector<std::string> all = lines_of(o.words);
  if (!o.file.empty()) {
    auto text = read_file(o.file);
    if (!text) return text.failure();
    std::istringstream lines(*text);
    for (std::string line; std::getline(lines, line);) {
      if (const size_t hash = line.find('#'); hash != line.npos) line.resize(hash);
      if (line.find_first_not_of(" \t") != line.npos) all.push_back(line);
    }
  }
  if (all.empty()) {
    return Failure{ErrorCode::kArgument, "name a problem, or a file of problems with --problems"};
  }
  return all;
}

Result<TuneOptions> options_of(const TuneVerbOptions& o) {
  TuneOptions t;
  auto budget = parse_duration(o.budget);
  if (!budget) return budget.failure();
  t.budget = o.trials > 0 ? std::chrono::milliseconds(0) : *budget;
  t.trials = o.trials;
  t.seed = o.seed;
  t.again = o.again;
  t.effort = o.effort == "full" ? Effort::kFull : Effort::kQuick;
  t.strategy = o.strategy == "random"    ? Strategy::kRandom
               : o.strategy == "descent" ? Strategy::kDescent
                                         : Strategy::kEvolve;
  return t;
}

int tune_all(const TuneVerbOptions& o) {
  auto problems = problems_of(o);
  if (!problems) return report(o.common, problems.failure());
  auto options = options_of(o);
  if (!options) return report(o.common, options.failure());
  auto engine = open_engine(o.common);
  if (!engine) return report(o.common, engine.failure());
  TrialLog log;
  if (const Failure f = log.open(o.log); f.code != ErrorCode::kOk) return report(o.common, f);
  StopOnSignal stop;
  options->stop = stop.token();
  ProgressLine line;
  if (!o.common.json) options->progress = [&](const TuneProgress& p) { line.show(p); };
  int exit = kExitOk;
  for (const std::string& problem : *problems) {
    options->trial = [&](const TuneTrial& t) { log.add(problem, t); };
    auto result = (*engine)->tune((*engine)->parse(problem), *options);
    line.end();
    if (!result) {
      exit = std::max(exit, report(o.common, result.failure()));
    } else if (o.common.json) {
      print_line(json_of(*result));
    } else {
      print_text_tune(*result);
    }
    if (stop.token().stop_requested()) break;
  }
  const Failure written = log.close();
  if (written.code != ErrorCode::kOk) exit = std::max(exit, report(o.common, written));
  return exit;
}

void declare_tune(CLI::App& app, int& exit) {
  auto o = std::make_shared<TuneVerbOptions>();
  add_common(app, o->common);
  app.add_option("problem", o->words, "Problems to tune, in quotes or not");
  app.add_option("--problems", o->file, "A file with one problem a line");
  app.add_option("--budget", o->budget, "Time for each problem: 10s, 2m")->capture_default_str();
  app.add_option("--trials", o->trials, "Trials for each problem, instead of a budget")
      ->check(CLI::PositiveNumber);
  app.add_option("--effort", o->effort, "How far to search")
      ->check(CLI::IsMember({"quick", "full"}))
      ->capture_default_str();
  std::vector<std::string> names;
  for (const schedules::Strategy* s : schedules::strategies()) names.emplace_back(s->name);
  app.add_option("--strategy", o->strategy, "How candidates are chosen")
      ->check(CLI::IsMember(names))
      ->capture_default_str();
  app.add_option("--seed", o->seed, "The search is a function of it and of the trials made")
      ->capture_default_str();
  app.add_option("--log", o->log, "A file for what is tried, one JSON object a line");
  app.add_flag("--again", o->again, "Search although the cache has a tuned record");
  app.callback([o, &exit] { exit = std::max(exit, tune_all(*o)); });
}

}  // namespace

const Verb kTuneVerb = {"tune", "Search the fastest schedule and keep it in the cache",
                        declare_tune};

}  // namespace hone::runtime
