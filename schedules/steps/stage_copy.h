// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schedules/steps/edit.h"

namespace hone::schedules {

/// Where a copy goes: inside loop `at` of `p.stages[owner]`, or at the root.
struct CopySpot {
  bool root = false;
  size_t owner = 0;
  size_t loop = 0;
};

/// `stage` of a tensor that is read inside the loop: a stage copies its window, readers read that.
Applied copy_read(ir::Program p, const Step& step, const CopySpot& spot);

/// `stage` of the tensor that the loop's stage writes. A new stage computes the window, and the old
/// stage copies it out. Reduction loops outside the loop add up the windows.
Applied copy_written(ir::Program p, const Step& step, const CopySpot& spot);

/// Buffer::axes of `tensor` from a step's layout, whose names stand for dims by `dims`, or by d0,
/// d1, ...
Result<std::vector<ir::Axis>, ir::Reject> layout_axes(const Step& step, const std::string& tensor,
                                                      const std::vector<std::string>& dims);

}  // namespace hone::schedules
