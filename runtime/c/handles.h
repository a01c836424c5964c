// SPDX-License-Identifier: Apache-2.0
// What is behind the handles of the C interface, and what keeps exceptions on this side of it.
#pragma once

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <new>
#include <optional>
#include <span>
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

namespace hone::runtime {

/// Parameters as C has them. They point into what they are made of.
class ParamList {
 public:
  explicit ParamList(std::span<const Param> params);
  ParamList(const ParamList&) = delete;
  ParamList& operator=(const ParamList&) = delete;
  size_t size() const { return params_.size(); }
  /// Null where `index` is none.
  const hone_param* at(size_t index) const {
    return index < params_.size() ? &params_[index] : nullptr;
  }

 private:
  /// What a hone_param points to.
  struct Shape {
    std::vector<int64_t> extents;
    std::vector<const char*> dims;
    std::vector<int64_t> most;
    std::vector<int32_t> by_data;
  };

  std::vector<Shape> shapes_;
  std::vector<hone_param> params_;
};

}  // namespace hone::runtime

/// A kernel, or one with constants bound.
struct hone_kernel {
  hone_kernel(std::shared_ptr<hone::ThreadPool> p, hone::Kernel k,
              std::optional<hone::Bound> b = {});

  std::shared_ptr<hone::ThreadPool> pool;  ///< outlives what runs on it
  hone::Kernel kernel;
  std::optional<hone::Bound> bound;
  hone::runtime::ParamList params;
};

/// A model, with what its hone_steps point to.
struct hone_model {
  hone_model(std::shared_ptr<hone::ThreadPool> p, hone::Model m);

  std::shared_ptr<hone::ThreadPool> pool;  ///< outlives what runs on it
  hone::Model model;
  hone::runtime::ParamList params;
  std::deque<hone_kernel> kernels;              ///< one for each step
  std::vector<std::vector<const char*>> names;  ///< ops, reads and makes of each step
  std::vector<hone_step> steps;
};

namespace hone::runtime {

/// A copy that hone_free gives back; throws std::bad_alloc.
char* c_text(std::string_view text);

/// What must not be null.
Failure c_missing(const char* what);

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
