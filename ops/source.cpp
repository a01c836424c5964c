// SPDX-License-Identifier: Apache-2.0
#include "ops/source.h"

#include <algorithm>

namespace hone::ops {
namespace {

constexpr int kExcerpt = 96;  // columns of a source line that an error shows

/// `text` with everything unprintable replaced, so that a hostile text cannot garble a terminal.
std::string printable(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c == '\t') c = ' ';
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return out;
}

/// The line that holds `at`, as a span.
Span line_of(std::string_view text, int at) {
  const size_t before = at == 0 ? std::string_view::npos : text.rfind('\n', at - 1);
  const size_t after = text.find('\n', at);
  return {before == std::string_view::npos ? 0 : static_cast<int>(before) + 1,
          static_cast<int>(after == std::string_view::npos ? text.size() : after)};
}

/// The source line and a line with the span underlined; a long line shows the part around it.
std::string excerpt(std::string_view text, Span line, Span span) {
  int from = line.begin, to = line.end;
  bool cut_left = false, cut_right = false;
  if (to - from > kExcerpt) {
    from = std::clamp(span.begin - kExcerpt / 3, line.begin, line.end - kExcerpt);
    to = from + kExcerpt;
    cut_left = from > line.begin;
    cut_right = to < line.end;
  }
  std::string out = "\n  ";
  out += cut_left ? "..." : "";
  out += printable(text.substr(from, to - from));
  out += cut_right ? "..." : "";
  out += "\n  ";
  out.append(span.begin - from + (cut_left ? 3 : 0), ' ');
  out += '^';
  const int end = std::min(span.end, to);
  if (end > span.begin + 1) out.append(end - span.begin - 1, '~');
  return out;
}

}  // namespace

std::string Source::snippet(Span span) const {
  constexpr int kMost = 48;
  std::string_view all(text);
  if (span.end - span.begin <= kMost) {
    return printable(all.substr(span.begin, span.end - span.begin));
  }
  return printable(all.substr(span.begin, kMost / 2)) + "..." +
         printable(all.substr(span.end - kMost / 2, kMost / 2));
}

void Diagnostics::error(Span span, std::string message, ErrorCode code) {
  if (failure_) return;
  const std::string_view text(source_->text);
  const int size = static_cast<int>(text.size());
  span.begin = std::clamp(span.begin, 0, size);
  span.end = std::clamp(span.end, span.begin, size);
  const Span line = line_of(text, span.begin);
  const auto number = source_->line + std::count(text.begin(), text.begin() + line.begin, '\n');
  std::string out = source_->origin.empty() ? "" : source_->origin + ":";
  out += std::to_string(number) + ":" + std::to_string(span.begin - line.begin + 1) + ": ";
  out += message;
  out += excerpt(text, line, span);
  failure_ = Failure{code, std::move(out)};
}

}  // namespace hone::ops
