// SPDX-License-Identifier: Apache-2.0
#include "bench/speed/report.h"

#include <fmt/format.h>

#include <iostream>

#include "bench/contender.h"
#include "runtime/cli/common.h"
#include "runtime/cli/trial_run.h"

namespace hone::bench {
namespace {

using runtime::Json;

Json json_of(Met met) { return met == Met::kUnknown ? Json() : Json(met == Met::kYes); }

const char* text_of(Met met) {
  if (met == Met::kUnknown) return "not known";
  return met == Met::kYes ? "met" : "missed";
}

std::string percent(double share) {
  return share > 0 ? fmt::format("{:.1f}%", 100 * share) : std::string("-");
}

/// Microseconds, with as many digits as clocks are worth.
std::string microseconds_text(double us) {
  const int digits = us < 1 ? 4 : us < 100 ? 2 : us < 1000 ? 1 : 0;
  return fmt::format("{:.{}f}", us, digits);
}

/// What a contender of a row is told of.
std::string cell_of(const RowEntry& e) {
  std::string text =
      fmt::format("{} {} {} us", e.name, percent(e.of_limit), microseconds_text(e.time_us.median));
  // Of hone's own the JSON has schedules, which are long.
  const bool peer = e.name != "default" && e.name != "tuned";
  if (peer && !e.kernel.empty()) text += " " + e.kernel;
  return text;
}

}  // namespace

void SpeedReport::begin() const {
  if (json_) {
    Json peers = Json::object();
    for (const auto& [name, about] : machine_.peers) peers[name] = about;
    runtime::print_line({{"suite", "speed"},
                         {"target", machine_.target},
                         {"threads", machine_.threads},
                         {"f32_gflops", machine_.gflops},
                         {"peers", peers},
                         {"not_found", machine_.absent}});
    return;
  }
  std::cout << fmt::format("{}\n{} thread{}, {:.0f} GFLOP/s of f32 multiply-adds\n",
                           machine_.target, machine_.threads, machine_.threads == 1 ? "" : "s",
                           machine_.gflops);
  for (const auto& [name, about] : machine_.peers) std::cout << name << ": " << about << "\n";
  if (!machine_.absent.empty()) {
    std::cout << fmt::format("not found: {}\n", fmt::join(machine_.absent, ", "));
  }
  std::cout << std::flush;
}

void SpeedReport::begin_group(const SpeedGroup& group) const {
  if (!json_) std::cout << "\n" << group.name << "\n" << std::flush;
}

void SpeedReport::row(const std::string& group, const RowResult& row) const {
  if (json_) {
    row_json(group, row);
  } else {
    row_text(row);
  }
}

void SpeedReport::row_json(const std::string& group, const RowResult& row) const {
  if (!row.failure.empty()) {
    runtime::print_line({{"group", group}, {"row", row.row.name}, {"failure", row.failure}});
  }
  for (const RowEntry& e : row.entries) {
    const bool own = &e == row.own();
    Json line = {{"group", group},
                 {"row", row.row.name},
                 {"problem", e.problem},
                 {"operands", row.row.operands.text()},
                 {"sets", row.sets},
                 {"contender", e.name},
                 {"kernel", e.kernel},
                 {"from", e.from.empty() ? Json() : Json(e.from)},
                 {"time_us", e.time_us.median},
                 {"time_low_us", e.time_us.low},
                 {"time_high_us", e.time_us.high},
                 {"rounds", row.rounds},
                 {"noisy_rounds", row.noisy},
                 {"gflops", e.gflops},
                 {"gbps", e.gbps},
                 {"limit_us", row.limit_us},
                 {"bound", row.bound},
                 {"of_limit", e.of_limit > 0 ? Json(e.of_limit) : Json()},
                 {"goal", row.row.goal.text()},
                 {"goal_met", own ? json_of(goal_met(row, machine_.gflops)) : Json()},
                 {"error", e.error},
                 {"tolerance", e.tolerance}};
    if (!e.wrong.empty()) line["wrong"] = e.wrong;
    runtime::print_line(line);
  }
}

void SpeedReport::row_text(const RowResult& row) const {
  std::string text = fmt::format("  {:<30}", row.row.name);
  if (!row.failure.empty()) {
    std::cout << text << " " << row.failure << "\n" << std::flush;
    return;
  }
  const RowEntry& own = *row.own();
  const runtime::Spread& t = own.time_us;
  text += fmt::format(" {:>9} us ({} to {})", microseconds_text(t.median), microseconds_text(t.low),
                      microseconds_text(t.high));
  // Where each byte is used a few times, operations say more.
  text += own.gflops > own.gbps ? fmt::format(" {:>6.1f} GFLOP/s", own.gflops)
                                : fmt::format(" {:>6.1f} GB/s   ", own.gbps);
  for (const RowEntry& e : row.entries) text += " | " + cell_of(e);
  if (!row.row.goal.none()) {
    text +=
        fmt::format(" | goal {}: {}", row.row.goal.text(), text_of(goal_met(row, machine_.gflops)));
  }
  if (row.rounds < kFewRounds) {
    text += " | " + runtime::text_of_rounds(row.rounds, row.noisy);
  }
  std::cout << text << "\n";
  for (const RowEntry& e : row.entries) {
    if (!e.wrong.empty()) std::cout << fmt::format("    WRONG: {}: {}\n", e.name, e.wrong);
  }
  std::cout << std::flush;
}

void SpeedReport::end_group(const GroupResult& group) const {
  if (json_) {
    group_json(group);
  } else {
    group_text(group);
  }
}

void SpeedReport::group_json(const GroupResult& group) const {
  Json means = Json::object(), totals = Json::object();
  for (const std::string& name : contenders_of({group})) {
    int rows = 0;
    const double mean = group.mean(name, &rows);
    if (rows > 0) means[name] = {{"of_limit", mean}, {"rows", rows}};
  }
  Json line = {{"group", group.group.name}, {"means", means}};
  const std::string& peer = group.group.total_under;
  if (!peer.empty() && group.total(peer, peer) > 0) {
    line["total_us"] = {{"hone", group.total("", peer)}, {peer, group.total(peer, peer)}};
    line["total_met"] = json_of(group.total_met());
  }
  if (group.group.mean > 0) {
    line["mean_goal"] = group.group.mean;
    line["mean_met"] = json_of(group.mean_met());
  }
  runtime::print_line(line);
}

void SpeedReport::group_text(const GroupResult& group) const {
  std::vector<std::string> means;
  for (const std::string& name : contenders_of({group})) {
    int rows = 0;
    const double mean = group.mean(name, &rows);
    if (rows > 0) {
      means.push_back(
          fmt::format("{} {} of {} row{}", name, percent(mean), rows, rows == 1 ? "" : "s"));
    }
  }
  std::string text = fmt::format("  geometric means: {}", fmt::join(means, ", "));
  if (group.group.mean > 0) {
    text += fmt::format("; goal {:g}%: {}", 100 * group.group.mean, text_of(group.mean_met()));
  }
  const std::string& peer = group.group.total_under;
  if (!peer.empty() && group.total(peer, peer) > 0) {
    text += fmt::format("; {:.0f} us together, {} {:.0f}: {}", group.total("", peer), peer,
                        group.total(peer, peer), text_of(group.total_met()));
  }
  std::cout << text << "\n" << std::flush;
}

void SpeedReport::end(const std::vector<GroupResult>& groups) const {
  int met = 0, missed = 0, wrong = 0;
  const auto count = [&](Met m) {
    met += m == Met::kYes;
    missed += m == Met::kNo;
  };
  for (const GroupResult& group : groups) {
    for (const RowResult& row : group.rows) {
      count(goal_met(row, machine_.gflops));
      for (const RowEntry& e : row.entries) wrong += !e.wrong.empty();
    }
    count(group.mean_met());
    count(group.total_met());
  }
  if (json_) {
    runtime::print_line({{"goals_met", met}, {"goals_missed", missed}, {"wrong", wrong}});
  } else {
    std::cout << fmt::format("\n{} goals met, {} missed, {} contenders wrong\n", met, missed,
                             wrong);
  }
}

}  // namespace hone::bench
