// SPDX-License-Identifier: Apache-2.0
// In what share of its points a condition on the indices of a stage holds.
#include <algorithm>

#include "runtime/call/plan.h"
#include "runtime/measure/domain.h"

namespace hone::runtime {
namespace {

/// Points at which one condition is looked at.
/// Chosen: time that a limit may take (not measured).
constexpr int64_t kLooks = 65536;

/// The operands of a chain of `and` or of `or`.
void operands_of(const ir::Expr& e, ir::Op op, std::vector<ir::Expr>& out) {
  if (e->op != op) return out.push_back(e);
  for (const ir::Expr& a : e->args) operands_of(a, op, out);
}

}  // namespace

Vars Domain::with_bounds(Vars names) const {
  // Ranges follow only those before them.
  for (size_t r = ranges_.size(); r-- > 0;) {
    if (names.count(ranges_[r].name) > 0) {
      names.insert(ranges_[r].named.begin(), ranges_[r].named.end());
    }
  }
  return names;
}

double Domain::share(const ir::Expr& condition) const {
  if (!condition) return 1;
  if (!is_closed(condition)) return share_of_closed(condition);
  const std::string text = ir::print(condition);
  if (const auto known = shares_.find(text); known != shares_.end()) return known->second;
  return shares_[text] = share_of(condition);
}

/// Of a condition that data decide in part: of what all has to hold, the share where indices say
/// that it may.
double Domain::share_of_closed(const ir::Expr& condition) const {
  const bool turned = condition->op == ir::Op::kNot;
  const ir::Expr& inner = turned ? condition->args[0] : condition;
  if (turned && inner->op == ir::Op::kNot) return share(inner->args[0]);
  const ir::Op op = turned ? ir::Op::kOr : ir::Op::kAnd;
  if (inner->op != op) return 1;
  std::vector<ir::Expr> operands;
  operands_of(inner, op, operands);
  ir::Expr all;
  for (const ir::Expr& e : operands) {
    if (!is_closed(e)) continue;
    const ir::Expr holds = turned ? ir::make_unary(ir::Op::kNot, e) : e;
    all = all ? ir::make_binary(ir::Op::kAnd, all, holds) : holds;
  }
  return share(all);
}

double Domain::share_of(const ir::Expr& condition) const {
  if (condition->op == ir::Op::kNot) return 1 - share_of(condition->args[0]);
  if (condition->op != ir::Op::kAnd && condition->op != ir::Op::kOr) return counted(condition);
  struct Part {
    ir::Expr condition;
    Vars vars;
  };
  std::vector<ir::Expr> operands;
  operands_of(condition, condition->op, operands);
  // What has no variables in common holds independently.
  std::vector<Part> parts;
  for (const ir::Expr& e : operands) {
    Part own{e, with_bounds(vars_of(e))};
    for (size_t p = parts.size(); p-- > 0;) {
      if (!overlap(parts[p].vars, own.vars)) continue;
      own.condition = ir::make_binary(condition->op, parts[p].condition, own.condition);
      own.vars.merge(parts[p].vars);
      parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(p));
    }
    parts.push_back(std::move(own));
  }
  if (parts.size() == 1) return counted(condition);
  const bool all = condition->op == ir::Op::kAnd;
  double product = 1;
  for (const Part& p : parts) product *= all ? share_of(p.condition) : 1 - share_of(p.condition);
  return all ? product : 1 - product;
}

/// The share at points of the variables in a condition. It is looked at all of few points. Of many
/// it is looked at the longest range whole, for some values of the others.
double Domain::counted(const ir::Expr& condition) const {
  const Vars names = with_bounds(vars_of(condition));
  std::vector<size_t> moving;
  size_t longest = 0;
  double all = 1;
  const auto length = [&](size_t r) { return ranges_[r].whole.hi - ranges_[r].whole.lo + 1; };
  for (size_t r = 0; r < ranges_.size(); ++r) {
    if (names.count(ranges_[r].name) == 0) continue;
    if (length(r) <= 0) return 1;
    if (moving.empty() || length(r) > length(longest)) longest = r;
    moving.push_back(r);
    all *= static_cast<double>(length(r));
  }
  const ir::Expr e = numbered(condition);
  std::vector<int64_t> values = values_;
  const auto value = [&](size_t r) -> int64_t& { return values[program_.dims.size() + r]; };
  int64_t held = 0, inside = 0;
  const auto look = [&] {
    for (const size_t r : moving) {
      if (ranges_[r].named.empty()) continue;
      if (value(r) < evaluate(ranges_[r].lo, values)) return;
      if (value(r) >= evaluate(ranges_[r].hi, values)) return;
    }
    ++inside;
    held += evaluate(e, values) != 0;
  };
  // Sets variables to all of their values, one within the other.
  const auto each = [&](const auto& self, std::span<const size_t> walked) -> void {
    if (walked.empty()) return look();
    const Span& whole = ranges_[walked[0]].whole;
    for (int64_t x = whole.lo; x <= whole.hi; ++x) {
      value(walked[0]) = x;
      self(self, walked.subspan(1));
    }
  };
  if (all <= static_cast<double>(kLooks)) {
    each(each, moving);
    return inside > 0 ? static_cast<double>(held) / static_cast<double>(inside) : 1;
  }
  const bool walks = length(longest) <= kLooks;
  uint64_t state = 1;
  for (int64_t i = 0; i < (walks ? kLooks / length(longest) : kLooks); ++i) {
    for (const size_t r : moving) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      const auto width = static_cast<uint64_t>(length(r));
      value(r) = ranges_[r].whole.lo + static_cast<int64_t>((state >> 33) % width);
    }
    each(each, std::span(&longest, walks ? 1 : 0));
  }
  return inside > 0 ? static_cast<double>(held) / static_cast<double>(inside) : 1;
}

double Domain::deciding(const ir::Expr& e, size_t arg) const {
  const auto otherwise = [&](const ir::Expr& by) {
    return share(ir::make_unary(ir::Op::kNot, by));
  };
  switch (e->op) {
    case ir::Op::kSelect:
      if (arg == 0) return 1;
      return arg == 1 ? share(e->args[0]) : otherwise(e->args[0]);
    case ir::Op::kAnd:
      return share(e->args[1 - arg]);
    case ir::Op::kOr:
      return otherwise(e->args[1 - arg]);
    default: {
      // The other argument is 0 outside of a tensor, and so is the result then.
      const bool other = e->args.size() == 2 && makes_zero(e, 1 - arg);
      return other && is_int(e->type) ? present(e->args[1 - arg]) : 1;
    }
  }
}

/// The share of points at which a factor of integers is not surely 0.
double Domain::present(const ir::Expr& factor) const {
  if (!is_zero_outside(factor)) return 1;
  if (factor->op != ir::Op::kLoad) {
    double least = 1;
    for (size_t i = 0; i < factor->args.size(); ++i) {
      if (makes_zero(factor, i)) least = std::min(least, present(factor->args[i]));
    }
    return least;
  }
  const ir::Buffer* b = program_.buffer(factor->name);
  if (!b) return 1;
  const double all = points(vars_of(factor));
  return all > 0 ? inside(b->shape, {factor->args.data(), b->shape.size()}) / all : 1;
}

}  // namespace hone::runtime
