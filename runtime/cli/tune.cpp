// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <signal.h>

#include <atomic>
#include <iostream>
#include <map>
#include <sstream>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>

#include "runtime/cli/common.h"
#include "runtime/cli/model_run.h"
#include "runtime/cli/progress.h"
#include "runtime/cli/terminal.h"
#include "runtime/cli/trial_run.h"
#include "runtime/cli/trials.h"
#include "schedules/search/search.h"

namespace hone::runtime {
namespace {

struct TuneVerbOptions {
  Common common;
  std::vector<std::string> words;
  std::vector<std::string> dims;  ///< of --dim
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

/// Null stands for what was not measured.
Json json_of(const TuneResult& r) {
  const auto positive = [](double value) { return value > 0 ? Json(value) : Json(); };
  Json row = {{"problem", r.problem},
              {"target", r.target},
              {"schedule", r.schedule},
              {"source", "tuned"},
              {"end", name_of(r.end)},
              {"time_us", r.time_us},
              {"time_low_us", positive(r.time_low_us)},
              {"time_high_us", positive(r.time_high_us)},
              {"default_us", positive(r.default_us)},
              {"default_low_us", positive(r.default_low_us)},
              {"default_high_us", positive(r.default_high_us)},
              {"speedup", positive(r.speedup)},
              {"rounds", r.rounds},
              {"noisy_rounds", r.noisy_rounds},
              {"limit_us", positive(r.limit_us)},
              {"of_limit", positive(r.of_limit)},
              {"busy", r.busy},
              {"expected_gain", r.end == TuneEnd::kHit ? Json() : Json(r.expected_gain)},
              {"numerics", r.numerics},
              {"trials", r.trials},
              {"measured", r.measured},
              {"rejected", r.rejected},
              {"failed", r.failed},
              {"seconds", r.seconds}};
  for (const TunePoint& p : r.points) {
    row["points"].push_back({{"at", p.at},
                             {"time_us", p.time_us},
                             {"limit_us", positive(p.limit_us)},
                             {"of_limit", positive(p.of_limit)}});
  }
  return row;
}

/// How the winner stands to the untuned schedule, and how much that is worth.
std::string text_of_default(const TuneResult& r) {
  if (r.default_us <= 0) return "untuned it was not measured";
  if (r.rounds == 0 && r.default_us == r.time_us) return "the same schedule";
  if (r.rounds == 0) return fmt::format("{:.3f} us untuned, not measured in turns", r.default_us);
  std::string text = text_of_time(r.default_us, r.default_low_us, r.default_high_us) + " untuned";
  text += r.speedup > 0 ? fmt::format(": {:.2f}x", r.speedup) : ": too few rounds for a ratio";
  return text + "; " + text_of_rounds(r.rounds, r.noisy_rounds);
}

void print_text_tune(const TuneResult& r) {
  std::cout << r.problem << "\n  schedule  " << schedule_lines(r.schedule) << "\n";
  const std::string time = text_of_time(r.time_us, r.time_low_us, r.time_high_us);
  if (r.end == TuneEnd::kHit) {
    std::cout << fmt::format("  time      {}, from the cache: nothing was measured\n", time);
    return;
  }
  std::cout << fmt::format("  time      {} tuned\n  default   {}\n", time, text_of_default(r));
  const Share share{r.of_limit, r.busy};
  std::cout << (r.limit_us > 0
                    ? fmt::format("  limit     allows {:.3f} us: {}\n", r.limit_us, text_of(share))
                    : "  limit     unknown\n");
  for (const TunePoint& p : r.points) {
    std::cout << fmt::format("  at {:<6} {:.3f} us, the limit allows {:.3f} us: {}\n", p.at,
                             p.time_us, p.limit_us, text_of(share_of(p.limit_us, p.time_us)));
  }
  std::cout << fmt::format(
      "  search    {} trials in {:.1f} s ({:.0f} a second), {} refused, {} failed\n"
      "  end       {}; as much again should gain {:.1f}%\n",
      r.trials, r.seconds, static_cast<double>(r.trials) / r.seconds, r.rejected, r.failed,
      name_of(r.end), 100 * r.expected_gain);
}

Result<std::vector<ReproLine>> problems_of(const TuneVerbOptions& o) {
  std::vector<std::string> texts = lines_of(o.words);
  if (!o.file.empty()) {
    auto text = read_file(o.file);
    if (!text) return text.failure();
    std::istringstream lines(*text);
    for (std::string line; std::getline(lines, line);) {
      if (const size_t hash = line.find('#'); hash != line.npos) line.resize(hash);
      if (line.find_first_not_of(" \t") != line.npos) texts.push_back(line);
    }
  }
  if (texts.empty()) {
    return Failure{ErrorCode::kArgument, "name a problem, or a file of problems with --problems"};
  }
  std::vector<ReproLine> all;
  for (const std::string& text : texts) {
    auto line = parse_line(text);
    if (!line) return line.failure();
    if (line->scheduled) {
      return Failure{
          ErrorCode::kArgument,
          fmt::format("hone tune searches the schedule; `{}` gives one: accepted here is "
                      "PROBLEM [ | TARGET ]",
                      text)};
    }
    all.push_back(*std::move(line));
  }
  return all;
}

/// An engine for each target that lines name.
class Engines {
 public:
  explicit Engines(const Common& common) : common_(common) {}
  Result<std::shared_ptr<EngineState>> of(const std::string& target) {
    const auto known = open_.find(target);
    if (known != open_.end()) return known->second;
    auto engine = open_engine(common_, target);
    if (engine) open_.emplace(target, *engine);
    return engine;
  }

