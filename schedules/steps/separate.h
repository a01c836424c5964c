// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "jit/ir/program.h"

namespace hone::schedules {

/// Windows of a reduction that move along an index of the result: all that the terms take of the
/// two indices is the position `stride*result + spacing*reduced`.
struct Windows {
  std::string result;   ///< index of the result
  std::string reduced;  ///< index inside a window
  int64_t stride = 1, spacing = 1;
  ir::Expr positions;  ///< how many there are
  ir::Expr value;      ///< the terms, by an index `position` in place of the two
  std::string wrong;   ///< why there are no such windows; empty where there are
};

/// The windows of `stage` along its reduced index `reduced`. `position`: a name for the index of
/// positions.
Windows windows_along(const ir::Program& program, const ir::Stage& stage,
                      const std::string& reduced, const std::string& position);

}  // namespace hone::schedules
