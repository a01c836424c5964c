// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <string>
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

/// Runs `f`, which uses a host's pool: what that throws is an error of the host.
template <class F>
Result<Done> guard_pool(F&& f) {
  const auto threw = [](const std::string& what) {
    return Failure{ErrorCode::kArgument, "EngineOptions::pool threw: " + what};
  };
  try {
    f();
  } catch (const std::exception& e) {
    return threw(e.what());
  } catch (...) {
    return threw("no std::exception");
  }
  return Done{};
}

}  // namespace hone::runtime
