// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "jit/ir/instructions.h"
#include "jit/ir/program.h"

namespace hone::schedules {

/// The two loads that a stage adds up products of.
struct Factors {
  ir::Expr a, b;  ///< null where the value is something else
  explicit operator bool() const { return static_cast<bool>(a); }
};

/// The factors of a sum of products of two loads, through conversions that lose nothing. With
/// `padded`, loads with an `else` count too: a padded copy takes that away.
Factors factors_of(const ir::Stage& stage, bool padded = false);

/// True when the stage adds up products of the instruction's types in its accumulator's type.
bool sums_products_of(const ir::Stage& stage, const ir::Instruction& row, bool padded = false);

/// The first row that the target has for the products of a stage; null: none.
const ir::Instruction* instruction_for(const ir::Stage& stage, const ir::Target& target,
                                       bool padded = false);

/// The same of the wgmma rows, which take several tiles side by side; null: none.
const ir::Instruction* wgmma_instruction_for(const ir::Stage& stage, const ir::Target& target,
                                             bool padded = false);

/// Why the instruction cannot take all iterations of `loop`, or empty.
std::string tensor_objection(const ir::Stage& stage, const std::string& loop,
                             const ir::Instruction& row);

/// Why an instruction on tiles cannot take the loops over rows, columns and what is reduced, or
/// empty.
std::string tile_objection(const ir::Stage& stage, const std::vector<std::string>& loops,
                           const ir::Instruction& row);

}  // namespace hone::schedules
