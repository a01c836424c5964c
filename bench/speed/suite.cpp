// SPDX-License-Identifier: Apache-2.0
#include "bench/speed/suite.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iostream>

#include "bench/speed/contest.h"
#include "bench/speed/picture.h"
#include "bench/speed/report.h"
#include "bench/speed/tuned.h"
#include "runtime/cli/progress.h"

namespace hone::bench {
namespace {

constexpr double kRowSampleUs = 1000;
/// Rounds of a row that take longer are few.
constexpr double kMostSeconds = 12;
/// What a peer's results may be off, as a share of the largest element: sums in another order,
/// functions by other polynomials.
constexpr double kPeerTolerance = 1e-4;

/// A peer that takes part in a row.
struct PeerEntry {
  const Peer* peer;
  Prepared prepared;
  double error = 0;
};

/// Measures the rows one after the other.
class SpeedSuite {
 public:
  SpeedSuite(const Options& options, runtime::EngineState& engine, TunedFolder tuned,
             TunedFolder saved)
      : options_(options),
        engine_(engine),
        limits_(engine.limits()),
        tuned_(std::move(tuned)),
        saved_(std::move(saved)) {}

  double gflops() { return limits_.gflops(false); }
  RowResult measure(const SpeedGroup& group, const SpeedCase& row);
  Result<Done> save() const { return options_.save_tuned.empty() ? Done{} : saved_.write(); }

 private:
  using Problems = std::vector<std::unique_ptr<SpeedProblem>>;

  Result<Done> measure(const std::string& group, RowResult* result);
  Result<std::unique_ptr<SpeedProblem>> prepare(const std::string& group, const SpeedCase& row,
                                                const std::string& text);
  Result<std::optional<TunedSchedule>> tuned(const std::string& group, const ops::Problem& problem);
  Result<Done> tune(const ops::Problem& problem);
  std::vector<PeerEntry> invite(const SpeedCase& row, SpeedProblem* problem);
  void add_own(const Problems& problems, const std::vector<Contender>& contenders,
               RowResult* result);
  RowEntry entry_of(const SpeedProblem& problem, const Contender& c);

