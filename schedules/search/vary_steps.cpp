// SPDX-License-Identifier: Apache-2.0
// Variations of a schedule by its steps.
#include <algorithm>
#include <sstream>

#include "schedules/search/random_steps.h"

namespace hone::schedules {
namespace {

std::vector<std::string> words_of(const std::string& step) {
  std::istringstream in(step);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(std::move(word));
  return words;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& w : words) text += (text.empty() ? "" : " ") + w;
  return text;
}

bool is_number(const std::string& word) {
  return !word.empty() && word.size() < 6 &&
         std::all_of(word.begin(), word.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// The greatest number at the end of a name, so that new names are new.
int last_number(const Schedule& schedule) {
  int most = 0;
  for (const std::string& step : schedule.texts()) {
    for (size_t i = 1; i < step.size(); ++i) {
      const bool starts = std::isalpha(static_cast<unsigned char>(step[i - 1])) != 0;
      if (!starts || step[i] < '0' || step[i] > '9') continue;
      most = std::max(most, static_cast<int>(std::strtol(step.c_str() + i, nullptr, 10) % 1000000));
    }
  }
  return most;
}

/// The loops that a split made of one: `Y/i` -> `Y/l.o`, `Y/l.i`.
struct Cut {
  std::string loop, outer, inner;
};

Cut cut_of(const std::string& step) {
  const std::vector<std::string> w = words_of(step);
  if (w.size() < 6 || w[0] != "split" || w[3] != "->") return {};
  const std::string stage = w[1].substr(0, w[1].find('/') + 1);
  return {w[1], stage + w[4], stage + w[5]};
}

}  // namespace

/// The same unless the schedule has the step already, as marks may stand twice.
bool RandomSchedules::accept_new(ir::Program& p, const std::string& text, Schedule& schedule) {
  const std::vector<std::string> steps = schedule.texts();
  if (text.empty() || std::find(steps.begin(), steps.end(), text) != steps.end()) return false;
  return accept(p, text, schedule, nullptr);
}

/// A step with one of its numbers or loops another.
std::string RandomSchedules::changed(const ir::Program& p, const std::string& step) {
  std::vector<std::string> words = words_of(step);
  std::vector<size_t> places;
  for (size_t i = 1; i < words.size(); ++i) {
    if (is_number(words[i]) || words[i].find('/') != std::string::npos) places.push_back(i);
  }
  if (places.empty()) return step;
  std::string& word = words[pick(places)];
  if (is_number(word)) {
    const int n = std::stoi(word);
    const std::vector<int> others = {n * 2, std::max(1, n / 2), n + 1, std::max(1, n - 1), 4, 8,
                                     16};
    word = std::to_string(pick(others));
    return joined(words);
  }
  const std::string stage = word.substr(0, word.find('/'));
  for (const ir::Stage& s : p.stages) {
    if (s.name == stage && !s.loops.empty()) word = loop_of(s);
  }
  return joined(words);
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
      const std::string text = propose(p, chance(40));
      if (!accept_new(p, text, out)) continue;
      --left;
      if (Cut cut = cut_of(text); !cut.loop.empty()) cuts.push_back(std::move(cut));
    }
    if (i == size || chance(dropped)) continue;
    std::vector<std::string> words = words_of(print(base.steps[static_cast<size_t>(i)]));
    // A loop that is cut now stands for one of its pieces.
    for (const Cut& cut : cuts) {
      const bool outer = chance(50);
      for (std::string& w : words) {
        if (w == cut.loop) w = outer ? cut.outer : cut.inner;
      }
    }
    const std::string step = joined(words);
    if (!chance(touched) || !accept_new(p, changed(p, step), out)) accept_new(p, step, out);
  }
  // Loops that lost their marks, or never had any.
  for (int tries = below(4); tries > 0; --tries) accept_new(p, propose(p, true), out);
  settle(out, nullptr);
  return out;
}

}  // namespace hone::schedules
