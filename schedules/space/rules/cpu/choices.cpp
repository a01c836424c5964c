// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "schedules/space/analysis/shape.h"
#include "schedules/space/rules/rule.h"
#include "schedules/steps/edit.h"

namespace hone::schedules {
namespace {

/// Values of an index that each have a body of their own.
/// Chosen: what combinations of neighbours need (not measured).
constexpr int64_t kMostValues = 8;
/// Fixed by: choices.
constexpr int64_t kFewestRemainders = 2, kFewestValues = 3;

/// An index whose value, or remainder, chooses what is computed.
struct Chooser {
  std::string var;
  int64_t values = 0;
  bool remainder = false;
};

/// The chooser of a condition `i == 3`, or `i%4 == 3`.
std::optional<Chooser> chooser_of(const ir::Expr& condition, const StageFacts& facts) {
  if (condition->op != ir::Op::kEq || !ir::is_const(condition->args[1])) return {};
  const ir::Expr& e = condition->args[0];
  if (e->op == ir::Op::kVar) return Chooser{e->name, facts.extent(e->name)};
  int64_t modulus = 0;
  if (e->op != ir::Op::kMod || e->args[0]->op != ir::Op::kVar) return {};
  if (!ir::is_const(e->args[1], &modulus)) return {};
  return Chooser{e->args[0]->name, modulus, true};
}

/// The choosers of choices. One of two values may be the border of a loop, and is cut there.
std::vector<Chooser> choosers_of(const ir::Stage& s, const StageFacts& facts) {
  std::vector<Chooser> out;
  ir::visit(s.value, [&](const ir::Expr& e) {
    if (e->op != ir::Op::kSelect) return;
    const auto c = chooser_of(e->args[0], facts);
    if (!c || s.is_reduction_var(c->var) || c->values > kMostValues) return;
    if (c->values < (c->remainder ? kFewestRemainders : kFewestValues)) return;
    const bool known = std::any_of(out.begin(), out.end(),
                                   [&](const Chooser& other) { return other.var == c->var; });
    if (!known) out.push_back(*c);
  });
  return out;
}

bool is_serial(const ir::Stage& s, const std::string& loop) {
  const ir::Loop* l = s.loop(loop);
  return l && l->mark == ir::Mark::kSerial;
}

/// The loop over the remainders of a chooser; empty where it has none of its own.
std::string loop_of_remainders(Plan& plan, const std::string& name, const Chooser& chooser) {
  const std::string loop = plan.loop_of(name, chooser.var);
  if (!is_serial(plan.stage(name), loop)) return {};
  for (const ir::Relation& r : plan.stage(name).relations) {
    if (r.inner == loop && r.factor % chooser.values != 0) return {};
    if (r.inner == loop && r.factor == chooser.values) return loop;
  }
  return plan.split(name, chooser.var, Number{chooser.values}, ir::Tail::kPeel).inner;
}

/// Puts a loop inside all that are serial.
void move_inside_serial(Plan& plan, const std::string& name, const std::string& loop) {
  std::vector<ir::Place> order;
  bool behind = false;
  for (const ir::Loop& l : plan.stage(name).loops) {
    if (l.name == loop) {
      behind = true;
    } else if (behind && l.mark == ir::Mark::kSerial) {
      order.push_back({name, l.name});
    }
  }
  order.push_back({name, loop});
  if (order.size() > 1) plan.add(step::reorder(order));
}

/// True where loops around `s` run over all values of `var`, which is one of theirs too.
bool runs_around(const Plan& plan, const ir::Stage& s, const std::string& var) {
  if (s.at.root() || !plan.stage(s.at.stage).var(var)) return false;
  const ir::Stage& host = plan.stage(s.at.stage);
  bool inside = false;
  for (const ir::Loop& l : host.loops) {
    const std::vector<std::string> roots = roots_of(host, l.name);
    if (inside && std::find(roots.begin(), roots.end(), var) != roots.end()) return false;
    inside |= l.name == s.at.loop;
  }
  return true;
}

/// Unrolls a loop of remainders of the stage around `s`, close to the loop that computes `s`.
bool unroll_around(Plan& plan, const ir::Stage& s, const Chooser& chooser) {
  const std::string host = s.at.stage;
  const std::string loop = loop_of_remainders(plan, host, chooser);
  if (loop.empty()) return false;
  std::vector<ir::Place> order;
  bool behind = false;
  for (const ir::Loop& l : plan.stage(host).loops) {
    if (l.name == s.at.loop) break;
    if (behind) order.push_back({host, l.name});
    behind |= l.name == loop;
  }
  order.push_back({host, loop});
  if (order.size() > 1) plan.add(step::reorder(order));
  return plan.add(step::unroll({host, loop}));
}

bool apply_choices(Plan& plan, const std::string& name) {
  const ir::Stage s = plan.stage(name);
  if (s.reduce != ir::Reduce::kNone) return plan.declines("the stage reduces");
  const std::vector<Chooser> choosers = choosers_of(s, plan.facts(name));
  if (choosers.empty()) return plan.declines("no index chooses among a few values");
  bool any = false;
  for (const Chooser& c : choosers) {
    std::string loop = c.var;
    if (c.remainder && runs_around(plan, s, c.var)) {
      any |= unroll_around(plan, s, c);
      continue;
    }
    if (c.remainder) {
      loop = loop_of_remainders(plan, name, c);
    } else if (is_serial(s, loop)) {
      move_inside_serial(plan, name, loop);
    } else {
      loop.clear();
    }
    if (loop.empty()) {
      plan.declines("index " + c.var + " has no serial loop of its own");
      continue;
    }
    any |= plan.add(step::unroll({name, loop}));
  }
  return any;
}

}  // namespace

const Rule cpu::kChoices = {
    "choices",
    "The values of an index that chooses what is computed have a copy of the loop's body each, so "
    "that nothing is chosen when it runs, and copies share what they have in common.",
    apply_choices,
};

}  // namespace hone::schedules
