// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "include/hone/error.h"

namespace hone::ops {

/// Half-open range of bytes of a source text.
struct Span {
  int begin = 0;
  int end = 0;
};

/// The smallest span that covers both.
inline Span cover(Span a, Span b) {
  return {a.begin < b.begin ? a.begin : b.begin, a.end > b.end ? a.end : b.end};
}

/// A text that errors point into. `origin` (a file, or empty) stands before the line number, which
/// counts from `line`.
struct Source {
  std::string text;
  std::string origin;
  int line = 1;

  /// The bytes of a span, shortened in the middle when they are many.
  std::string snippet(Span span) const;
};

/// Collects the first error found in one source; what follows it is ignored.
class Diagnostics {
 public:
  explicit Diagnostics(std::shared_ptr<const Source> source) : source_(std::move(source)) {}

  /// Keeps this error unless there is one already.
  void error(Span span, std::string message, ErrorCode code = ErrorCode::kSemantic);
  /// True once an error was found.
  bool failed() const { return failure_.has_value(); }
  /// The error: `origin:line:column: message`, the source line, and the span underlined.
  const Failure& failure() const { return *failure_; }
  /// What errors point into.
  const Source& source() const { return *source_; }

 private:
  std::shared_ptr<const Source> source_;
  std::optional<Failure> failure_;
};

}  // namespace hone::ops
