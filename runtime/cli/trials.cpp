// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/trials.h"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <map>

#include "runtime/cli/step_changes.h"
#include "runtime/cli/terminal.h"
#include "schedules/space/space.h"

namespace hone::runtime {
namespace {

/// Measured ones first, by time; then those given up as slow, refused, and the rest.
int rank_of(const Trial& t) {
  return t.verdict == kVerdictOk ? 0 : t.verdict == "slow" ? 1 : t.verdict == "refused" ? 2 : 3;
}

/// A trial's note without the point of the search, which is for who goes on with the run.
std::string reason_of(const Trial& t) {
  if (!t.note.starts_with("point=")) return t.note;
  const size_t end = t.note.find(' ');
  return end == t.note.npos ? "" : t.note.substr(end + 1);
}

/// How a trial differs from the schedule that is taken untuned.
class Difference {
 public:
  Difference(const ops::Problem& problem, const ir::Target& target)
      : default_(schedules::default_schedule(problem.program, target)) {}

  std::string of(const Trial& t) const {
    const auto steps = schedules::Schedule::parse(t.schedule);
    if (!steps) return "steps that this version does not know";
    const std::string changes = step_changes(default_, *steps);
    return changes.empty() ? "the default" : changes;
  }

 private:
  schedules::Schedule default_;
};

void print_text(const ops::Problem& problem, const std::string& target,
                const std::vector<Trial>& trials, const Difference& difference) {
  std::map<std::string, int> counts;
  for (const Trial& t : trials) ++counts[t.verdict];
  std::string sums;
  for (const auto& [verdict, n] : counts) sums += fmt::format(", {} {}", n, verdict);
  const size_t width = line_width();
  std::cout << fitted(problem.text, width) << "\n" << fitted("  " + target, width) << "\n";
  std::cout << fmt::format("  {} tried{}; against the default:\n", trials.size(), sums);
  for (const Trial& t : trials) {
    const std::string time = t.median_us > 0 ? fmt::format("{:.3f} us", t.median_us) : "";
    const std::string why = reason_of(t);
    const std::string line = fmt::format("{:>15}  {:<8} {}{}{}", time, t.verdict, difference.of(t),
                                         why.empty() ? "" : ": ", why);
    std::cout << fitted(line, width) << "\n";
  }
}

}  // namespace

int list_trials(const Common& common, const std::vector<std::string>& words) {
  const auto line = only_line(words, "cache trials");
  if (!line) return report(common, line.failure());
  auto engine = open_engine(common, line->target);
  if (!engine) return report(common, engine.failure());
  const auto problem = (*engine)->parse(line->problem);
  if (!problem) return report(common, problem.failure());
  std::vector<Trial> trials = (*engine)->cache->trials((*engine)->key_of(problem->text));
  std::stable_sort(trials.begin(), trials.end(), [](const Trial& a, const Trial& b) {
    return std::pair(rank_of(a), a.median_us) < std::pair(rank_of(b), b.median_us);
  });
  const Difference difference(*problem, (*engine)->target);
  if (common.json) {
    for (const Trial& t : trials) {
      print_line({{"problem", t.key.problem},
                  {"target", t.key.target},
                  {"run", t.run},
                  {"number", t.number},
                  {"schedule", t.schedule},
                  {"verdict", t.verdict},
                  {"median_us", t.median_us},
                  {"differs", difference.of(t)},
                  {"note", reason_of(t)}});
    }
  } else if (trials.empty()) {
    std::cout << fmt::format("nothing was tried for {} on {}; `hone tune` does\n", problem->text,
                             (*engine)->target_text);
  } else {
    print_text(*problem, (*engine)->target_text, trials, difference);
  }
  return kExitOk;
}

Result<Done> TrialLog::open(const std::string& path) {
  path_ = path;
  if (path.empty()) return Done{};
  file_.open(path, std::ios::binary);
  if (file_) return Done{};
  return Failure{ErrorCode::kArgument, fmt::format("--log: {} cannot be written", path)};
}

void TrialLog::add(const std::string& problem, const TuneTrial& trial) {
  if (path_.empty()) return;
  // Each at once: what is killed has told all until then.
  file_ << line_of({{"problem", problem},
                    {"number", trial.number},
                    {"schedule", trial.schedule},
                    {"verdict", trial.verdict},
                    {"time_us", trial.time_us},
                    {"elapsed_s", trial.elapsed},
                    {"note", trial.note}})
        << std::endl;
}

Result<Done> TrialLog::close() {
  if (path_.empty()) return Done{};
  file_.close();
  if (file_) return Done{};
  return Failure{ErrorCode::kArgument, fmt::format("--log: not all of {} could be written", path_)};
}

}  // namespace hone::runtime
