// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schedules/schedule.h"

namespace hone::schedules {

/// A step as it stands in the text of a schedule, and what is wrong with it by itself.
struct ReadStep {
  std::string_view text;
  std::optional<Step> step;  ///< where it parses
  std::vector<SyntaxError> flaws;
};

/// The steps of a text, in order.
std::vector<ReadStep> read_steps(std::string_view text);

/// The program with one step applied; a reject does not say by which.
Applied apply_step(ir::Program program, const Step& step);

/// The text of what is wrong with the steps of a schedule, each with a caret under the place.
class Objections {
 public:
  void add(size_t index, std::string_view text, const SyntaxError& error);
  const std::string& text() const { return text_; }

 private:
  /// Chosen: what people read (not measured).
  static constexpr int kMostObjections = 20;
  std::string text_;
  int count_ = 0;
};

}  // namespace hone::schedules
