// SPDX-License-Identifier: Apache-2.0
// What is behind the handles of the C interface, and what keeps exceptions on this side of it.
#pragma once

#include <algorithm>
#include <cstring>
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
  /// What a hone_param points to.
  struct Shape {
    std::vector<int64_t> extents;
    std::vector<const char*> dims;  ///< of the kernel's params()
    std::vector<int64_t> strides;
  };

  hone_kernel(std::shared_ptr<hone::ThreadPool> p, hone::Kernel k,
              std::optional<hone::Bound> b = {});

  std::shared_ptr<hone::ThreadPool> pool;  ///< outlives what runs on it
  hone::Kernel kernel;
  std::optional<hone::Bound> bound;
  std::vector<Shape> shapes;
  std::vector<hone_param> params;
};

namespace hone::runtime {

/// A copy that hone_free gives back; throws std::bad_alloc.
char* c_text(std::string_view text);

/// Leaves the message in `error`, if there is one, and returns the status.
hone_status c_failure(ErrorCode code, const char* message, char** error) noexcept;

/// Runs `f`, which returns a Result<Done>; an exception becomes a status.
template <class F>
hone_status c_guard(char** error, F f) noexcept {
  try {
    if (error) *error = nullptr;
    const Result<Done> done = f();
    if (done) return HONE_OK;
    return c_failure(done.failure().code, done.failure().message.c_str(), error);
  } catch (const Error& e) {
    return c_failure(e.code(), e.what(), error);
  } catch (const std::bad_alloc&) {
    return c_failure(ErrorCode::kMemory, "the system has no more memory", error);
  } catch (const std::exception& e) {
    return c_failure(ErrorCode::kInternal, e.what(), error);
  } catch (...) {
    return c_failure(ErrorCode::kInternal, "no std::exception was thrown", error);
  }
}

/// The caller's struct, with defaults for the members that it is too short for.
template <class Struct>
Struct c_options(const Struct* given) {
  Struct all{};
  if (given) std::memcpy(&all, given, std::min(given->struct_size, sizeof all));
  return all;
}

/// Copies `all` to the caller's struct, as far as that goes.
template <class Struct>
void c_result(Struct* out, Struct all) {
  if (!out) return;
  all.struct_size = out->struct_size;
  std::memcpy(out, &all, std::min(out->struct_size, sizeof all));
}

}  // namespace hone::runtime
