// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <immintrin.h>

namespace hone::runtime {

/// How this thread rounds and takes denormals, and its flags.
inline unsigned float_control() { return _mm_getcsr(); }

/// Has a worker round as its caller does, while it lives.
class CallersFloats {
 public:
  /// `callers`: float_control() of the calling thread.
  explicit CallersFloats(unsigned callers) : own_(_mm_getcsr()), differs_(own_ != callers) {
    if (differs_) _mm_setcsr(callers);
  }
  ~CallersFloats() {
    if (differs_) _mm_setcsr(own_);
  }
  CallersFloats(const CallersFloats&) = delete;
  CallersFloats& operator=(const CallersFloats&) = delete;

 private:
  unsigned own_;
  bool differs_;
};

}  // namespace hone::runtime
