// SPDX-License-Identifier: Apache-2.0
#include "schedules/space/analysis/periods.h"

#include <algorithm>
#include <numeric>

namespace hone::schedules {
namespace {

/// Steps that nobody asks for.
/// Fixed by: elements of all vectors that one iteration may have.
constexpr int64_t kLongestRepeat = 1 << 16;

/// The divisor of a quotient or remainder that goes on with each step of `var`. Other variables
/// move it by whole divisors; 0 where they do not.
int64_t divisor_along(const ir::Expr& e, const std::string& var) {
  int64_t by = 0;
  if ((e->op != ir::Op::kDiv && e->op != ir::Op::kMod) || !ir::mentions_var(e->args[0], var)) {
    return 0;
  }
  const auto dividend = affine_of(e->args[0]);
  if (!dividend || dividend->open || !ir::is_const(e->args[1], &by) || by <= 1) return 0;
  const bool whole = std::all_of(
      dividend->terms.begin(), dividend->terms.end(),
      [&](const auto& t) { return t.first == var ? t.second == 1 : t.second % by == 0; });
  return whole ? by : 0;
}

/// True of an access that moves by an element or none with each step of `var`, and never back.
bool goes_on(const Access& a, const std::string& var) {
  const auto goes_round = [&](const ir::Expr& e) {
    return e->op == ir::Op::kMod && ir::mentions_var(e, var);
  };
  return a.slow.contains(var) &&
         std::none_of(a.indices.begin(), a.indices.end(),
                      [&](const ir::Expr& index) { return ir::any_node(index, goes_round); });
}

}  // namespace

int64_t period_along(const StageFacts& facts, const std::string& var, int lanes) {
  int64_t period = 0;
  for (const Access& a : facts.loads) {
    // What goes on so is a shuffle of vectors anyway.
    if (!a.chosen.contains(var) || goes_on(a, var)) continue;
    for (const ir::Expr& index : a.indices) {
      ir::visit(index, [&](const ir::Expr& e) {
        if (const int64_t by = divisor_along(e, var)) period = std::gcd(period, by);
      });
    }
  }
  return 2 * period >= lanes && period < facts.extent(var) ? period : 0;
}

int64_t repeats_after(const ir::Expr& e, const std::string& var,
                      const std::set<std::string>& unrolled) {
  int64_t by = 0;
  if (!ir::is_const(e->args[1], &by) || by <= 1) return 0;
  const auto dividend = affine_of(e->args[0]);
  if (!dividend || dividend->open || !dividend->terms.contains(var)) return 0;
  const bool whole =
      std::all_of(dividend->terms.begin(), dividend->terms.end(), [&](const auto& t) {
        return t.first == var || t.second % by == 0 || unrolled.contains(t.first);
      });
  return whole ? by / std::gcd(by, dividend->terms.at(var)) : 0;
}

int64_t remainders_repeat(const ir::Expr& index, const std::string& var) {
  if (!ir::mentions_var(index, var)) return 1;
  int64_t period = 0;
  if (index->op == ir::Op::kMod && ir::is_const(index->args[1], &period)) {
    return period > 0 && period <= kLongestRepeat ? period : 0;
  }
  const bool sums = index->op == ir::Op::kAdd || index->op == ir::Op::kSub;
  if (!sums && index->op != ir::Op::kMul) return 0;
  period = 1;
  for (const ir::Expr& a : index->args) period = std::lcm(period, remainders_repeat(a, var));
  return period <= kLongestRepeat ? period : 0;
}

int64_t steps_to_repeat(const StageFacts& facts, const std::string& var) {
  int64_t steps = 1;
  const auto look = [&](const ir::Expr& e, ir::Op op) {
    if (e->op != op) return;
    if (const int64_t by = repeats_after(e, var)) steps = std::min(kMostCount, std::lcm(steps, by));
  };
  for (const Access& a : facts.loads) {
    if (!a.chosen.contains(var) || steps >= kLongestRepeat) continue;
    const ir::Op op = goes_on(a, var) ? ir::Op::kDiv : ir::Op::kMod;
    for (const ir::Expr& index : a.indices) {
      ir::visit(index, [&](const ir::Expr& e) { look(e, op); });
    }
  }
  return steps;
}

bool meets_border(const Access& a, const std::string& var) {
  return std::any_of(a.indices.begin(), a.indices.end(), [&](const ir::Expr& index) {
    const bool extreme = ir::any_node(
        index, [](const ir::Expr& e) { return e->op == ir::Op::kMin || e->op == ir::Op::kMax; });
    return extreme && ir::mentions_var(index, var);
  });
}

}  // namespace hone::schedules
