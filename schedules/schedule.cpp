// SPDX-License-Identifier: Apache-2.0
#include "schedules/schedule.h"

#include <algorithm>
#include <utility>

#include "schedules/read.h"

namespace hone::schedules {
namespace {

/// What is wrong with the knobs of `number`, given those defined so far; empty when nothing.
std::string knob_objection(const Number& number, std::vector<std::string>& defined) {
  for (const Factor& f : number.factors) {
    const bool known = std::find(defined.begin(), defined.end(), f.name) != defined.end();
    if (f.kind == Factor::kKnob && known) return "knob ?" + f.name + " is defined twice";
    if (f.kind == Factor::kKnob) defined.push_back(f.name);
    if (f.kind == Factor::kReference && !known) {
      return "$" + f.name + " stands before ?" + f.name + "=... defines it";
    }
  }
  return {};
}

Number fixed(const Number& number, const std::vector<std::string>& names,
             const std::vector<int64_t>& values) {
  Number out = number;
  for (Factor& f : out.factors) {
    if (f.kind == Factor::kConstant) continue;
    for (size_t i = 0; i < names.size() && i < values.size(); ++i) {
      if (names[i] != f.name) continue;
      f.kind = Factor::kConstant;
      f.value = values[i];
    }
  }
  return out.fixed() ? Number(out.value()) : out;
}

}  // namespace

std::string underlined(int index, std::string_view text, const SyntaxError& error) {
  size_t skip = 0;
  while (skip < text.size() && (text[skip] == ' ' || text[skip] == '\t')) ++skip;
  std::string message = "schedule, step " + std::to_string(index + 1) + ": " + error.message;
  message += "\n  " + std::string(text.substr(skip)) + "\n  ";
  message += std::string(error.at > skip ? error.at - skip : 0, ' ') + "^";
  return message;
}

void Objections::add(size_t index, std::string_view text, const SyntaxError& error) {
  if (count_ == kMostObjections) return;
  ++count_;
  text_ += (text_.empty() ? "" : "\n") + underlined(static_cast<int>(index), text, error);
}

std::vector<ReadStep> read_steps(std::string_view text) {
  std::vector<ReadStep> out;
  std::vector<std::string> defined;
  while (!text.empty()) {
    const size_t end = std::min(text.find_first_of(";\n"), text.size());
    ReadStep one{text.substr(0, end), {}, {}};
    text.remove_prefix(std::min(end + 1, text.size()));
    if (one.text.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    if (auto step = parse_step(one.text)) {
      for (const Number* number : step->numbers()) {
        std::string objection = knob_objection(*number, defined);
        if (!objection.empty()) one.flaws.push_back({0, std::move(objection)});
      }
      one.step = *std::move(step);
    } else {
      one.flaws.push_back(step.failure());
    }
    out.push_back(std::move(one));
  }
  return out;
}

Result<Schedule> Schedule::parse(std::string_view text) {
  Schedule out;
  Objections wrong;
  const std::vector<ReadStep> read = read_steps(text);
  for (size_t i = 0; i < read.size(); ++i) {
    for (const SyntaxError& flaw : read[i].flaws) wrong.add(i, read[i].text, flaw);
    if (read[i].step) out.steps.push_back(*read[i].step);
  }
  if (wrong.text().empty()) return out;
  return Failure{ErrorCode::kSyntax, wrong.text()};
}

std::string Schedule::text() const {
  std::string out;
  for (const Step& s : steps) out += (out.empty() ? "" : "; ") + print(s);
  return out;
}

std::vector<std::string> Schedule::texts() const {
  std::vector<std::string> out;
  for (const Step& s : steps) out.push_back(print(s));
  return out;
}

std::vector<Knob> knobs(const Schedule& schedule) {
  std::vector<Knob> out;
  for (const Step& step : schedule.steps) {
    for (const Number* number : step.numbers()) {
      for (const Factor& f : number->factors) {
        if (f.kind == Factor::kKnob) out.push_back({f.name, f.domain.values()});
      }
    }
  }
  return out;
}

Step fix(Step step, const std::vector<std::string>& names, const std::vector<int64_t>& values) {
  for (Value& v : step.values) {
    if (!v.number.factors.empty()) v.number = fixed(v.number, names, values);
    for (LayoutAxis& a : v.layout) {
      a.div = fixed(a.div, names, values);
      if (!a.mod.factors.empty()) a.mod = fixed(a.mod, names, values);
    }
  }
  return step;
}

Schedule fix(const Schedule& schedule, const std::vector<int64_t>& values) {
  std::vector<std::string> names;
  for (Knob& k : knobs(schedule)) names.push_back(std::move(k.name));
  Schedule out = schedule;
  for (Step& step : out.steps) step = fix(std::move(step), names, values);
  return out;
}

}  // namespace hone::schedules
