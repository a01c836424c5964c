// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "include/hone/error.h"

namespace hone::jit {

/// Finished code in executable memory.
struct ExecutableSpan {
  const uint8_t* data = nullptr;  ///< 64-byte aligned
  size_t size = 0;
};

/// Executable memory that is never writable and executable under one address: every block of pages
/// is mapped twice, once to write and once to run. Thread-safe. Spans stay valid until released or
/// the object goes.
class ExecutableMemory {
 public:
  ExecutableMemory();
  ~ExecutableMemory();
  ExecutableMemory(const ExecutableMemory&) = delete;
  ExecutableMemory& operator=(const ExecutableMemory&) = delete;

  /// Copies finished code in. kUnsupported where the system forbids executable mappings (the
  /// caller falls back to the interpreter), kMemory where it has no more.
  Result<ExecutableSpan> add(std::span<const uint8_t> code);

  /// Gives a span back; nothing may be running in it. Its bytes become traps, and serve again
  /// once all spans of their block have been given back.
  void release(const ExecutableSpan& span);

  /// Bytes of spans that are in use, rounded up to 64 each.
  size_t used() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hone::jit
