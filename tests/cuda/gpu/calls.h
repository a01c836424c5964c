// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tests/cuda/gpu/context.h"

namespace hone::tests {

/// The functions of the driver.
enum class Call : int {
#define HONE_CUDA_FUNCTION(member, symbol, parameters) member,
#include "jit/cuda/driver_functions.def"
#undef HONE_CUDA_FUNCTION
  count
};

/// Counts a call; the error that the environment wants of it, or 0.
int begin(Call call);
/// Calls of a function so far, by its symbol; -1 for a symbol that is none.
int64_t calls_of(const char* symbol);
/// Counts bytes that are copied to the host.
void count_to_host(size_t bytes);

/// Runs `f(lock)` as the body of a call that needs no context.
template <class F>
int in_driver(Call call, const F& f) {
  if (const int wanted = begin(call)) return wanted;
  std::unique_lock lock(gpus().mutex);
  if (!gpus().initialized) return kNotInitialized;
  return f(lock);
}

/// Runs `f(context, lock)` as the body of a call that needs one. What went wrong on the device
/// before is told first, as the driver does.
template <class F>
int in_context(Call call, const F& f) {
  return in_driver(call, [&](std::unique_lock<std::mutex>& lock) -> int {
    Context* const context = gpus().current();
    if (!context) return current_handle() ? kContextIsDestroyed : kInvalidContext;
    if (const int error = context->queue.error()) return error;
    return f(*context, lock);
  });
}

}  // namespace hone::tests
