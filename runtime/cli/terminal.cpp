// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace hone::runtime {
namespace {

/// Where nothing says how wide a line is.
/// Chosen: what people read (not measured).
constexpr size_t kUsualWidth = 100;
/// Narrower paper is not believed.
/// Chosen: what people read (not measured).
constexpr size_t kLeastWidth = 40;
/// `  schedule  ` and the labels below it; ` (transferred)` behind a schedule.
/// Fixed by: the longest of these texts.
constexpr size_t kLabelWidth = 12, kSourceWidth = 14;

}  // namespace

size_t line_width() {
  if (const char* columns = std::getenv("COLUMNS"); columns && *columns) {
    const long asked = std::strtol(columns, nullptr, 10);
    if (asked > 0) return std::max(static_cast<size_t>(asked), kLeastWidth);
  }
  winsize size{};
  const bool terminal = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return terminal ? std::max<size_t>(size.ws_col, kLeastWidth) : 0;
}

std::string fitted(std::string_view text, size_t width) {
  if (width == 0 || text.size() <= width) return std::string(text);
  return std::string(text.substr(0, width - std::min<size_t>(width, 3))) + "...";
}

std::string in_lines(std::string_view schedule, size_t indent, size_t width) {
  std::string text;
  size_t column = indent;
  while (!schedule.empty()) {
    const size_t end = std::min(schedule.find("; "), schedule.size());
    const bool last = end == schedule.size();
    const size_t length = end + (last ? 0 : 1);  // its semicolon
    if (column > indent && width > 0 && column + 1 + length > width) {
      text += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      text += " ";
      ++column;
    }
    text += schedule.substr(0, length);
    column += length;
    schedule.remove_prefix(last ? end : end + 2);
  }
  return text;
}

std::string schedule_lines(std::string_view schedule) {
  if (schedule.empty()) return "none";
  const size_t width = line_width();
  return in_lines(schedule, kLabelWidth, (width > 0 ? width : kUsualWidth) - kSourceWidth);
}

}  // namespace hone::runtime
