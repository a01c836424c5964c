// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "jit/ir/program.h"

namespace hone::schedules {

/// Why a stage that reads the reduction `s` cannot become one itself; empty when it can. It may
/// load `s` and do no more.
std::string reduction_objection(const ir::Program& p, const ir::Stage& s, const ir::Stage& reader);

/// Makes stage `reader`, which loads the reduction `s` and does no more, that reduction at the
/// indices of the load. Where these may leave its tensor, it reduces at the nearest that do not,
/// and who reads it chooses the `else` there.
void inline_reduction(ir::Program& p, const ir::Stage& s, size_t reader);

}  // namespace hone::schedules
