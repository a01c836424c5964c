// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>
#include <iostream>

#include "bench/contender.h"
#include "bench/peer.h"
#include "bench/suites.h"
#include "runtime/check/fresh_data.h"
#include "runtime/cli/progress.h"
#include "runtime/cli/trial_run.h"
#include "runtime/kernel_check/kernel_call.h"
#include "runtime/machine/host.h"
#include "runtime/measure/bound.h"
#include "schedules/space/space.h"

namespace hone::bench {
namespace {

using runtime::Json;

constexpr double kSampleUs = 1000;

/// A figure of each problem: its geometric mean, and the problem where it is least.
class Shares {
 public:
  void add(double share, const std::string& problem) {
    logs_ += std::log(share);
    ++count_;
    if (count_ > 1 && share >= least_) return;
    least_ = share;
    where_ = problem;
  }
  int count() const { return count_; }
  std::string text(const std::string& of) const {
    return fmt::format("{:.1f}% of {} over {} problems, least {:.1f}%: {}\n",
                       100 * std::exp(logs_ / count_), of, count_, 100 * least_, where_);
  }

 private:
  double logs_ = 0;
  int count_ = 0;
  double least_ = 0;
  std::string where_;
};

/// Figures over all problems, for the last lines.
struct Summary {
  Shares untuned;   ///< of the limit
  Shares best;      ///< of the limit: tuned where that is known
  Shares compared;  ///< untuned, of tuned
};

/// One problem's contenders and the kernels that they run.
struct Entry {
  std::shared_ptr<const runtime::KernelState> kernel;
  std::unique_ptr<runtime::KernelCall> call;
  runtime::CheckOutcome check;
};

class Races {
 public:
  Races(const Options& options, std::shared_ptr<runtime::EngineState> engine)
      : options_(options), engine_(std::move(engine)), limits_(engine_->limits()) {}

  Result<Done> race_one(const std::string& text);
  void summarise() const;
  /// True if some kernel gave a wrong result.
  bool wrong() const { return wrong_; }

 private:
  Result<Entry> entry(const ops::Problem& problem, const std::string* schedule,
                      const runtime::Fixture& fixture);
  Result<Done> tune(const std::string& text);
  std::vector<Contender> line_up(const std::vector<Entry>& entries, const runtime::Fixture& fixture,
                                 const OperandSet& operands, runtime::FreshData* fresh);
  Result<Done> check_drawn(Entry* e, runtime::Fixture* fixture);
  Json kernel_row(const Contender& c, const Entry& e, const runtime::Speed& speed) const;
  Json peer_row(const ops::Problem& problem, const Contender& c, const runtime::Speed& speed) const;
  void show(const ops::Problem& problem, const std::vector<Contender>& contenders,
            const std::vector<Entry>& entries, const Rounds& rounds);

