// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "schedules/space/analysis/row_members.h"
#include "schedules/space/plan.h"

namespace hone::schedules {

/// A row shorter than this is one thread's.
/// Tuned on: no GPU; reckoned for an H100.
inline constexpr int64_t kShortestRow = 8;

/// Whether a stage reduces products of operands that are used again along two axes, so that tiles
/// of results share them.
bool is_product(const Plan& plan, const std::string& stage);

/// Members of a stage's rows (see row_members) that share its launch. Left out are those that do
/// better in launches of their own: products, and stages that reduce several values of each row.
RowMembers beside(const Plan& plan, const ir::Stage& root, std::vector<std::string>& prefix);

/// The reduced variables along which a stage reads neighbours, as one range in memory.
struct Along {
  std::vector<std::string> loops;  ///< outermost first; empty: there are none, or they are short
  int64_t extent = 0;              ///< of all together
  bool ragged = false;             ///< it begins at no known place
};

/// About how long a reduced variable is. Where data give its range, the average, as far as the
/// tensor that it indexes tells.
int64_t typical_terms(const Plan& plan, const std::string& stage, const std::string& var);

/// Finds them: every load that moves along them is contiguous, and none gathers. A range whose ends
/// are data is one by itself.
Along reduced_along(const Plan& plan, const std::string& stage);

/// How the threads of a block share rows.
struct RowThreads {
  int64_t threads = 1;  ///< of a row
  int64_t rows = 1;     ///< of a block
  int64_t width = 1;    ///< elements of a row that a thread accesses at once
};

/// The threads for `rows` rows of `extent` elements, read by vectors of at most `width`. Many short
/// rows get a warp or part of one each, other rows a block. A thread has as many elements as its
/// registers hold, if that leaves enough threads.
RowThreads row_threads(Plan& plan, int64_t rows, int64_t extent, int64_t width);

/// Gives what a stage in registers reduces along to threads of the block, along an axis, by vectors
/// of `width`. Along x the number of threads has no knob.
bool reduce_by_threads(Plan& plan, const std::string& stage, const Along& along,
                       const Number& threads, ir::Mark axis = ir::Mark::kThreadX,
                       int64_t width = 1);

}  // namespace hone::schedules
