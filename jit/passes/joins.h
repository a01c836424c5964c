// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "jit/ir/program.h"

namespace hone::jit {

/// True where what `stage` computes outlives the loop that computes it, in a tensor of the caller
/// or of the whole call. The loop must then compute each element, once.
bool kept_at_root(const ir::Program& program, const ir::Stage& stage);

/// For each index of `stage` the one of `owner` that it goes with, "" where there is none. It
/// decides what a loop of `owner` computes of a stage that nothing inside the loop reads. The
/// indices have one range, and each is taken once. Those that index a tensor alike come first, then
/// those of one name, then those of one position. `by_name`: in a group, where those of one name
/// are one.
std::vector<std::string> joined(const ir::Stage& stage, const ir::Stage& owner,
                                bool by_name = false);

}  // namespace hone::jit
