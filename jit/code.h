// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace hone::jit {

/// Changes whenever emitted code may: what was measured under another number is a hint, not a fact.
/// Fixed by: a count of changes.
inline constexpr int kCodeGeneration = 16;

/// Facts about generated code, for `hone show --report` and JSON.
struct Report {
  int instructions = 0;
  int spills = 0;
  int inner_spills = 0;
  int vec_peak = 0;
  int frame_bytes = 0;
  int64_t code_bytes = 0;
  double schedule_us = 0;  ///< Halide: until the Funcs had their schedule
  double compile_us = 0;   ///< Halide: from there to machine code
};

}  // namespace hone::jit
