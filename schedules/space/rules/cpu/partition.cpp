// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <set>

#include "jit/ir/extremes.h"
#include "schedules/space/rules/rule.h"
#include "schedules/steps/edit.h"

namespace hone::schedules {
namespace {

/// Instructions that a launch may come to by copies of loop bodies.
/// Tuned on: Zen 5 (AVX-512).
constexpr double kPartitionBordersCode = 1200;
/// Instructions that it may come to where a cut saves much, and the part that is much.
/// Tuned on: Zen 5 (AVX-512).
constexpr double kMostCode = 16000, kMuch = 0.3;
/// Part of the launch's cycles that a cut has to save.
/// Tuned on: Zen 5 (AVX-512).
constexpr double kGain = 0.01;
/// A shorter loop is one piece.
/// Fixed by: two pieces.
constexpr int64_t kShortest = 2;

/// Variables of a stage that conditions depend on.
struct Tested {
  std::set<std::string> all;
  std::set<std::string> joint;  ///< of these, those that stand beside another in a condition
};

void add_vars(std::set<std::string>& names, const ir::Expr& e) {
  ir::visit(e, [&](const ir::Expr& n) {
    if (n->op == ir::Op::kVar) names.insert(n->name);
  });
}

/// Conditions are of indices of guarded loads, choices by index, what `where` says of indices. So
/// are indices that wrap around, are clamped or reflected.
Tested tested_variables(const ir::Stage& s) {
  Tested out;
  const auto look = [&](const ir::Expr& index) {
    std::set<std::string> vars;
    add_vars(vars, index);
    out.all.insert(vars.begin(), vars.end());
    if (vars.size() > 1) out.joint.insert(vars.begin(), vars.end());
  };
  const auto test = [&](const ir::Expr& e) {
    if (e->op == ir::Op::kLoad && e->guarded) {
      for (size_t d = 0; d + 1 < e->args.size(); ++d) {
        if (!ir::mentions_load(e->args[d])) look(e->args[d]);
      }
    }
    const bool compares = e->op == ir::Op::kLt || e->op == ir::Op::kLe || e->op == ir::Op::kEq ||
                          e->op == ir::Op::kNe;
    if (compares && affine_of(e->args[0]) && affine_of(e->args[1])) look(e);
    if (!ir::mentions_load(e) && ir::as_extreme(e)) look(e);
    const bool wraps = (e->op == ir::Op::kDiv || e->op == ir::Op::kMod) && e->type == DType::kI64;
    if (wraps && affine_of(e->args[0])) look(e);
  };
  ir::visit(s.value, test);
  if (s.where) ir::visit(s.where, test);
  return out;
}

/// By the stage, the variables that conditions of `s` depend on. These are its own, and those of
/// its readers that tell which elements are computed.
std::map<std::string, std::set<std::string>> telling(const ir::Program& program, const ir::Stage& s,
                                                     const Tested& tested) {
  std::map<std::string, std::set<std::string>> out{{s.name, tested.all}};
  std::vector<std::string> open{s.name};
  while (!open.empty()) {
    const ir::Stage& made = *program.stage(open.back());
    open.pop_back();
    std::set<std::string> told = out[made.name];
    for (size_t before = 0; before < told.size();) {
      before = told.size();
      for (const auto* vars : {&made.vars, &made.rvars}) {
        for (const ir::IndexVar& v : *vars) {
          if (told.count(v.name) > 0) add_vars(told, v.lo), add_vars(told, v.hi);
        }
      }
    }
    const auto tells = [&](const ir::Expr& index) {
      return std::any_of(told.begin(), told.end(),
                         [&](const std::string& v) { return ir::mentions_var(index, v); });
    };
    for (const ir::Stage& reader : program.stages) {
      if (!reads(reader, made.output)) continue;
      std::set<std::string>& vars = out[reader.name];
      const size_t before = vars.size();
      const auto look = [&](const ir::Expr& n) {
        if (n->op != ir::Op::kLoad || n->name != made.output) return;
        for (size_t d = 0; d < made.out_index.size(); ++d) {
          if (tells(made.out_index[d])) add_vars(vars, n->args[d]);
        }
      };
      ir::visit(reader.value, look);
      ir::visit(reader.where, look);
      for (const ir::Expr& e : reader.out_index) ir::visit(e, look);
      for (const auto* ends : {&reader.vars, &reader.rvars}) {
        for (const ir::IndexVar& v : *ends) ir::visit(v.lo, look), ir::visit(v.hi, look);
      }
      if (vars.size() > before) open.push_back(reader.name);
    }
  }
  return out;
}

/// Loops that the conditions of a stage may be peeled from, outermost first. These are its own
/// loops over the variables tested, and those around the loops that compute it. Where there are
/// none, `plan` is told why.
std::vector<ir::Place> candidates(Plan& plan, const ir::Stage& s, const Tested& tested) {
  std::vector<ir::Place> out;
  plan.declines("no loop runs over what its tests depend on");
  // Vectors are cut at places that stay: no other loop moves them, no lane waits for another.
  const auto cuts_vectors = [&](const ir::Stage& owner, const ir::Loop& l) {
    const std::vector<std::string> vars = roots_of(owner, l.name);
    return owner.name == s.name && !reads(s, s.output) && vars.size() == 1 && vars[0] == l.name &&
           !tested.joint.contains(l.name);
  };
  const auto add = [&](const ir::Stage& owner, const ir::Loop& l) {
    const bool loop = l.mark == ir::Mark::kSerial || l.mark == ir::Mark::kParallel;
    if (!loop && !(l.mark == ir::Mark::kVector && cuts_vectors(owner, l))) {
      plan.declines("loop " + l.name + " of its tests is marked " +
                    std::string(ir::name_of(l.mark)));
    } else if (l.partition) {
      plan.declines("loop " + l.name + " of its tests is partitioned already");
    } else if (typical(plan.program(), extent_of(owner, l.name)) < kShortest) {
      plan.declines("loop " + l.name + " of its tests has one iteration");
    } else {
      out.push_back({owner.name, l.name});
    }
  };
  std::vector<ir::Place> around;
  for (ir::Place at = s.at; !at.root(); at = plan.stage(at.stage).at) {
    around.insert(around.begin(), at);
  }
  const auto told = telling(plan.program(), s, tested);
  for (const ir::Place& at : around) {
    const ir::Stage host = plan.stage(at.stage);
    const auto vars = told.find(host.name);
    const auto matters = [&](const ir::Loop& l) {
      const std::vector<std::string> roots = roots_of(host, l.name);
      return vars != told.end() && std::any_of(roots.begin(), roots.end(), [&](const auto& v) {
               return vars->second.count(v) > 0;
             });
    };
    for (const ir::Loop& l : host.loops) {
      if (!is_reduction(host, l.name) && matters(l)) add(host, l);
      if (l.name == at.loop) break;
    }
  }
  const bool held = plan.program().buffer(s.output)->space == ir::Space::kRegisters;
  for (const ir::Loop& l : s.loops) {
    if (held && !is_reduction(s, l.name)) {
      plan.declines("loop " + l.name + " of its tests indexes registers");
      continue;
    }
    for (const std::string& var : roots_of(s, l.name)) {
      if (!tested.all.contains(var)) continue;
      add(s, l);
      break;
    }
  }
  return out;
}

/// The stage in whose launch another is computed.
std::string launch_of(const Plan& plan, std::string name) {
  while (!plan.stage(name).at.root()) name = plan.stage(name).at.stage;
  return name;
}

/// True where cuts save enough cycles of a launch for the copies of its bodies.
bool pays(const Work& cut, const Work& whole) {
  const bool much = cut.cycles < whole.cycles * (1 - kMuch);
  return cut.cycles < whole.cycles * (1 - kGain) &&
         cut.code <= std::max(much ? kMostCode : kPartitionBordersCode, whole.code);
}

/// True where a launch is cheaper with all of these loops cut than as it stands.
bool pay_together(Plan& plan, const std::string& launch, const std::vector<ir::Place>& loops,
                  const Work& whole) {
  if (loops.size() < 2) return false;
  Plan::Mark before = plan.mark();
  bool out = false;
  if (plan.add(step::partition(loops))) {
    const auto cut = plan.work_of(launch);
    out = cut && pays(*cut, whole);
  }
  plan.rewind(std::move(before));
  return out;
}

/// Those of the loops whose cuts save tests of a stage, each given the ones before it. Where only
/// together they do, those around the stage or all of them. `plan` is told why the last of the
/// others does not.
std::vector<ir::Place> paying(Plan& plan, const std::string& stage,
                              const std::vector<ir::Place>& loops) {
  std::vector<ir::Place> out;
  const std::string launch = launch_of(plan, stage);
  Plan::Mark before = plan.mark();
  const auto whole = plan.work_of(launch);
  if (!whole) {
    plan.declines("the loops do not lower as they stand: " + whole.failure().reason);
    return out;
  }
  Work best = *whole;
  for (const ir::Place& loop : loops) {
    Plan::Mark here = plan.mark();
    if (!plan.add(step::partition({loop}))) continue;
    const auto cut = plan.work_of(launch);
    const Work work = cut ? *cut : Work{1e30, 1e30};
    if (pays(work, best)) {
      best = work;
      out.push_back(loop);
    } else {
      const std::string cutting = "cutting loop " + loop.loop;
      plan.declines(!cut ? cutting + " does not lower: " + cut.failure().reason
                    : work.cycles < best.cycles * (1 - kGain)
                        ? cutting + " makes too many copies of the body"
                        : cutting + " saves fewer cycles of tests than it must");
      plan.rewind(std::move(here));
    }
  }
  plan.rewind(std::move(before));
  if (out.size() == loops.size()) return out;
  // Copies of one loop's cut that test another are made for nothing, unless that is cut as well.
  std::vector<ir::Place> around = loops;
  std::erase_if(around, [&](const ir::Place& p) { return p.stage == stage; });
  const bool inside = around.size() < loops.size();
  if (inside && pay_together(plan, launch, around, best)) return around;
  return pay_together(plan, launch, loops, best) ? loops : out;
}

bool apply_partition_borders(Plan& plan, const std::string& name) {
  const ir::Stage s = plan.stage(name);
  const Tested tested = tested_variables(s);
  if (tested.all.empty()) return plan.declines("no test in it depends on a loop");
  const std::vector<ir::Place> loops = candidates(plan, s, tested);
  if (loops.empty()) return false;
  const std::vector<ir::Place> best = paying(plan, name, loops);
  if (plan.decide("partition " + name, 2, best.empty() ? 0 : 1) == 0) {
    return !best.empty() && plan.declines("its loops were decided to stay whole");
  }
  return plan.add(step::partition(best.empty() ? loops : best));
}

}  // namespace

const Rule cpu::kPartition = {
    "partition",
    "Loops in whose first or last iterations an index leaves a tensor, is clamped, reflected or "
    "wraps around, a choice by index turns, or a `where` holds in part, run those apart, where the "
    "tests that the rest is spared pay for the copies of the body.",
    apply_partition_borders,
    /*forwards=*/false,
    /*ordered=*/true,
};

}  // namespace hone::schedules
