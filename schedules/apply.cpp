// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>

#include "schedules/legal.h"
#include "schedules/schedule.h"

namespace hone::schedules {
namespace {

/// The same reject, laid to a step.
ir::Reject at_step(ir::Reject reject, const Step& step, int index) {
  reject.step = index;
  reject.step_text = print(step);
  return reject;
}

Result<ir::Program, ir::Reject> apply_step(ir::Program program, const Schedule& schedule,
                                           int index) {
  const Step& step = schedule.steps[static_cast<size_t>(index)];
  for (const Number* number : step.numbers()) {
    if (!number->fixed()) {
      return at_step(ir::Reject("knob " + print(*number) + " is open; give it a value first"), step,
                     index);
    }
  }
  Applied applied = step.row->apply(std::move(program), step);
  if (!applied) return at_step(applied.failure(), step, index);
  return *std::move(applied);
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
    auto next = apply_step(std::move(p), schedule, static_cast<int>(i));
    if (!next) break;
    p = *std::move(next);
    if (has(p, last, wrong)) return at_step(wrong, schedule.steps[i], static_cast<int>(i));
  }
  return wrong;
}

/// Chosen: what people read (not measured).
constexpr size_t kMostObjections = 20;  // that are told of one schedule

bool part_of_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.';
}

/// Where `word` stands in `text` as a whole word; npos where it does not.
size_t find_word(std::string_view text, std::string_view word) {
  for (size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) {
    const size_t end = at + word.size();
    if ((at == 0 || !part_of_name(text[at - 1])) &&
        (end == text.size() || !part_of_name(text[end]))) {
      return at;
    }
  }
  return text.npos;
}

/// Where in a step the first of its names stands that `reason` speaks of; 0: none of them.
size_t place_of(const Step& step, const std::string& text, const std::string& reason) {
  size_t first = reason.npos, place = 0;
  for (const Value& v : step.values) {
    for (const std::string& name : v.names) {
      // A loop may be told without its stage.
      for (const std::string& told : {name, name.substr(name.rfind('/') + 1)}) {
        const size_t at = find_word(reason, told);
        if (told.empty() || at >= first) continue;
        first = at;
        place = find_word(text, name);
      }
    }
  }
  return place == text.npos ? 0 : place;
}

/// The names of the loops and stages that a step makes.
std::vector<std::string> made_by(const Step& step) {
  std::vector<std::string> names;
  for (size_t i = 0; i < step.values.size(); ++i) {
    if (step.row->params[i].kind != Arg::kNew) continue;
    names.insert(names.end(), step.values[i].names.begin(), step.values[i].names.end());
  }
  return names;
}

}  // namespace

std::string objections(const ir::Program& program, const Schedule& schedule) {
  std::string out;
  ir::Program p = program;
  std::vector<std::string> lost;
  size_t told = 0;
  for (size_t i = 0; i < schedule.steps.size() && told < kMostObjections; ++i) {
    const Step& step = schedule.steps[i];
    const std::string text = print(step);
    const bool needs_lost = std::any_of(lost.begin(), lost.end(), [&](const std::string& name) {
      return find_word(text, name) != text.npos;
    });
    auto next = apply_step(p, schedule, static_cast<int>(i));
    if (next && !needs_lost) {
      p = *std::move(next);
      continue;
    }
    for (std::string& name : made_by(step)) lost.push_back(std::move(name));
    if (needs_lost) continue;
    const std::string& reason = next.failure().reason;
    const size_t at = place_of(step, text, reason);
    out += (out.empty() ? "" : "\n") + underlined(static_cast<int>(i), text, {at, reason});
    ++told;
  }
  if (!out.empty()) return out;
  const auto whole = apply(program, schedule);
  if (whole) return {};
  const ir::Reject& reject = whole.failure();
  return reject.step < 0 ? reject.reason
                         : underlined(reject.step, reject.step_text, {0, reject.reason});
}

Result<ir::Program, ir::Reject> apply(const ir::Program& program, const Schedule& schedule) {
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
