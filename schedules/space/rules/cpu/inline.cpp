// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "jit/ir/operations.h"
#include "schedules/space/analysis/axis.h"
#include "schedules/space/analysis/group_members.h"
#include "schedules/space/analysis/shape.h"
#include "schedules/space/rules/rule.h"

namespace hone::schedules {
namespace {

/// Arithmetic that is cheaper to repeat than to store and load.
/// Tuned on: Zen 5 (AVX-512).
constexpr double kCheap = 3;

/// Times that a reader computes a value again from which all of its instructions count.
/// Chosen: as hoisting has it (not measured).
constexpr int64_t kRepeats = 4;

/// True where `reader` would compute vectors of the stage again and again. Of what is the same in
/// all lanes, or along the innermost loops, once is enough.
bool repeats_vectors(const Plan& plan, const ir::Stage& reader, const std::string& buffer) {
  const StageFacts& facts = plan.facts(reader.name);
  const std::string along = reader.reduce == ir::Reduce::kNone
                                ? contiguous_var(plan, reader.name)
                                : vector_axis(plan, reader.name, facts.store, true).var;
  if (along.empty()) return false;
  return std::any_of(facts.loads.begin(), facts.loads.end(), [&](const Access& a) {
    if (a.buffer != buffer || a.stride(along) == 0) return false;
    int64_t times = 1;
    for (const auto& [var, extent] : facts.extents) {
      if (a.stride(var) == 0) times = saturating_product(times, std::max<int64_t>(extent, 1));
    }
    return times >= kRepeats;
  });
}

/// What a reader spends on each value of the stage: instructions where it repeats them.
double operations_for(const Plan& plan, const ir::Stage& stage, const StageFacts& facts,
                      const std::vector<size_t>& readers) {
  const bool again =
      !plan.target().is_cuda() && std::any_of(readers.begin(), readers.end(), [&](size_t r) {
        return repeats_vectors(plan, plan.program().stages[r], stage.output);
      });
  return again ? ir::operations_of(stage.value) : facts.operations;
}

/// What is stored in bytes fills fewer vectors than it is computed in.
bool costs_little(const ir::Stage& stage, double operations) {
  const double share = std::min(1.0, static_cast<double>(size_of(stage.value->type)) / 4);
  return operations <= kCheap * share;
}

/// True when `reader` loads the stage once for each of its own points, never twice the same.
bool read_once(const Plan& plan, const ir::Stage& reader, const std::string& buffer) {
  const std::vector<ir::Expr> loads = loads_of(reader, buffer);
  for (const ir::Expr& load : loads) {
    if (!equal(load, loads[0])) return false;
  }
  const StageFacts& facts = plan.facts(reader.name);
  for (const Access& a : facts.loads) {
    if (a.buffer != buffer) continue;
    for (const auto& [var, extent] : facts.extents) {
      if (extent > 1 && a.stride(var) == 0) return false;
    }
  }
  return true;
}

/// True when each load of the stage is of one element, or of neighbours along its last variable.
/// Elements that shuffles take out of vectors count as such.
bool loads_rows(const Plan& plan, const ir::Stage& stage, const StageFacts& facts) {
  if (stage.vars.empty()) return true;
  const std::string& last = stage.vars.back().name;
  return std::all_of(facts.loads.begin(), facts.loads.end(), [&](const Access& a) {
    if (a.gathers) return false;
    const int64_t stride = a.stride(last);
    return stride == 0 || stride == 1 || vector_cost::is_spread(plan.machine(), a, last);
  });
}

double points_of(const StageFacts& facts) {
  return static_cast<double>(facts.points(facts.extents));
}

/// Instructions that a GPU carries out in the time that one more launch takes.
/// Tuned on: an H100's data sheet.
constexpr double kOfOneLaunch = 5e7;
/// Instructions of a point that hide behind its loads and stores on a GPU.
/// Tuned on: an H100's data sheet.
constexpr int kHiddenOnGpu = 24;
bool cheaper_than_launch(const Plan& plan, const ir::Stage& stage, size_t reader) {
  if (!plan.target().is_cuda()) return false;
  const ir::Stage& s = plan.program().stages[reader];
  const StageFacts facts = facts_of(plan.program(), stage, true);
  const int operations = facts.operations;
  // What another stage makes may be at hand in the loops of both.
  const bool apart = std::none_of(facts.loads.begin(), facts.loads.end(), [&](const Access& a) {
    return plan.program().buffer(a.buffer)->role == ir::Role::kTemp;
  });
  if (apart && s.reduce == ir::Reduce::kNone && operations < kHiddenOnGpu) return true;
  return operations * points_of(plan.facts(s.name)) < kOfOneLaunch;
}

/// Why a stage is not computed again wherever one of its readers wants it.
std::string dear(const Plan& plan, const ir::Stage& stage, const StageFacts& facts,
                 double operations, size_t readers, bool guarded) {
  if (guarded) return "a reader may leave its result and reads an `else` there";
  std::string why =
      readers > 1 ? "several stages would compute it" : "its reader would compute it several times";
  if (!costs_little(stage, operations)) {
    return why + ", at " + std::to_string(std::lround(operations)) + " operations each";
  }
  if (!loads_rows(plan, stage, facts)) return why + ", and it does not read along memory";
  return why + ", with " + std::to_string(facts.loads.size()) + " loads each";
}

/// True of a stage that says for a reduction what stands before the first state. Then the choice is
/// made once in each step.
bool chooses_state(const Plan& plan, const ir::Stage& s, const std::vector<size_t>& readers) {
  if (s.value->op != ir::Op::kLoad || !s.value->guarded || !in_steps(plan, s.name)) return false;
  return std::any_of(readers.begin(), readers.end(), [&](size_t r) {
    return plan.program().stages[r].reduce != ir::Reduce::kNone;
  });
}

bool apply_inline_cheap(Plan& plan, const std::string& name) {
  const ir::Stage s = plan.stage(name);
  if (plan.program().buffer(s.output)->role != ir::Role::kTemp) {
    return plan.declines("a result of the op is stored");
  }
  if (s.reduces_nothing()) return plan.add(step::inline_stage(name));
  if (s.reduce != ir::Reduce::kNone) return plan.declines("the stage reduces");
  const std::vector<size_t> readers = readers_of(plan.program(), s.output);
  if (readers.empty()) return plan.declines("no stage reads it");
  if (chooses_state(plan, s, readers)) {
    return plan.declines("a reduction would choose at each term what it chooses once in a step");
  }
  const StageFacts facts = plan.facts(name);
  bool guarded = false;
  for (size_t r : readers) {
    for (const ir::Expr& load : loads_of(plan.program().stages[r], s.output)) {
      guarded |= load->guarded;
    }
  }
  const double operations = operations_for(plan, s, facts, readers);
  const bool cheap = costs_little(s, operations) && facts.loads.size() <= 2 && !guarded &&
                     loads_rows(plan, s, facts);
  const bool once = readers.size() == 1 && !guarded &&
                    (read_once(plan, plan.program().stages[readers[0]], s.output) ||
                     cheaper_than_launch(plan, s, readers[0]));
  if (!cheap && best_at_bind(plan, s)) {
    return plan.declines("constants alone decide it: it is computed once, when they are bound");
  }
  if (!cheap && !once)
    return plan.declines(dear(plan, s, facts, operations, readers.size(), guarded));
  return plan.add(step::inline_stage(name));
}

}  // namespace

const Rule cpu::kInline = {
    "inline",
    "A stage without reduction goes into its readers where its value is cheap or read once; so "
    "does "
    "a reduction over nothing.",
    apply_inline_cheap,
    true,
};

}  // namespace hone::schedules
