// SPDX-License-Identifier: Apache-2.0
#include "schedules/space/analysis/fronts.h"

#include <algorithm>
#include <utility>

#include "schedules/space/analysis/shape.h"
#include "schedules/steps/build.h"

namespace hone::schedules {
namespace {

/// Rows side by side.
/// Tuned on: Zen 5, edit distances of 1000 by 1000: 8 rows 0.70 ms, 4 rows 0.95, 12 rows 0.71.
constexpr int64_t kRows = 8;
/// Elements of a row in one iteration, which find the one before in a register.
/// Tuned on: Zen 5, the same: 2 elements 0.57 ms, 1 element 0.70, 4 elements 0.57.
constexpr int64_t kInRow = 2;
/// Nodes of the expressions of one iteration's elements.
/// Chosen: code that a compile may take (not measured).
constexpr int64_t kMostNodes = 1024;

/// Rows for which the code of one iteration stays small.
int64_t rows_of(const Plan& plan, const Fronts& f) {
  uint64_t nodes = ir::tree_size(plan.stage(f.stage).value);
  for (const std::string& member : f.members) nodes += ir::tree_size(plan.stage(member).value);
  const int64_t most = kMostNodes / kInRow / static_cast<int64_t>(std::max<uint64_t>(1, nodes));
  return std::min({kRows, most, plan.facts(f.stage).extent(f.rows)});
}

bool several_rows(Plan& plan, const Fronts& f, int64_t rows) {
  const Number factor = plan.knob(knob_name("u", f.stage), {2, 4, kRows, 2 * kRows}, rows);
  const Plan::Halves h = plan.split(f.stage, f.rows, factor, ir::Tail::kPeel);
  if (h.outer.empty()) return false;
  std::vector<ir::Place> order;
  for (const std::string& l : f.outer) order.push_back({f.stage, l});
  for (const std::string& l : {h.outer, plan.loop_of(f.stage, f.along), h.inner}) {
    order.push_back({f.stage, l});
  }
  std::vector<Step> steps{step::reorder(order)};
  if (!f.members.empty()) steps.push_back(step::compute_kept(f.members, {f.stage, h.inner}));
  if (!plan.add_together(steps) || !plan.add(step::unroll({f.stage, h.inner}))) return false;
  if (plan.facts(f.stage).extent(f.along) < kInRow) return true;
  const Plan::Halves in_row = plan.split(f.stage, f.along, kInRow, ir::Tail::kPeel);
  return !in_row.outer.empty() && plan.add(step::unroll({f.stage, in_row.inner}));
}

}  // namespace

bool run_fronts(Plan& plan, const Fronts& fronts) {
  const int64_t rows = rows_of(plan, fronts);
  if (rows < 2) return plan.declines("its rows are too few, or its elements too large");
  if (plan.decide("rows of " + fronts.stage + " side by side", 2, 1) == 0) {
    return plan.declines("its rows were decided to run one by one");
  }
  Plan::Mark before = plan.mark();
  if (several_rows(plan, fronts, rows)) return true;
  plan.rewind(std::move(before));
  return false;
}

}  // namespace hone::schedules
