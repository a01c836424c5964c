// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "include/hone/error.h"

namespace hone::bench {

/// What a row of the speed suite is to reach; all empty: no goal is set.
struct RowGoal {
  double share = 0;       ///< of the bound
  double gbps = 0;        ///< 10^9 bytes a second
  double at_gflops = 0;   ///< multiply-adds of the machine that `gbps` is for; 0: of any machine
  std::string over = {};  ///< a peer that is to be slower

  bool none() const { return share <= 0 && gbps <= 0 && over.empty(); }
  /// As the file has it: `98%`.
  std::string text() const;
};

/// Where the operands of a row come from.
struct RowOperands {
  int64_t bytes = 0;         ///< that sets of them take together; 0: one set, hot
  bool past_caches = false;  ///< twice the last level instead

  /// `hot`, `in turns over 512K`.
  std::string text() const;
};

/// A row of the speed suite.
struct SpeedCase {
  std::string name;
  std::vector<std::string> problems;  ///< the fastest counts; the first is the peers'
  RowGoal goal;
  RowOperands operands;
  bool free_layout = false;  ///< peers store tensors as they like
};

/// Rows that are judged together.
struct SpeedGroup {
  std::string name;
  double mean = 0;          ///< share of the bound to reach as a geometric mean; 0: none is set
  std::string total_under;  ///< a peer that is to take longer for all rows together; empty: none
  std::vector<SpeedCase> rows;
};

/// Reads what bench/speed/rows.txt describes; errors name the line and what would be accepted.
Result<std::vector<SpeedGroup>> parse_speed_rows(std::string_view text, std::string_view origin);

/// Leaves out the groups and rows that no pattern names; `*` stands for anything, and no patterns
/// for all. Empty groups are left out too.
std::vector<SpeedGroup> chosen_rows(std::vector<SpeedGroup> groups,
                                    const std::vector<std::string>& group_patterns,
                                    const std::vector<std::string>& row_patterns);

}  // namespace hone::bench
