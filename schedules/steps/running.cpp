// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "schedules/covers.h"
#include "schedules/steps/edit.h"
#include "schedules/steps/reduction_parts.h"
#include "schedules/steps/rescaled.h"
#include "schedules/steps/rows.h"

namespace hone::schedules {
namespace {

/// Adds `conditions` to what a stage is defined where.
void confine(ir::Stage& s, const std::vector<ir::Expr>& conditions) {
  for (const ir::Expr& c : conditions) {
    s.where = s.where ? make_binary(ir::Op::kAnd, s.where, c) : c;
  }
}

/// Cuts a max reduction, and the sums that depend on it, into parts.
class Rewriting {
 public:
  Rewriting(ir::Program p, size_t max_stage, const Step& step)
      : p_(std::move(p)),
        at_(max_stage),
        step_(step),
        late_(that_depend_on(p_, p_.stages[max_stage].output)) {}

  /// Why it cannot be done; empty, and done, where it can.
  std::string run(const std::string& var) {
    const ir::Stage& max = p_.stages[at_];
    if (max.reduce != ir::Reduce::kMax || !is_float(max.accumulate)) {
      return "stage " + max.name + " is no max reduction of floating numbers";
    }
    if (p_.buffer(max.output)->type != max.accumulate || !windowless(max).empty()) {
      return "stage " + max.name + " keeps its result in another type or order than it reduces";
    }
    for (const ir::IndexVar& v : max.rvars) {
      if (v.name == var || has_values(p_, v)) continue;
      return "stage " + max.name + " may have no terms along " + v.name +
             ", and its parts no greatest to rescale by";
    }
    std::string wrong = check(at_, var);
    if (!wrong.empty()) return wrong;
    const Dependents all = dependents_of(p_, at_, var);
    if (all.sums.empty()) {
      return all.why.empty() ? "no sum depends on " + max.output + "; use split_reduction"
                             : all.why;
    }
    for (const Dependent& d : all.sums) {
      wrong = check(d.stage, d.term.var);
      if (!wrong.empty()) return wrong;
    }
    for (const Dependent& d : all.factors) {
      const ir::Stage& s = p_.stages[d.stage];
      wrong = taken_stage(p_, name_of_part(s));
      if (wrong.empty() && !(s.relations.empty() && s.at.root())) {
        wrong = "stage " + s.name + " is scheduled already; do this before";
      }
      if (!wrong.empty()) return wrong;
    }
    rewrite(var, all);
    return {};
  }

  ir::Program done() { return std::move(p_); }

 private:
  std::string name_of_part(const ir::Stage& s) const { return s.name + "." + step_.name("part"); }
  int64_t factor() const { return step_.number("factor"); }

  std::string check(size_t stage, const std::string& var) const {
    const ir::Stage& s = p_.stages[stage];
    const Parts parts = parts_of(s, var, factor());
    std::string wrong = objection_parts(p_, s, parts);
    if (wrong.empty()) wrong = taken_stage(p_, name_of_part(s));
    return wrong.empty() ? domain_of_part(s, parts).why : wrong;
  }

  void rewrite(const std::string& var, const Dependents& all) {
    const ir::Buffer max = *p_.buffer(p_.stages[at_].output);
    cut(at_, parts_of(p_.stages[at_], var, factor()), p_.stages[at_].value);
    const ir::Buffer greatest = p_.buffers.back();
    std::map<std::string, std::string> renamed;
    for (const Dependent& d : all.factors) {
      ir::Stage s = p_.stages[d.stage];
      ir::Buffer b = *p_.buffer(s.output);
      renamed[s.output] = b.name = name_of_part(s);
      const ir::Expr part =
          make_binary(ir::Op::kDiv, ir::make_var(d.term.var), ir::make_int(factor()));
      s.value = within_part(p_, d, greatest, part, max.name, {});
      s.name = s.output = b.name;
      made_.push_back(std::move(s));
      p_.buffers.push_back(std::move(b));
    }
    for (const Dependent& d : all.sums) {
      const Parts parts = parts_of(p_.stages[d.stage], d.term.var, factor());
      const ir::Expr part = ir::make_var(parts.part);
      cut(d.stage, parts, within_part(p_, d, greatest, part, max.name, renamed));
      ir::Stage& s = p_.stages.edit(d.stage);
      s.value = s.value * rescaling(d.term, greatest, max, part, s.value->type);
    }
    reorder();
    drop(renamed);
  }