  const Options& options_;
  runtime::EngineState& engine_;
  runtime::Limits limits_;
  TunedFolder tuned_, saved_;
};

/// Tunes unless the cache has the answer.
Result<Done> SpeedSuite::tune(const ops::Problem& problem) {
  TuneOptions options;
  options.budget = options_.tuning;
  runtime::ProgressLine line;
  if (!options_.common.json) {
    options.progress = [&](const TuneProgress& p) { line.show(p); };
  }
  const auto tuned = engine_.tune(engine_.parse(problem.text), options);
  line.end();
  if (!tuned) return tuned.failure();
  return Done{};
}

/// From the folder, else by tuning where that is asked for, else from the cache.
Result<std::optional<TunedSchedule>> SpeedSuite::tuned(const std::string& group,
                                                       const ops::Problem& problem) {
  const runtime::Key key = engine_.key_of(problem.text);
  std::optional<runtime::Record> record = tuned_.find(key);
  std::string from = tuned_.path();
  if (!record) {
    if (options_.tuning.count() > 0) {
      if (auto f = tune(problem); !f) return f.failure();
    }
    record = engine_.cache->best(key);
    from = options_.tuning.count() > 0 ? "tuned now" : "cache";
  }
  if (!record) return std::optional<TunedSchedule>();
  if (!options_.save_tuned.empty()) saved_.put(group, *record);
  return std::optional(TunedSchedule{record->schedule, from});
}

Result<std::unique_ptr<SpeedProblem>> SpeedSuite::prepare(const std::string& group,
                                                          const SpeedCase& row,
                                                          const std::string& text) {
  auto problem = engine_.parse(text);
  if (!problem) return problem.failure();
  auto schedule = tuned(group, *problem);
  if (!schedule) return schedule.failure();
  auto made = SpeedProblem::create(engine_, *std::move(problem), row.operands,
                                   *schedule ? &**schedule : nullptr);
  if (!made) return made.failure();
  if (auto f = (*made)->check(); !f) return f.failure();
  return made;
}

/// The peers that solve the row, each compared with what hone's kernels have found.
std::vector<PeerEntry> SpeedSuite::invite(const SpeedCase& row, SpeedProblem* problem) {
  std::vector<PeerEntry> all;
  for (const Peer* peer : options_.peers ? peers() : std::span<const Peer* const>()) {
    Prepared p = peer->prepare({problem->sets(), problem->first(), row.free_layout});
    if (!p.run) continue;
    problem->reset();
    // Whichever set it began with, the first is solved when all are.
    p.run(static_cast<int64_t>(problem->sets().size()));
    if (p.deliver) p.deliver();
    const double error = problem->apart();
    all.push_back({peer, std::move(p), error});
  }
  return all;
}

RowEntry SpeedSuite::entry_of(const SpeedProblem& problem, const Contender& c) {
  RowEntry e;
  e.name = c.name;
  e.problem = problem.problem().text;
  e.time_us = c.spread();
  const double us = e.time_us.median;
  e.of_limit = us > 0 ? problem.bound(&limits_).time_us / us : 0;
  e.gflops = problem.work().operations / us * 1e-3;
  e.gbps = problem.work().bytes() / us * 1e-3;
  return e;
}

/// Of default and tuned the fastest over the problems of the row.
void SpeedSuite::add_own(const Problems& problems, const std::vector<Contender>& contenders,
                         RowResult* result) {
  for (const char* name : {"default", "tuned"}) {
    std::optional<RowEntry> best;
    size_t next = 0;
    for (const auto& problem : problems) {
      for (const auto& k : problem->kernels()) {
        const Contender& c = contenders[next++];
        if (k->name != name) continue;
        RowEntry e = entry_of(*problem, c);
        e.kernel = k->kernel->schedule;
        e.from = k->from;
        e.error = k->error;
        e.tolerance = 1;
        e.wrong = k->wrong;
        // A wrong one is told of, however fast or slow it is.
        const bool told = best && !best->wrong.empty();
        const bool worse = !e.wrong.empty() || !best || e.time_us.median < best->time_us.median;
        if (!told && worse) best = std::move(e);
      }
    }
    if (best) result->entries.push_back(*std::move(best));
  }
}

Result<Done> SpeedSuite::measure(const std::string& group, RowResult* result) {
  const SpeedCase& row = result->row;
  Problems problems;
  for (const std::string& text : row.problems) {
    auto problem = prepare(group, row, text);
    if (!problem) return problem.failure();
    problems.push_back(*std::move(problem));
  }
  std::vector<PeerEntry> invited = invite(row, problems[0].get());
  std::vector<Contender> contenders;
  for (const auto& problem : problems) {
    for (Contender& c : problem->contenders()) contenders.push_back(std::move(c));
    problem->bound(&limits_);  // measures the rates before the race, and after it again
  }
  const size_t own = contenders.size();
  for (PeerEntry& e : invited) {
    contenders.push_back(
        {e.peer->name, std::move(e.prepared.run), engine_.target.threads == 1, {}});
  }
  const Rounds rounds = race(contenders, options_.rounds, kRowSampleUs, kMostSeconds);
  limits_.again();
  result->rounds = rounds.counted;
  result->noisy = rounds.noisy;
  result->sets = static_cast<int>(problems[0]->sets().size());
  const runtime::TimeBound bound = problems[0]->bound(&limits_);
  result->limit_us = bound.time_us;
  result->bound = bound.flops_bind ? "flops" : "bytes";
  add_own(problems, contenders, result);
  for (size_t i = own; i < contenders.size(); ++i) {
    const PeerEntry& peer = invited[i - own];
    RowEntry e = entry_of(*problems[0], contenders[i]);
    e.kernel = peer.prepared.kernel;
    e.error = peer.error;
    e.tolerance = kPeerTolerance;
    if (!(e.error <= e.tolerance)) {
      e.wrong = fmt::format("{:.1e} of the largest element apart, {:.0e} is accepted", e.error,
                            e.tolerance);
    }
    result->entries.push_back(std::move(e));
  }
  return Done{};
}

RowResult SpeedSuite::measure(const SpeedGroup& group, const SpeedCase& row) {
  RowResult result;
  result.row = row;
  if (const auto done = measure(group.name, &result); !done) {
    result.failure = done.failure().message;
    result.entries.clear();
  }
  return result;
}

SpeedMachine machine_of(const Options& options, const runtime::EngineState& engine) {
  SpeedMachine machine;
  machine.target = engine.target_text;
  machine.threads = engine.target.threads;
  if (!options.peers) return machine;
  for (const Peer* peer : peers()) machine.peers.emplace_back(peer->name, peer->about());
  for (const char* name : absent_peers()) machine.absent.emplace_back(name);
  return machine;
}

/// The rows that were measured, for the picture.
PictureText picture_of(const SpeedMachine& machine, const std::vector<GroupResult>& groups) {
  PictureText text;
  text.title = "Share of the bound";
  text.subtitle =
      fmt::format("{} thread{}, {:.0f} GFLOP/s of f32 multiply-adds; figures are hone's",
                  machine.threads, machine.threads == 1 ? "" : "s", machine.gflops);
  text.contenders = contenders_of(groups);
  for (const GroupResult& group : groups) {
    PictureGroup g{group.group.name, {}};
    for (const RowResult& row : group.rows) {
      if (!row.failure.empty()) continue;
      PictureRow r{row.row.name, goal_share(row, machine.gflops), {}};
      for (const std::string& name : text.contenders) {
        if (const RowEntry* e = row.find(name)) r.bars.push_back({name, e->of_limit});
      }
      g.rows.push_back(std::move(r));
    }
    if (!g.rows.empty()) text.groups.push_back(std::move(g));
  }
  return text;
}

Result<Done> write_picture(const std::string& path, const PictureText& text) {
  std::ofstream out(path, std::ios::binary);
  out << svg_of(text);
  out.close();
  if (out) return Done{};
  return Failure{ErrorCode::kCache, path + " cannot be written"};
}

/// The groups and rows that the options name.
Result<std::vector<SpeedGroup>> rows_of(const Options& options) {
  auto all = parse_speed_rows(speed_rows(), "rows.txt");
  if (!all) return all.failure();
  auto chosen = chosen_rows(*std::move(all), options.groups, options.cases);
  if (!chosen.empty()) return chosen;
  return Failure{ErrorCode::kNotFound,
                 "no row of the speed suite has such a name; `hone bench --suite speed --list` "
                 "prints them, and `*` stands for anything"};
}

void list(const Options& options, const std::vector<SpeedGroup>& groups) {
  for (const SpeedGroup& group : groups) {
    if (!options.common.json) std::cout << group.name << "\n";
    for (const SpeedCase& row : group.rows) {
      if (options.common.json) {
        runtime::print_line({{"group", group.name},
                             {"row", row.name},
                             {"problems", row.problems},
                             {"operands", row.operands.text()},
                             {"goal", row.goal.text()}});
      } else {
        std::cout << fmt::format("  {}: {}\n", row.name, fmt::join(row.problems, " || "));
      }
    }
  }
}

/// Measures and tells of everything that was chosen.
Result<std::vector<GroupResult>> measure_all(const Options& options, std::vector<SpeedGroup> groups,
                                             runtime::EngineState& engine, SpeedMachine* machine) {
  auto tuned = TunedFolder::read(options.tuned == "none" ? "" : options.tuned);
  if (!tuned) return tuned.failure();
  auto saved = TunedFolder::read(options.save_tuned);
  if (!saved) return saved.failure();
  SpeedSuite suite(options, engine, *std::move(tuned), *std::move(saved));
  machine->gflops = suite.gflops();
  const SpeedReport report(*machine, options.common.json);
  report.begin();
  std::vector<GroupResult> results;
  for (SpeedGroup& group : groups) {
    GroupResult& result = results.emplace_back();
    result.group = std::move(group);
    report.begin_group(result.group);
    for (const SpeedCase& row : result.group.rows) {
      result.rows.push_back(suite.measure(result.group, row));
      report.row(result.group.name, result.rows.back());
      if (auto f = suite.save(); !f) return f.failure();
    }
    report.end_group(result);
  }
  report.end(results);
  return results;
}

/// What the results ask for: something failed, something is wrong, or all is well.
int exit_of(const std::vector<GroupResult>& groups) {
  int exit = runtime::kExitOk;
  for (const GroupResult& group : groups) {
    for (const RowResult& row : group.rows) {
      if (!row.failure.empty()) exit = std::max<int>(exit, runtime::kExitUserError);
      for (const RowEntry& e : row.entries) {
        if (!e.wrong.empty()) exit = std::max<int>(exit, runtime::kExitMismatch);
      }
    }
  }
  return exit;
}

}  // namespace

int run_speed(const Options& options) {
  auto groups = rows_of(options);
  if (!groups) return runtime::report(options.common, groups.failure());
  if (options.list) {
    list(options, *groups);
    return runtime::kExitOk;
  }
  auto engine = runtime::open_engine(options.common);
  if (!engine) return runtime::report(options.common, engine.failure());
  if (auto added = (*engine)->add_ops(speed_ops(), "speed/ops.hone"); !added) {
    return runtime::report(options.common, added.failure());
  }
  SpeedMachine machine = machine_of(options, **engine);
  const auto results = measure_all(options, *std::move(groups), **engine, &machine);
  if (!results) return runtime::report(options.common, results.failure());
  if (!options.svg.empty()) {
    const auto written = write_picture(options.svg, picture_of(machine, *results));
    if (!written) return runtime::report(options.common, written.failure());
  }
  return exit_of(*results);
}

}  // namespace hone::bench
