// SPDX-License-Identifier: Apache-2.0
#include "schedules/space/analysis/dots.h"

#include <algorithm>

#include "schedules/space/analysis/axis.h"
#include "schedules/steps/edit.h"
#include "schedules/steps/tensor.h"

namespace hone::schedules {
namespace {

/// Costs of a factor that is copied, its groups together or in panels, in loads.
/// Tuned on: Zen 5 (AVX-512).
constexpr double kRegrouped = 1;
constexpr double kDotsPacked = 1;
/// Lanes that there may be for each column: what is left of the instruction's advantage beyond is
/// less than lanes along the sum have.
/// Tuned on: Zen 4 (AVX-512).
constexpr double kMostFilled = 4;
/// Cost of storing results that do not lie along the lanes, in loads.
/// Tuned on: Zen 5 (AVX-512).
constexpr double kDotsScatter = 24;

/// Terms for each lane from which the instruction makes up for results that are stored one by one.
/// Tuned on: Zen 5; products of 46 by 76 and 2 to 32 terms.
constexpr double kScatteredDepth = 1.5;

/// The dim that `var` alone indexes, where every other dim leaves it out; -1: there is none.
int dim_of(const Access& a, const std::string& var) {
  int found = -1;
  for (size_t d = 0; d < a.indices.size(); ++d) {
    if (!ir::mentions_var(a.indices[d], var)) continue;
    if (found >= 0 || plain_var(a.indices[d]) != var) return -1;
    found = static_cast<int>(d);
  }
  return found;
}

/// True when a copy with the groups together is read often enough, or made once.
bool worth_regrouping(const Plan& plan, const std::string& stage, const Access& a) {
  constexpr int64_t kReads = 16;  // that pay for the copy. Tuned on: Zen 5 (AVX-512).
  return plan.program().buffer(a.buffer)->constant || reads_of_copy(plan, stage, a) >= kReads;
}

/// What a factor takes with groups of `k` and lanes along `n`; adds it to `out`. Negative: it does
/// not go.
double factor_cost(const Plan& plan, const std::string& stage, const Access& a, Dots& out) {
  const int64_t group = out.row->group;
  const int64_t lanes = a.stride(out.columns), step = a.stride(out.grouped);
  if (a.gathers || step == 0) return -1;
  if (step == 1 && (lanes == 0 || lanes == group)) return 0;
  const bool copied = plan.program().buffer(a.buffer)->role != ir::Role::kTemp ||
                      plan.program().producer(a.buffer)->at.root();
  if (!copied || dim_of(a, out.grouped) < 0) return -1;
  if (lanes == 0) {
    if (!worth_regrouping(plan, stage, a)) return -1;
    out.regrouped.push_back(a.buffer);
    return kRegrouped;
  }
  if (dim_of(a, out.columns) < 0 || !worth_packing(plan, stage, a)) return -1;
  out.packed.push_back(a.buffer);
  return kDotsPacked;
}

}  // namespace

Dots dots_for(const Plan& plan, const std::string& name, const Access& store) {
  const ir::Stage& s = plan.stage(name);
  const ir::Instruction* row = instruction_for(s, plan.target());
  if (row == nullptr || s.where || !s.factored.empty()) return {};
  const StageFacts& facts = plan.facts(name);
  const int lanes = plan.lanes(row->accumulate);
  Dots best;
  double best_cost = 1e30;
  for (const ir::IndexVar& k : s.rvars) {
    const int64_t depth = facts.extent(k.name);
    // What is left of a depth known at the call begins anywhere in a group of the layout.
    if (k.lo || !ir::is_const(k.hi) || facts.bounds.count(k.name) || depth < row->group) continue;
    for (const ir::IndexVar& n : s.vars) {
      if (facts.bounds.count(n.name)) continue;
      Dots dots{row, n.name, k.name, {}, {}};
      const auto columns = static_cast<double>(std::max<int64_t>(facts.extent(n.name), 1));
      double cost = 1;
      bool fits = true;
      for (const Access& a : facts.loads) {
        const double own = factor_cost(plan, name, a, dots);
        fits = fits && own >= 0;
        cost += own;
      }
      if (!fits) continue;
      if (store.stride(n.name) != 1) {
        if (static_cast<double>(facts.points(s.rvars)) < kScatteredDepth * lanes) continue;
        cost += kDotsScatter / static_cast<double>(depth);
      }
      // Lanes beyond the extent and parts of groups do nothing.
      const auto filled = static_cast<double>((facts.extent(n.name) + lanes - 1) / lanes * lanes);
      if (filled > kMostFilled * columns) continue;
      const auto groups = static_cast<double>((depth + row->group - 1) / row->group * row->group);
      cost *= filled / columns * groups / static_cast<double>(depth);
      if (cost >= best_cost - 1e-9) continue;
      best_cost = cost;
      best = std::move(dots);
    }
  }
  return best;
}

}  // namespace hone::schedules
