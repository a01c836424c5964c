// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "include/hone/error.h"
#include "runtime/check/guarded_memory.h"

namespace hone::runtime {

/// Calls generated code on a stack of its own and looks at what the ABI says it must leave alone.
/// For the worker only: it keeps one static slot, so one call at a time.
class GuardedCall {
 public:
  using Function = void (*)(const int64_t* args, int64_t begin, int64_t end, void* scratch);

  static Result<GuardedCall> create();
  /// Runs `fn`; returns what was broken ("rbx r12 mxcsr stack"), or "".
  std::string run(Function fn, const int64_t* args, int64_t begin, int64_t end, void* scratch);

 private:
  explicit GuardedCall(GuardedMemory stack) : stack_(std::move(stack)) {}
  GuardedMemory stack_;
};

}  // namespace hone::runtime