  const Options& options_;
  std::shared_ptr<runtime::EngineState> engine_;
  runtime::Limits limits_;
  Summary summary_;
  bool wrong_ = false;
};

/// True where a constant is said to come from memory.
bool packs_cold(const runtime::Fixture& fixture) {
  for (size_t p = 0; p < fixture.params().size(); ++p) {
    if (fixture.buffer(p).cold && fixture.buffer(p).constant) return true;
  }
  return false;
}

/// The kernel of a schedule, or of whatever the engine chooses.
Result<Entry> Races::entry(const ops::Problem& problem, const std::string* schedule,
                           const runtime::Fixture& fixture) {
  auto kernel = schedule ? engine_->compile_given(problem, *schedule)
                         : engine_->compile(problem, CompileOptions{});
  if (!kernel) return kernel.failure();
  auto call = runtime::KernelCall::create(*kernel, fixture);
  if (!call) return call.failure();
  return Entry{*kernel, std::move(*call), {}};
}

/// Kernels, the default's first, and then peers; `fresh` makes what each finds before each call.
std::vector<Contender> Races::line_up(const std::vector<Entry>& entries,
                                      const runtime::Fixture& fixture, const OperandSet& operands,
                                      runtime::FreshData* fresh) {
  const int64_t last_level = runtime::host_target().l3;
  std::vector<Contender> contenders;
  for (const Entry& e : entries) {
    contenders.push_back(
        {std::string(name_of(contenders.empty() ? Source::kDefault : Source::kTuned)),
         [this, &e](int64_t n) { wrong_ = !e.call->run(n) || wrong_; }, e.kernel->pool == nullptr});
    if (!fresh->needed()) continue;
    contenders.back().before = [fresh, packed = e.call->packed_of(fresh->cold())] {
      fresh->make(packed);
    };
  }
  const bool one_thread = engine_->target.threads == 1;
  for (const Peer* peer : options_.peers ? peers() : std::span<const Peer* const>()) {
    Prepared p = peer->prepare({{&operands, 1}, fixture});
    if (!p.run) continue;
    Contender& c = contenders.emplace_back(Contender{peer->name, std::move(p.run), one_thread});
    c.schedule_us = p.schedule_us;
    c.compile_us = p.compile_us;
    if (!fresh->needed()) continue;
    // What a peer has packed of a constant is its own.
    c.before = [fresh, all = packs_cold(fixture) ? last_level : 0] {
      fresh->make({});
      runtime::evict_all(all);
    };
  }
  return contenders;
}

Result<Done> Races::race_one(const std::string& text) {
  auto problem = engine_->parse(text);
  if (!problem) return problem.failure();
  if (options_.tuning.count() > 0) {
    if (auto f = tune(text); !f) return f.failure();
  }
  auto fixture =
      runtime::Fixture::create(*problem, runtime::timing_dims(problem->program),
                               jit::DataSet::kTimed, runtime::Guard::kFar, 1, runtime::kStagger);
  if (!fixture) return fixture.failure();
  fixture->reset();
  const std::string plain = schedules::default_schedule(problem->program, engine_->target).text();
  std::vector<Entry> entries;
  auto untuned = entry(*problem, &plain, *fixture);
  if (!untuned) return untuned.failure();
  entries.push_back(std::move(*untuned));
  auto chosen = entry(*problem, nullptr, *fixture);
  if (!chosen) return chosen.failure();
  if (chosen->kernel->source == Source::kTuned) entries.push_back(std::move(*chosen));
  for (Entry& e : entries) {
    auto check = runtime::check_kernel(e.kernel, *problem);
    if (!check) return check.failure();
    e.check = std::move(*check);
    wrong_ = wrong_ || !e.check.mismatch.empty();
  }

  runtime::FreshData fresh(*fixture, runtime::host_target().l3);
  const OperandSet operands(*fixture);
  std::vector<Contender> contenders = line_up(entries, *fixture, operands, &fresh);
  runtime::bound_of(problem->program, runtime::timing_dims(problem->program), &limits_);
  const Rounds rounds = race(contenders, options_.rounds, kSampleUs);
  limits_.again();
  if (fresh.draws()) {
    for (Entry& e : entries) {
      if (auto f = check_drawn(&e, &*fixture); !f) return f;
    }
  }
  show(*problem, contenders, entries, rounds);
  return Done{};
}

/// Checks a kernel on the last data that were drawn to time it on.
Result<Done> Races::check_drawn(Entry* e, runtime::Fixture* fixture) {
  fixture->reset();
  if (auto f = e->call->run(1); !f) return f;
  const auto found = fixture->compare_few();
  if (!found) return found.failure();
  if (found->ok()) return Done{};
  e->check.mismatch = found->text();
  wrong_ = true;
  return Done{};
}

/// Tunes unless the cache has the answer, and says which of the two it was.
Result<Done> Races::tune(const std::string& text) {
  TuneOptions options;
  options.budget = options_.tuning;
  runtime::ProgressLine line;
  if (!options_.common.json) {
    options.progress = [&](const TuneProgress& p) { line.show(p); };
  }
  const auto tuned = engine_->tune(engine_->parse(text), options);
  line.end();
  if (!tuned) return tuned.failure();
  if (!options_.common.json) {
    std::cout << (tuned->end == TuneEnd::kHit
                      ? fmt::format("{}: from the cache, nothing was measured\n", tuned->problem)
                      : fmt::format("{}: {} trials in {:.1f} s\n", tuned->problem, tuned->trials,
                                    tuned->seconds))
              << std::flush;
  }
  return Done{};
}

Json Races::kernel_row(const Contender& c, const Entry& e, const runtime::Speed& speed) const {
  Json row = runtime::run_json(*e.kernel, &e.check, &speed, engine_->target.threads);
  row["source"] = c.name;  // the default's schedule was given to the engine
  return row;
}

Json Races::peer_row(const ops::Problem& problem, const Contender& c,
                     const runtime::Speed& speed) const {
  Json row = {{"problem", problem.text},
              {"target", engine_->target_text},
              {"source", "peer"},
              {"peer", c.name}};
  row.update(runtime::speed_json(&speed));
  row["threads"] = engine_->target.threads;
  if (c.compile_us > 0) {
    row["schedule_us"] = c.schedule_us;
    row["compile_us"] = c.compile_us;
  }
  return row;
}

/// A line of the table, without the problem. A ratio that rests on few rounds is none.
std::string table_row(const Contender& c, const runtime::Speed& s, double ratio) {
  const std::string share =
      s.share.busy ? "busy" : fmt::format("{:.1f}% of {}", 100 * s.share.of_limit, s.bound);
  const std::string apart = c.compile_us > 0
                                ? fmt::format("  scheduled in {:.1f} ms, compiled in {:.1f} ms",
                                              c.schedule_us / 1e3, c.compile_us / 1e3)
                                : "";
  return fmt::format(
      "{:<9} {:>11.2f} us ({:.2f} to {:.2f}) {:>8.1f} GFLOP/s {:>7.1f} GB/s {:>14} {:>6}{}", c.name,
      s.time_us, s.low_us, s.high_us, s.gflops, s.gbps, share,
      ratio > 0 ? fmt::format("{:.2f}x", ratio) : "-", apart);
}

/// The problem whole, where it is timed, and the rounds.
std::string heading_of(const ops::Problem& problem, const std::string& at, const Rounds& rounds) {
  const bool several = runtime::timing_points(problem.program).size() > 1;
  return fmt::format("{}{}, {}\n", problem.text, several ? " (at " + at + ")" : "",
                     runtime::text_of_rounds(rounds.counted, rounds.noisy));
}

void Races::show(const ops::Problem& problem, const std::vector<Contender>& contenders,
                 const std::vector<Entry>& entries, const Rounds& rounds) {
  const std::vector<int64_t> dims = runtime::timing_dims(problem.program);
  for (size_t i = 0; i < contenders.size(); ++i) {
    const Contender& c = contenders[i];
    runtime::Speed speed = runtime::speed_of(problem, dims, c.spread(), &limits_);
    speed.rounds = rounds.counted;
    speed.noisy = rounds.noisy;
    const double ratio = ratio_of(c, contenders[0], rounds);
    if (options_.common.json) {
      Json row =
          i < entries.size() ? kernel_row(c, entries[i], speed) : peer_row(problem, c, speed);
      row["speedup"] = ratio > 0 ? Json(ratio) : Json();
      runtime::print_line(row);
    } else {
      if (i == 0) std::cout << heading_of(problem, speed.at, rounds);
      std::cout << "  " << table_row(c, speed, ratio) << "\n" << std::flush;
    }
    if (speed.share.of_limit <= 0) continue;
    if (i == 0) summary_.untuned.add(speed.share.of_limit, problem.text);
    if (i + 1 == entries.size()) summary_.best.add(speed.share.of_limit, problem.text);
  }
  for (const Entry& e : entries) {
    if (options_.common.json || e.check.mismatch.empty()) continue;
    std::cout << "  WRONG: " << e.check.mismatch << "\n  " << e.kernel->repro() << "\n";
  }
  const double gain = entries.size() > 1 ? ratio_of(contenders[1], contenders[0], rounds) : 0;
  if (gain > 0) summary_.compared.add(1 / gain, problem.text);
}

void Races::summarise() const {
  if (options_.common.json || summary_.best.count() == 0) return;
  std::cout << "geometric means\n  untuned: " << summary_.untuned.text("the limit")
            << "  chosen: " << summary_.best.text("the limit");
  if (summary_.compared.count() > 0) {
    std::cout << "  untuned: " << summary_.compared.text("tuned");
  }
}

}  // namespace

std::vector<std::string> suite_problems(const std::string& suite) {
  std::vector<std::string> all;
  if (suite == "square") {
    for (int n : {128, 256, 512, 1024}) all.push_back(fmt::format("matmul M={0} N={0} K={0}", n));
  }
  if (suite == "demo") {
    all = {"fc_gelu M=128 N=3072 K=768 const=W", "softmax M=64 N=1024"};
  }
  if (suite == "library" || suite == "all") {
    for (const ops::Case& c : ops::stock_library().cases) {
      if (!c.small) all.push_back(c.problem);
    }
  }
  if (suite == "outside" || suite == "all") {
    if (auto outside = ops::parse_library(outside_ops(), "bench/outside")) {
      for (const ops::Case& c : outside->cases) all.push_back(c.problem);
    }
  }
  return all;
}

int run_races(const Options& options) {
  auto engine = runtime::open_engine(options.common);
  if (!engine) return runtime::report(options.common, engine.failure());
  if (auto added = (*engine)->add_ops(outside_ops(), "bench/outside"); !added) {
    return runtime::report(options.common, added.failure());
  }
  if (options.peers && peers().empty()) {
    std::cerr << "hone bench: --peers: this build has none; OpenBLAS, oneDNN and Eigen are used "
                 "where they are found when hone is built\n";
  }
  Races races(options, *engine);
  int exit = 0;
  for (const std::string& text :
       options.problems.empty() ? suite_problems(options.suite) : options.problems) {
    auto done = races.race_one(text);
    if (!done) exit = std::max(exit, runtime::report(options.common, done.failure()));
  }
  races.summarise();
  return races.wrong() ? std::max<int>(exit, runtime::kExitMismatch) : exit;
}

}  // namespace hone::bench
