// SPDX-License-Identifier: Apache-2.0
#include "bench/speed/results.h"

#include <algorithm>
#include <cmath>

namespace hone::bench {
namespace {

Met met(bool yes) { return yes ? Met::kYes : Met::kNo; }

/// Geometric mean of the shares of what `entry_of` finds in each row.
template <class F>
double mean_of(const std::vector<RowResult>& rows, F&& entry_of, int* count) {
  double logs = 0;
  int n = 0;
  for (const RowResult& row : rows) {
    const RowEntry* e = entry_of(row);
    if (!e || e->of_limit <= 0) continue;
    logs += std::log(e->of_limit);
    ++n;
  }
  if (count) *count = n;
  return n > 0 ? std::exp(logs / n) : 0;
}

}  // namespace

const RowEntry* RowResult::find(std::string_view name) const {
  const auto found = std::find_if(entries.begin(), entries.end(),
                                  [&](const RowEntry& e) { return e.name == name; });
  return found == entries.end() ? nullptr : &*found;
}

const RowEntry* RowResult::own() const {
  const RowEntry* tuned = find("tuned");
  return tuned ? tuned : find("default");
}

double GroupResult::mean(std::string_view name, int* count) const {
  return mean_of(
      rows, [&](const RowResult& row) { return row.find(name); }, count);
}

double GroupResult::own_mean() const {
  return mean_of(
      rows, [](const RowResult& row) { return row.own(); }, nullptr);
}

double GroupResult::total(std::string_view name, std::string_view beside) const {
  double us = 0;
  for (const RowResult& row : rows) {
    const RowEntry* e = name.empty() ? row.own() : row.find(name);
    if (e && row.find(beside)) us += e->time_us.median;
  }
  return us;
}

Met GroupResult::mean_met() const {
  const double reached = own_mean();
  if (group.mean <= 0 || reached <= 0) return Met::kUnknown;
  return met(reached >= group.mean);
}

Met GroupResult::total_met() const {
  const double theirs = total(group.total_under, group.total_under);
  if (group.total_under.empty() || theirs <= 0) return Met::kUnknown;
  return met(total("", group.total_under) < theirs);
}

Met goal_met(const RowResult& row, double machine_gflops) {
  const RowEntry* own = row.own();
  const RowGoal& goal = row.row.goal;
  if (!own || goal.none()) return Met::kUnknown;
  if (!goal.over.empty()) {
    const RowEntry* peer = row.find(goal.over);
    return peer ? met(own->time_us.median < peer->time_us.median) : Met::kUnknown;
  }
  const double share = goal_share(row, machine_gflops);
  return share > 0 ? met(own->of_limit >= share) : Met::kUnknown;
}

double goal_share(const RowResult& row, double machine_gflops) {
  const RowEntry* own = row.own();
  const RowGoal& goal = row.row.goal;
  if (goal.share > 0 || !own || own->gbps <= 0) return goal.share;
  const double scale = goal.at_gflops > 0 ? machine_gflops / goal.at_gflops : 1;
  return own->of_limit * goal.gbps * scale / own->gbps;
}

std::vector<std::string> contenders_of(const std::vector<GroupResult>& groups) {
  std::vector<std::string> names = {"default", "tuned"};
  std::vector<std::string> seen;
  for (const GroupResult& group : groups) {
    for (const RowResult& row : group.rows) {
      for (const RowEntry& e : row.entries) seen.push_back(e.name);
    }
  }
  for (const std::string& name : seen) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  std::erase_if(names, [&](const std::string& name) {
    return std::find(seen.begin(), seen.end(), name) == seen.end();
  });
  return names;
}

}  // namespace hone::bench