 private:
  const Common& common_;
  std::map<std::string, std::shared_ptr<EngineState>> open_;
};

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

/// A graph is tuned as a whole: the budget is of all its kernels.
int tune_whole(const TuneVerbOptions& o) {
  auto options = options_of(o);
  if (!options) return report(o.common, options.failure());
  if (o.trials > 0 || !o.log.empty() || !o.file.empty()) {
    return report(o.common, Failure{ErrorCode::kArgument,
                                    "of a graph --trials, --log and --problems are not accepted; "
                                    "--budget is of all its kernels"});
  }
  StopOnSignal stop;
  options->stop = stop.token();
  return tune_graph(o.common, {.words = o.words}, *options);
}

int tune_all(const TuneVerbOptions& o) {
  if (names_graph(o.words)) return tune_whole(o);
  auto problems = problems_of(o);
  if (!problems) return report(o.common, problems.failure());
  auto options = options_of(o);
  if (!options) return report(o.common, options.failure());
  Engines engines(o.common);
  for (const ReproLine& line : *problems) {
    const auto engine = engines.of(line.target);
    if (!engine) return report(o.common, engine.failure());
  }
  TrialLog log;
  if (auto f = log.open(o.log); !f) return report(o.common, f.failure());
  StopOnSignal stop;
  options->stop = stop.token();
  ProgressLine progress;
  if (!o.common.json) options->progress = [&](const TuneProgress& p) { progress.show(p); };
  int exit = kExitOk;
  for (const ReproLine& line : *problems) {
    options->trial = [&](const TuneTrial& t) { log.add(line.problem, t); };
    const std::shared_ptr<EngineState> engine = *engines.of(line.target);
    auto result = engine->tune(engine->parse(line.problem), *options);
    progress.end();
    if (!result) {
      exit = std::max(exit, report(o.common, result.failure()));
    } else if (o.common.json) {
      print_line(json_of(*result));
    } else {
      print_text_tune(*result);
    }
    if (stop.token().stop_requested()) break;
  }
  const auto written = log.close();
  if (!written) exit = std::max(exit, report(o.common, written.failure()));
  return exit;
}

constexpr const char* kTuneFigures =
    "The search uses its budget unless it reaches 97% of the machine's limit: when what the rules "
    "derive no longer improves it varies the steps of the fastest, and measures what the cost "
    "model "
    "finds cheapest. `end` says why it ended: limit, budget, trials, stopped, or exhausted where "
    "nothing new was left. What as much again should gain (expected_gain) is the share of the "
    "winner's time that the last half of the trials saved, and no more than the limit leaves. "
    "Winner and untuned schedule are then measured in turns: medians "
    "with the middle half of the rounds, and "
    "a ratio where enough rounds were quiet. At several points (`at`) time and share of the limit "
    "are geometric means over the points, which are told one by one.";

void declare_tune(CLI::App& app, int& exit) {
  app.footer(kTuneFigures);
  auto o = std::make_shared<TuneVerbOptions>();
  add_common(app, o->common);
  app.add_option("problem", o->words,
                 "PROBLEM [ | TARGET], any number, in quotes or not; or a graph's file and dims");
  app.add_option("--problems", o->file, "A file with one PROBLEM [ | TARGET] a line");
  app.add_option("--budget", o->budget, "Time for each problem, or for a graph: 10s, 2m")
      ->capture_default_str();
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
  add_dims(app, o->dims);
  app.callback([o, &exit] {
    auto words = with_dims(o->words, o->dims);
    if (words) o->words = *std::move(words);
    exit = std::max(exit, words ? tune_all(*o) : report(o->common, words.failure()));
  });
}

}  // namespace

const Verb kTuneVerb = {"tune", "Search the fastest schedule and keep it in the cache",
                        declare_tune};

}  // namespace hone::runtime
