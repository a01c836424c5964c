// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>
#include <utility>

#include "schedules/read.h"

namespace hone::schedules {
namespace {

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

/// The names of the loops and stages that a step makes; of one that does not parse, the words where
/// they stand.
std::vector<std::string> made_by(const ReadStep& read) {
  std::vector<std::string> names;
  if (!read.step) {
    const size_t arrow = read.text.find("->");
    const std::string_view made = arrow == read.text.npos ? "" : read.text.substr(arrow + 2);
    for (size_t at = 0, end = 0; at < made.size(); at = end + 1) {
      for (end = at; end < made.size() && part_of_name(made[end]);) ++end;
      if (end < made.size() && made[end] == '=') break;  // options follow
      if (end > at) names.emplace_back(made.substr(at, end - at));
    }
    return names;
  }
  const Step& step = *read.step;
  for (size_t i = 0; i < step.values.size(); ++i) {
    if (step.row->params[i].kind != Arg::kNew) continue;
    names.insert(names.end(), step.values[i].names.begin(), step.values[i].names.end());
  }
  return names;
}

}  // namespace

std::string objections(const ir::Program& program, std::string_view schedule) {
  Objections out;
  ir::Program p = program;
  std::vector<std::string> lost;
  const std::vector<ReadStep> read = read_steps(schedule);
  for (size_t i = 0; i < read.size(); ++i) {
    const std::string text = read[i].step ? print(*read[i].step) : "";
    const bool needs_lost = std::any_of(lost.begin(), lost.end(), [&](const std::string& name) {
      return find_word(text, name) != text.npos;
    });
    for (const SyntaxError& flaw : read[i].flaws) out.add(i, read[i].text, flaw);
    if (read[i].flaws.empty() && !needs_lost) {
      Applied next = apply_step(p, *read[i].step);
      if (next) {
        p = *std::move(next);
        continue;
      }
      const std::string& reason = next.failure().reason;
      out.add(i, text, {place_of(*read[i].step, text, reason), reason});
    }
    for (std::string& name : made_by(read[i])) lost.push_back(std::move(name));
  }
  if (!out.text().empty()) return out.text();
  const auto whole = apply(program, Schedule::parse(schedule).value());
  if (whole) return {};
  const ir::Reject& reject = whole.failure();
  return reject.step < 0 ? reject.reason
                         : underlined(reject.step, reject.step_text, {0, reject.reason});
}

Result<Scheduled> apply_text(const ir::Program& program, std::string_view schedule) {
  auto steps = Schedule::parse(schedule);
  if (!steps) return Failure{ErrorCode::kSyntax, objections(program, schedule)};
  auto scheduled = apply(program, *steps);
  if (!scheduled) return Failure{ErrorCode::kSchedule, objections(program, schedule)};
  return Scheduled{*std::move(steps), *std::move(scheduled)};
}

}  // namespace hone::schedules
