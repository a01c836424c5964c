// SPDX-License-Identifier: Apache-2.0
#include "schedules/legal.h"
#include "schedules/schedule.h"
#include "schedules/step.h"

namespace hone::schedules {
namespace {

Result<ir::Program, Reject> apply_step(ir::Program program, const Schedule& schedule, int index) {
  const std::string& text = schedule.steps[static_cast<size_t>(index)];
  auto step = parse_step(text);
  if (!step) return Reject{index, text, step.failure().message};
  for (const Number* number : step->numbers()) {
    if (!number->fixed()) {
      return Reject{index, text, "knob " + print(*number) + " is open; give it a value first"};
    }
  }
  Applied applied = step->row->apply(std::move(program), *step);
  if (!applied) return Reject{index, text, applied.failure().reason};
  return *std::move(applied);
}

/// True when `p` has what `wrong` objects to, as `last` has it.
bool has(const ir::Program& p, const ir::Program& last, const Illegal& wrong) {
  const ir::Stage *a = p.stage(wrong.stage), *b = last.stage(wrong.stage);
  if (!a) return false;
  if (wrong.loop.empty()) return a->at == b->at && a->store == b->store;
  const ir::Loop *x = a->loop(wrong.loop), *y = b->loop(wrong.loop);
  return x && x->mark == y->mark;
}

/// The reject of a finished program, laid to the step that made what is wrong.
Reject lay_to_step(const ir::Program& first, const ir::Program& last, const Schedule& schedule,
                   const Illegal& wrong) {
  ir::Program p = first;
  for (size_t i = 0; i < schedule.steps.size(); ++i) {
    auto next = apply_step(std::move(p), schedule, static_cast<int>(i));
    if (!next) break;
    p = *std::move(next);
    if (has(p, last, wrong)) return {static_cast<int>(i), schedule.steps[i], wrong.reason};
  }
  return {-1, {}, wrong.reason};
}

}  // namespace

Result<ir::Program, Reject> apply(const ir::Program& program, const Schedule& schedule) {
  ir::Program p = program;
  for (size_t i = 0; i < schedule.steps.size(); ++i) {
    auto next = apply_step(std::move(p), schedule, static_cast<int>(i));
    if (!next) return next.failure();
    p = *std::move(next);
  }
  if (auto wrong = find_illegal(p)) return lay_to_step(program, p, schedule, *wrong);
  return p;
}

}  // namespace hone::schedules
