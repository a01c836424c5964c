// SPDX-License-Identifier: Apache-2.0
// What is behind the handles of the C interface, and what keeps exceptions on this side of it.
#pragma once

#include <memory>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "include/hone/c.h"
#include "include/hone/hone.h"

/// An engine and the pool that was made of the caller's functions.
struct hone_engine {
  std::shared_ptr<hone::ThreadPool> pool;  ///< null: the engine's own
  hone::Engine engine;
  std::string target;
};

/// A kernel, or one with constants bound.
struct hone_kernel {
  /// A parameter's numbers where C can read them.
  struct Shape {
    std::vector<int64_t> extents;
    std::vector<int64_t> strides;
  };

  hone_kernel(std::shared_ptr<hone::ThreadPool> p, hone::Kernel k,
              std::optional<hone::Bound> b = {});

  std::shared_ptr<hone::ThreadPool> pool;  ///< outlives what runs on it
  hone::Kernel kernel;
  std::optional<hone::Bound> bound;
  std::vector<Shape> shapes;
};

namespace hone::runtime {

/// A copy that hone_free gives back; throws std::bad_alloc.
char* c_text(std::string_view text);

/// Leaves the message in `error`, if there is one, and returns the status.
hone_status c_failure(const Failure& failure, char** error) noexcept;

/// Runs `f`, which returns a Result<Done>; an exception becomes a status.
template <class F>
hone_status c_guard(char** error, F f) noexcept {
  try {
    if (error) *error = nullptr;
    const Result<Done> done = f();
    return done ? HONE_OK : c_failure(done.failure(), error);
  } catch (const Error& e) {
    return c_failure({e.code(), {}}, error);
  } catch (const std::bad_alloc&) {
    return c_failure({ErrorCode::kMemory, {}}, error);
  } catch (...) {
    return c_failure({ErrorCode::kInternal, {}}, error);
  }
}

/// A member of an options struct, or its default where the caller's struct is shorter.
template <class Options>
Options c_options(const Options* given) {
  Options all{};
  if (given) {
    const size_t size = given->struct_size < sizeof all ? given->struct_size : sizeof all;
    __builtin_memcpy(&all, given, size);
  }
  return all;
}

}  // namespace hone::runtime
