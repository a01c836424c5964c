// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "jit/ir/program.h"
#include "schedules/steps/separate.h"

namespace hone::schedules {

/// A sum of products over windows: neighbouring results share data, and all have the same filter.
struct FilteredWindows {
  std::string reduced;           ///< index inside a window
  std::string result;            ///< index of the results, along which windows move by 1
  int64_t taps = 0;              ///< terms of a window
  std::vector<ir::Expr> data;    ///< factors that move along windows; terms may be turned round
  std::vector<ir::Expr> filter;  ///< factors that differ inside a window alone
  std::vector<ir::Expr> others;
  /// Windows of the data: along `reduced`, and then along further indices. The last ones have all
  /// positions in their value.
  std::vector<Windows> windows;
  std::string wrong;  ///< why there are none; empty where there are

  /// The product of the data by positions.
  const ir::Expr& terms() const { return windows.back().value; }
};

/// The name of the index of positions of windows along `reduced`.
std::string position_name(const std::string& reduced);

/// The windows of `stage` along its reduced index `reduced`, where `program` admits that results
/// are combined.
FilteredWindows filtered_windows(const ir::Program& program, const ir::Stage& stage,
                                 const std::string& reduced);

}  // namespace hone::schedules
