// SPDX-License-Identifier: Apache-2.0
// Variations of a schedule by its steps.
#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include "schedules/search/random_steps.h"
#include "schedules/steps/build.h"
#include "schedules/steps/rows.h"

namespace hone::schedules {
namespace {

/// The greatest number at the end of a name, so that new names are new.
int last_number(const Schedule& schedule) {
  int most = 0;
  const auto look = [&](const std::string& name) {
    for (size_t i = 1; i < name.size(); ++i) {
      if (std::isalpha(static_cast<unsigned char>(name[i - 1])) == 0) continue;
      int number = 0;
      std::from_chars(name.data() + i, name.data() + name.size(), number);
      most = std::max(most, number % 1000000);
    }
  };
  for (const Step& step : schedule.steps) {
    for (const Value& v : step.values) {
      for (const std::string& name : v.names) look(name);
    }
  }
  return most;
}

/// The loops that a split made of one: `Y/i` -> `Y/l.o`, `Y/l.i`.
struct Cut {
  std::string loop, outer, inner;
};

/// Of a split whose loop has its stage's name in front; else nothing.
std::optional<Cut> cut_of(const Step& step) {
  if (step.row != &kSplit) return {};
  const std::string& loop = step.name("loop");
  const size_t slash = loop.find('/');
  if (slash == std::string::npos) return {};
  const std::string stage = loop.substr(0, slash + 1);
  return Cut{loop, stage + step.name("outer"), stage + step.name("inner")};
}

/// Greater numbers are left as they are.
/// Fixed by: nothing larger is a tile's size.
constexpr int64_t kMostChanged = 99999;

/// The arguments of a step that may change: numbers, and loops with their stage's name in front.
struct Changeable {
  std::vector<int64_t*> numbers;
  std::vector<std::string*> loops;
};

Changeable changeable(Step& step) {
  Changeable out;
  for (size_t i = 0; i < step.values.size(); ++i) {
    Value& v = step.values[i];
    if (step.row->params[i].kind == Arg::kNumber && v.number.factors.size() == 1) {
      Factor& only = v.number.factors[0];
      if (only.kind == Factor::kConstant && only.value <= kMostChanged) {
        out.numbers.push_back(&only.value);
      }
    }
    for (std::string& name : v.names) {
      if (name.find('/') != std::string::npos) out.loops.push_back(&name);
    }
  }
  return out;
}

}  // namespace

/// The same unless the schedule has the step already, as marks may stand twice.
bool RandomSchedules::accept_new(ir::Program& p, Step step, Schedule& schedule) {
  const std::vector<Step>& steps = schedule.steps;
  if (std::find(steps.begin(), steps.end(), step) != steps.end()) return false;
  return accept(p, std::move(step), schedule, nullptr);
}

/// A step with one of its numbers or loops another.
Step RandomSchedules::changed(const ir::Program& p, Step step) {
  const Changeable places = changeable(step);
  const size_t count = places.numbers.size() + places.loops.size();
  if (count == 0) return step;
  const auto at = static_cast<size_t>(below(static_cast<int>(count)));
  if (at < places.numbers.size()) {
    int64_t& n = *places.numbers[at];
    const std::array<int64_t, 7> others = {
        n * 2, std::max<int64_t>(1, n / 2), n + 1, std::max<int64_t>(1, n - 1), 4, 8, 16};
    n = pick(others);
    return step;
  }
  std::string& loop = *places.loops[at - places.numbers.size()];
  const std::string stage = loop.substr(0, loop.find('/'));
  for (const ir::Stage& s : p.stages) {
    if (s.name == stage && !s.loops.empty()) loop = stage + "/" + loop_of(s).loop;
  }
  return step;
}

Schedule RandomSchedules::vary(const Schedule& base) {
  names_ = last_number(base);
  const auto size = static_cast<int>(base.steps.size());
  const int at = below(size + 1), added = below(4);
  const int dropped = 100 * below(3) / std::max(size, 1), touched = 100 / std::max(size, 1);
  Schedule out;
  ir::Program p = program_;
  std::vector<Cut> cuts;
  for (int i = 0; i <= size; ++i) {
    for (int tries = 0, left = i == at ? added : 0; left > 0 && tries < 8; ++tries) {
      const std::optional<Step> step = propose(p, chance(40));
      if (!step || !accept_new(p, *step, out)) continue;
      --left;
      if (std::optional<Cut> cut = cut_of(*step)) cuts.push_back(*std::move(cut));
    }
    if (i == size || chance(dropped)) continue;
    Step step = base.steps[static_cast<size_t>(i)];
    // A loop that is cut now stands for one of its pieces.
    for (const Cut& cut : cuts) {
      const bool outer = chance(50);
      for (Value& v : step.values) {
        for (std::string& name : v.names) {
          if (name == cut.loop) name = outer ? cut.outer : cut.inner;
        }
      }
    }
    if (!chance(touched) || !accept_new(p, changed(p, step), out)) accept_new(p, step, out);
  }
  // Loops that lost their marks, or never had any.
  for (int tries = below(4); tries > 0; --tries) {
    if (std::optional<Step> step = propose(p, true)) accept_new(p, *std::move(step), out);
  }
  settle(out, nullptr);
  return out;
}

}  // namespace hone::schedules
