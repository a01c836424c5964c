// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "jit/ir/program.h"

namespace hone::schedules {

/// A part of a stage's value, which step `precompute` can make a stage of.
struct Part {
  ir::Expr value;
  int parent = -1;       ///< the part that it is an operand of; -1: the whole value
  bool summand = false;  ///< added as it stands: a product is not rounded before
};

/// The parts of a stage's value, parents before children, all of it first. Indices of loads are no
/// parts. Of a long value those that come first. Schedules count them from 1.
std::vector<Part> parts_of(const ir::Stage& stage);

/// The place among `parts` of the first that is `value`; their number where none is.
size_t place_of(const std::vector<Part>& parts, const ir::Expr& value);

/// Why the part at a place, of any sign, cannot be a stage of its own; empty where it can.
std::string unpartable(const ir::Stage& stage, const std::vector<Part>& parts, int64_t place);

/// Variables of the stage that `e` mentions: indices, then reduced ones, in the stage's order.
std::vector<ir::IndexVar> variables_in(const ir::Stage& stage, const ir::Expr& e);

}  // namespace hone::schedules
