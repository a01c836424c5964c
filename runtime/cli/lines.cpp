// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/lines.h"

#include <fmt/format.h>

#include <cctype>

namespace hone::runtime {
namespace {

constexpr std::string_view kSpace = " \t\n\r";

std::string_view without_spaces(std::string_view text) {
  const size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

/// A bar with a space or an end of the text on both sides: `||` of an expression is none.
bool is_bar(std::string_view text, size_t at) {
  const auto open = [&](size_t i) {
    return i >= text.size() || kSpace.find(text[i]) != kSpace.npos;
  };
  return text[at] == '|' && (at == 0 || open(at - 1)) && open(at + 1);
}

bool in_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

}  // namespace

Result<ReproLine> parse_line(std::string_view text) {
  std::vector<std::string> parts(1);
  size_t begin = 0;
  // An op has bars of its own, `A[i] | B[i]`. It ends with a brace, which other parts have none of.
  const size_t brace = text.rfind('}');
  for (size_t at = brace == text.npos ? 0 : brace; at <= text.size(); ++at) {
    if (at < text.size() && !is_bar(text, at)) continue;
    parts.back() = without_spaces(text.substr(begin, at - begin));
    if (at < text.size()) parts.emplace_back();
    begin = at + 1;
  }
  if (parts.size() > 3) {
    return Failure{
        ErrorCode::kSyntax,
        fmt::format("expected `PROBLEM | TARGET | SCHEDULE`, got {} parts", parts.size())};
  }
  ReproLine line{parts[0], "", "", parts.size() == 3};
  if (parts.size() > 1) line.target = parts[1];
  if (parts.size() > 2) line.schedule = parts[2];
  return line;
}

void ReproLine::prefer(const std::optional<std::string>& given) {
  if (scheduled || !given) return;
  schedule = *given;
  scheduled = true;
}

bool begins_line(std::string_view word) {
  size_t end = 0;
  while (end < word.size() && in_name(word[end])) ++end;
  const bool named = end > 0 && std::isdigit(static_cast<unsigned char>(word[0])) == 0;
  const bool whole = end == word.size() || kSpace.find(word[end]) != kSpace.npos;
  // `M=1..64 at 1,8,64` is a binding of three words.
  return word.empty() || (named && whole && word.substr(0, end) != "at") || word[0] == '#';
}

std::vector<std::string> lines_of(const std::vector<std::string>& words) {
  std::vector<std::string> lines;
  bool open = false;  // a word was a bar
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    open = open || word.starts_with("|");
    // `M = 64` is one binding.
    const bool value = (i > 0 && words[i - 1].ends_with("=")) || word.starts_with("=");
    const bool key = i + 1 < words.size() && words[i + 1].starts_with("=");
    if (lines.empty() || !(open || value || key || !begins_line(word))) {
      lines.push_back(word);
    } else {
      lines.back() += (value && !open ? "" : " ") + word;
    }
  }
  return lines;
}

Failure no_problem(const char* verb) {
  return Failure{
      ErrorCode::kArgument,
      fmt::format("name a problem: hone {} \"PROBLEM [ | TARGET [ | SCHEDULE]]\"", verb)};
}

Result<ReproLine> only_line(const std::vector<std::string>& words, const char* verb) {
  const std::vector<std::string> lines = lines_of(words);
  if (lines.empty()) return no_problem(verb);
  if (lines.size() == 1) return parse_line(lines[0]);
  return Failure{ErrorCode::kArgument,
                 fmt::format("hone {} takes one problem; `{}` begins another", verb, lines[1])};
}

}  // namespace hone::runtime
