// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/step_changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <vector>

namespace hone::runtime {
namespace {

using Steps = std::vector<std::string>;

std::string word_of(const std::string& step, size_t index) {
  size_t begin = 0;
  for (; index > 0 && begin < step.size(); --index) {
    begin = std::min(step.find(' ', begin), step.size() - 1) + 1;
  }
  return step.substr(begin, step.find(' ', begin) - begin);
}

/// What a step is about: its verb and the first thing that it names.
std::string subject_of(const std::string& step) {
  std::string first = word_of(step, 1);
  // An order is told by its stage: which loop comes first is what changes.
  if (word_of(step, 0) == "reorder") first = first.substr(0, first.find('/'));
  return word_of(step, 0) + " " + first;
}

/// The steps of `a` that `b` has not.
Steps without(Steps a, Steps b) {
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  Steps rest;
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(rest));
  return rest;
}

/// Takes the step about `subject` out of `steps`; empty where there is none.
std::string take(Steps& steps, const std::string& subject) {
  const auto found = std::find_if(steps.begin(), steps.end(), [&](const std::string& step) {
    return subject_of(step) == subject;
  });
  if (found == steps.end()) return "";
  std::string step = *found;
  steps.erase(found);
  return step;
}

}  // namespace

std::string step_changes(const schedules::Schedule& from, const schedules::Schedule& to) {
  Steps gone = without(from.texts(), to.texts());
  Steps factors, added, orders;
  for (const std::string& step : without(to.texts(), from.texts())) {
    const std::string subject = subject_of(step), verb = word_of(step, 0);
    const std::string before = take(gone, subject);
    const std::string was = word_of(before, 2), is = word_of(step, 2);
    if (verb == "split" && !before.empty() && was != is) {
      factors.push_back(fmt::format("{} {}->{}", word_of(step, 1), was, is));
    } else if (verb == "reorder") {
      orders.push_back(subject);
    } else {
      added.push_back((before.empty() ? "+" : "other ") + subject);
    }
  }
  std::vector<std::string> words = factors;
  words.insert(words.end(), added.begin(), added.end());
  for (const std::string& step : gone) {
    if (word_of(step, 0) != "reorder") words.push_back("-" + subject_of(step));
  }
  words.insert(words.end(), orders.begin(), orders.end());
  if (words.empty() && from.steps != to.steps) words.emplace_back("order of steps");
  return fmt::format("{}", fmt::join(words, ", "));
}

}  // namespace hone::runtime
