// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "schedules/space/analysis/align.h"
#include "schedules/space/rules/rule.h"
#include "schedules/steps/edit.h"
#include "schedules/steps/rescaled.h"

namespace hone::schedules {
namespace {

/// Bytes of a part, as a share of the nearest cache: its second reading comes from there.
/// Chosen: half, for what else is read (not measured).
constexpr int64_t kShareForPart = 2;
/// Times the second-level cache's bytes that a row has where one pass surely pays.
/// Tuned on: Zen 5 (AVX-512).
constexpr int64_t kTimesCache = 2;
/// Parts at least, so that what is done for each of them is little.
/// Chosen: an order of magnitude (not measured).
constexpr int64_t kFewParts = 8;

/// Terms of a part: a power of two, or a number near it that divides the row.
int64_t terms_of_part(const Plan& plan, int64_t extent, int64_t bytes) {
  const int64_t each = std::max<int64_t>(bytes / std::max<int64_t>(extent, 1), 1);
  int64_t most = 1;
  while (2 * most * each <= plan.machine().l1d / kShareForPart) most *= 2;
  for (int64_t terms = most; terms > most / 2; terms -= plan.lanes(DType::kF32)) {
    if (extent % terms == 0) return terms;
  }
  return most;
}

/// Bytes that one result reads; 0 where other stages compute a part of them.
int64_t bytes_of_row(const Plan& plan, const ir::Stage& s) {
  const StageFacts& facts = plan.facts(s.name);
  int64_t bytes = 0;
  for (const Access& a : facts.loads) {
    if (plan.program().producer(a.buffer)) return 0;
    int64_t points = size_of(plan.program().buffer(a.buffer)->type);
    for (const auto& [var, stride] : a.strides) {
      if (s.is_reduction_var(var)) points = saturating_product(points, facts.extent(var));
    }
    bytes += points;
  }
  return bytes;
}

/// Puts a stage into its one reader, where that takes each value once.
void inline_into_reader(Plan& plan, const std::string& stage) {
  const ir::Stage* s = plan.program().stage(stage);
  if (!s) return;
  const auto readers = readers_of(plan.program(), s->output);
  if (readers.size() != 1) return;
  const ir::Stage& reader = plan.program().stages[readers[0]];
  if (loads_of(reader, s->output).size() == 1) plan.add(step::inline_stage(stage));
}

bool apply_running_rows(Plan& plan, const std::string& name) {
  const ir::Stage s = plan.stage(name);
  if (s.reduce != ir::Reduce::kMax) return plan.declines("the stage is no max reduction");
  if (s.rvars.size() != 1) return plan.declines("it reduces several indices");
  const std::string var = s.rvars[0].name;
  const int64_t bytes = bytes_of_row(plan, s);
  if (bytes == 0) return plan.declines("it reduces what other stages compute");
  if (bytes <= plan.machine().l2 / 2) {
    return plan.declines("a row has " + std::to_string(bytes) +
                         " bytes: a near cache holds it for another pass");
  }
  const Dependents all =
      dependents_of(plan.program(), plan.program().stages.index_of(plan.stage(name)), var);
  if (all.sums.empty()) return plan.declines("no sum of exp(a - " + s.output + ") depends on it");
  const int64_t extent = plan.facts(name).extent(var);
  const int64_t terms = terms_of_part(plan, extent, bytes);
  if (extent < kFewParts * terms) return plan.declines("a row is few parts");
  if (plan.decide("one pass for " + name, 2, bytes > kTimesCache * plan.machine().l2) == 0) {
    return plan.declines("its sums were decided to take a pass of their own");
  }
  std::string part = "r";
  while (!taken_stage(plan.program(), name + "." + part).empty()) part += "r";
  std::vector<std::string> factors;
  for (const Dependent& d : all.factors) factors.push_back(plan.program().stages[d.stage].name);
  if (!plan.add(step::running({name, var}, terms, part))) return false;
  for (const std::string& factor : factors) {
    inline_into_reader(plan, factor + "." + part);
    inline_into_reader(plan, factor);
  }
  return true;
}

}  // namespace

const Rule cpu::kRunning = {
    "running",
    "A max reduction of rows that no near cache holds, and the sums of exp(a - m) that depend on "
    "it, are computed by parts of a row, so that one pass over the data does.",
    apply_running_rows,
};

}  // namespace hone::schedules
