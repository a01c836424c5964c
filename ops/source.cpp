// SPDX-License-Identifier: Apache-2.0
#include "ops/source.h"

#include <algorithm>

#include "jit/ir/sort.h"

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

/// `message` as it is told: where, what, and the source line with the span underlined.
std::string told(const Source& source, Span span, const std::string& message) {
  const std::string_view text(source.text);
  const Span line = line_of(text, span.begin);
  const auto number = source.line + std::count(text.begin(), text.begin() + line.begin, '\n');
  std::string out = source.origin.empty() ? "" : source.origin + ":";
  out += std::to_string(number) + ":" + std::to_string(span.begin - line.begin + 1) + ": ";
  return out + message + excerpt(text, line, span);
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

void Diagnostics::add(Found found) {
  if (full()) return;
  const int size = static_cast<int>(source_->text.size());
  found.span.begin = std::clamp(found.span.begin, 0, size);
  found.span.end = std::clamp(found.span.end, found.span.begin, size);
  for (const Found& known : errors_) {
    if (known.span.begin == found.span.begin && known.span.end == found.span.end) return;
  }
  errors_.push_back(std::move(found));
}

void Diagnostics::error(Span span, std::string message, ErrorCode code) {
  add({span, false, code, std::move(message)});
}

void Diagnostics::consequence(Span span, std::string message) {
  add({span, true, ErrorCode::kSemantic, std::move(message)});
}

void Diagnostics::adopt(const Diagnostics& part, int begin) {
  for (Found e : part.errors_) {
    e.span.begin += begin;
    e.span.end += begin;
    add(std::move(e));
  }
}

void Diagnostics::note(Span span, const std::string& message) {
  notes_.push_back(told(*source_, span, message));
}

bool Diagnostics::has_error_in(Span span) const {
  return std::any_of(errors_.begin(), errors_.end(), [&](const Found& e) {
    return span.begin <= e.span.begin && e.span.begin < span.end;
  });
}

Failure Diagnostics::failure() const {
  std::vector<Found> sorted = errors_;
  ir::stable_sort(sorted, [](const Found& a, const Found& b) {
    return a.follows != b.follows ? b.follows : a.span.begin < b.span.begin;
  });
  Failure all{sorted.front().code, {}};
  for (const Found& e : sorted) {
    all.message += (all.message.empty() ? "" : "\n") + told(*source_, e.span, e.message);
  }
  if (full()) all.message += "\nThese are the first 20 errors; there may be more.";
  return all;
}

Failure joined(Failure first, const Failure& second) {
  first.message += "\n" + second.message;
  return first;
}

}  // namespace hone::ops
