// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "hone/export.h"

namespace hone {

/// Where the schedule of a kernel came from.
enum class Source : uint8_t {
  kGiven,        ///< by the caller
  kTuned,        ///< a record of this problem and this context
  kTransferred,  ///< the record of a near problem or context, adapted
  kDefault,      ///< derived from the problem's structure, without measuring
};

/// given, tuned, transferred or default.
HONE_API std::string_view name_of(Source source);

/// Facts about the generated code.
struct Report {
  int instructions = 0;
  int spills = 0;        ///< registers kept in memory somewhere
  int inner_spills = 0;  ///< of those, in an innermost loop
  int64_t code_bytes = 0;
  double build_us = 0;       ///< from problem text to callable kernel
  double schedule_us = 0;    ///< of that, where Halide makes the code: the schedule
  double compile_us = 0;     ///< of that, where Halide makes the code: the compilation
  bool interpreted = false;  ///< no machine code: the interpreter serves
};

}  // namespace hone
