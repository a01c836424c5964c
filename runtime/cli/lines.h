// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "include/hone/error.h"

namespace hone::runtime {

/// `PROBLEM [ | TARGET [ | SCHEDULE]]`.
struct ReproLine {
  std::string problem;
  std::string target;
  std::string schedule;
  bool scheduled = false;  ///< a schedule was given, though it may be empty

  /// Takes the schedule of an option where the line has none.
  void prefer(const std::optional<std::string>& given);
};

/// Splits at bars that stand alone; any part may be empty.
Result<ReproLine> parse_line(std::string_view text);

/// The repro lines in the words of a command line. `matmul M=64` in quotes is one word and one
/// line; without quotes its bindings are words of the same line. A word that is a bar joins all
/// that follow to one line.
std::vector<std::string> lines_of(const std::vector<std::string>& words);

/// Whether a word begins a line of its own: the name of an op, rather than a binding.
bool begins_line(std::string_view word);

/// A line without the problem that `verb` is about. Not left to the parser, which would name it
/// before an option that it does not know.
Failure no_problem(const char* verb);

/// The one line of a verb that takes one.
Result<ReproLine> only_line(const std::vector<std::string>& words, const char* verb);

}  // namespace hone::runtime
