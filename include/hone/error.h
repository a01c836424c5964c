// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

#include "hone/export.h"

namespace hone {

/// What kind of user error happened; stable across releases.
enum class ErrorCode : int {
  kOk = 0,
  kSyntax,       ///< text that does not parse
  kSemantic,     ///< text that parses but means nothing (unknown index, dtype mismatch, ...)
  kArgument,     ///< a tensor or option that does not fit the call
  kBounds,       ///< data-dependent index outside its tensor, or decreasing offsets
  kSchedule,     ///< a schedule given by hand that is rejected
  kNotFound,     ///< unknown op, file or record
  kCache,        ///< the cache cannot be used
  kUnsupported,  ///< this machine or build cannot do it
  kMemory,       ///< past the memory ceiling
  kCancelled,    ///< stopped by the caller
  kInternal,     ///< a bug in hone; the message holds a repro line
  kDevice,       ///< a GPU or its driver failed
};

/// A user error as a value: what, where, and what would be accepted.
struct Failure {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;
};

/// The exception that public members throw for a Failure. Every throwing member has a `try_` twin.
class HONE_API Error : public std::runtime_error {
 public:
  explicit Error(Failure failure) : std::runtime_error(failure.message), code_(failure.code) {}
  /// The kind of error.
  ErrorCode code() const { return code_; }

 private:
  ErrorCode code_;
};

/// A bug in hone (verification failed late, a kernel disagrees with the reference); the message
/// holds the full repro line.
class HONE_API InternalError : public Error {
 public:
  explicit InternalError(std::string message)
      : Error(Failure{ErrorCode::kInternal, std::move(message)}) {}
};

/// A value or the reason why there is none. `E` is Failure for user errors, Reject for schedules.
template <class T, class E = Failure>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit
  Result(E failure) : state_(std::in_place_index<1>, std::move(failure)) {}  // NOLINT: implicit

  explicit operator bool() const { return state_.index() == 0; }
  T& operator*() & { return std::get<0>(state_); }
  const T& operator*() const& { return std::get<0>(state_); }
  T&& operator*() && { return std::get<0>(std::move(state_)); }
  T* operator->() { return &std::get<0>(state_); }
  const T* operator->() const { return &std::get<0>(state_); }
  /// The reason; only when there is no value.
  const E& failure() const { return std::get<1>(state_); }
  /// The value; throws hone::Error when there is none, InternalError for a bug (for E = Failure).
  T value() && {
    if (*this) return std::get<0>(std::move(state_));
    if (failure().code == ErrorCode::kInternal) throw InternalError(failure().message);
    throw Error(failure());
  }

 private:
  std::variant<T, E> state_;
};

/// The value of a Result that has nothing to say but "done".
using Done = std::monostate;

}  // namespace hone
