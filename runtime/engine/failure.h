// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include "include/hone/error.h"

namespace hone::runtime {

/// Throws what a failure is to the public: InternalError for a bug, Error for the rest.
[[noreturn]] inline void raise(const Failure& failure) {
  if (failure.code == ErrorCode::kInternal) throw InternalError(failure.message);
  throw Error(failure);
}

/// The value; throws where there is none.
template <class T>
T value_or_raise(Result<T> result) {
  if (!result) raise(result.failure());
  return *std::move(result);
}

}  // namespace hone::runtime
