// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "schedules/legal.h"
#include "schedules/read.h"

namespace hone::schedules {
namespace {

/// The same reject, laid to a step.
ir::Reject at_step(ir::Reject reject, const Step& step, int index) {
  reject.step = index;
  reject.step_text = print(step);
  return reject;
}

/// The program with step `index` of a schedule applied.
Applied apply_at(ir::Program program, const Schedule& schedule, size_t index) {
  const Step& step = schedule.steps[index];
  Applied applied = apply_step(std::move(program), step);
  if (!applied) return at_step(applied.failure(), step, static_cast<int>(index));
  return applied;
}

/// True when `p` has what `wrong` objects to, as `last` has it.
bool has(const ir::Program& p, const ir::Program& last, const ir::Reject& wrong) {
  const ir::Stage *a = p.stage(wrong.stage), *b = last.stage(wrong.stage);
  if (!a) return false;
  if (wrong.loop.empty()) return a->at == b->at && a->store == b->store;
  const ir::Loop *x = a->loop(wrong.loop), *y = b->loop(wrong.loop);
  return x && x->mark == y->mark;
}

/// The reject of a finished program, laid to the step that made what is wrong.
ir::Reject lay_to_step(const ir::Program& first, const ir::Program& last, const Schedule& schedule,
                       const ir::Reject& wrong) {
  ir::Program p = first;
  for (size_t i = 0; i < schedule.steps.size(); ++i) {
    auto next = apply_at(std::move(p), schedule, i);
    if (!next) break;
    p = *std::move(next);
    if (has(p, last, wrong)) return at_step(wrong, schedule.steps[i], static_cast<int>(i));
  }
  return wrong;
}

}  // namespace

Applied apply_step(ir::Program program, const Step& step) {
  for (const Number* number : step.numbers()) {
    if (!number->fixed()) {
      return ir::Reject("knob " + print(*number) + " is open; give it a value first");
    }
  }
  return step.row->apply(std::move(program), step);
}

Result<ir::Program, ir::Reject> apply(const ir::Program& program, const Schedule& schedule) {
  ir::Program p = program;
  for (size_t i = 0; i < schedule.steps.size(); ++i) {
    auto next = apply_at(std::move(p), schedule, i);
    if (!next) return next.failure();
    p = *std::move(next);
  }
  if (auto wrong = find_illegal(p)) return lay_to_step(program, p, schedule, *wrong);
  return p;
}

}  // namespace hone::schedules