  /// Makes the stage of the parts, whose terms are `value`, and leaves the reduction of its
  /// results.
  void cut(size_t stage, const Parts& parts, const ir::Expr& value) {
    ir::Stage& s = p_.stages.edit(stage);
    const std::vector<ir::Expr> conditions = domain_of_part(s, parts).conditions;
    ir::Buffer partial = partial_buffer(p_, s, parts, name_of_part(s));
    ir::Stage of_parts = s;
    of_parts.value = value;
    of_parts = reducing_parts(of_parts, parts, partial.name);
    confine(of_parts, conditions);
    made_.push_back(std::move(of_parts));
    become_combine(s, parts, partial);
    confine(s, conditions);
    p_.buffers.push_back(std::move(partial));
  }

  /// First what does not depend on the greatest of all, then the parts, then the rest. The parts of
  /// all reductions may then share a loop.
  void reorder() {
    const ir::Program before = p_;
    p_.stages.truncate(0);
    for (size_t i = 0; i < before.stages.size(); ++i) {
      if (i != at_ && !late_[i]) p_.stages.push_back(before.stages[i]);
    }
    for (ir::Stage& s : made_) p_.stages.push_back(std::move(s));
    for (size_t i = 0; i < before.stages.size(); ++i) {
      if (i == at_ || late_[i]) p_.stages.push_back(before.stages[i]);
    }
  }

  /// Takes out what nothing reads any more.
  void drop(const std::map<std::string, std::string>& renamed) {
    for (const auto& [old, now] : renamed) {
      const bool read =
          std::any_of(p_.stages.begin(), p_.stages.end(),
                      [&, &name = old](const ir::Stage& s) { return reads(s, name); });
      if (read) continue;
      p_.stages.erase(p_.stages.index_of(*p_.producer(old)));
      p_.buffers.erase(*find_buffer(p_, old));
    }
  }

  ir::Program p_;
  size_t at_;
  const Step& step_;
  std::vector<bool> late_;  ///< per stage of the program before: it needs the greatest of all
  std::vector<ir::Stage> made_{};  ///< in the order in which they read one another
};

Applied apply_running(ir::Program p, const Step& step) {
  auto at = find_loop(p, step.name("loop"));
  if (!at) return at.failure();
  const std::string var = p.stages[at->stage].loops[at->loop].name;
  Rewriting rewriting(std::move(p), at->stage, step);
  std::string wrong = rewriting.run(var);
  if (!wrong.empty()) return ir::Reject{std::move(wrong)};
  return rewriting.done();
}

}  // namespace

const StepRow kRunning = {
    "running",
    {{Arg::kLoop, "loop"}, {Arg::kNumber, "factor"}, {Arg::kWord, "->"}, {Arg::kNew, "part"}},
    "Cuts a max reduction into parts of FACTOR terms, and with it the sums of exp(a - m)*g that "
    "depend on it. Each part takes its own greatest, and its sums are rescaled in the end. So one "
    "pass over the data makes all of them. The stages of the parts are named STAGE.PART.\n"
    "m = max[j](a[j]); l = sum[j](exp(a[j] - m))  =>  running m/j 64 -> p  =>  m.p[b] = "
    "max[j](..); "
    "l.p[b] = sum[j](exp(a[64*b + j] - m.p[b])); m = max[b](m.p[b]); l = "
    "sum[b](l.p[b]*exp(m.p[b] - m))",
    apply_running,
};

}  // namespace hone::schedules
