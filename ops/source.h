// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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

/// Collects what is wrong in one source, up to a limit. Two errors at one place are one: the second
/// follows from the first.
class Diagnostics {
 public:
  explicit Diagnostics(std::shared_ptr<const Source> source) : source_(std::move(source)) {}

  /// Adds an error.
  void error(Span span, std::string message, ErrorCode code = ErrorCode::kSemantic);
  /// Adds an error that may follow from another one, such as a name that is never used: it is told
  /// after the others.
  void consequence(Span span, std::string message);
  /// Adds what is right and may still not be what was meant.
  void note(Span span, const std::string& message);
  /// Adds the errors of a part of this source that begins at `begin`.
  void adopt(const Diagnostics& part, int begin);
  /// True once an error was found.
  bool failed() const { return !errors_.empty(); }
  /// How many errors were found.
  size_t count() const { return errors_.size(); }
  /// True when no more errors are taken.
  bool full() const { return errors_.size() >= kMost; }
  /// True when an error points into `span`.
  bool has_error_in(Span span) const;
  /// All errors, the most useful first: `origin:line:column: message`, the source line, and the
  /// span underlined. Has the code of the first error.
  Failure failure() const;
  /// The notes, each as an error is told.
  const std::vector<std::string>& notes() const { return notes_; }
  /// What errors point into.
  const Source& source() const { return *source_; }

 private:
  static constexpr size_t kMost = 20;

  struct Found {
    Span span;
    bool follows = false;  ///< perhaps from another one
    ErrorCode code = ErrorCode::kSemantic;
    std::string message;
  };
  void add(Found found);

  std::shared_ptr<const Source> source_;
  std::vector<Found> errors_;
  std::vector<std::string> notes_;
};

/// Both messages, one below the other, with the code of the first.
Failure joined(Failure first, const Failure& second);

}  // namespace hone::ops
