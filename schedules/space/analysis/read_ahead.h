// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "schedules/space/plan.h"

namespace hone::schedules {

/// Asks for panels of the packed copy `copy` before `stage` reads them, in its innermost loop along
/// them. Those that no near cache holds are asked for a panel ahead. Those that the first does not
/// hold are asked for some iterations ahead, unless each line serves more than a few `rows`.
/// `outer`: the loop around, each of whose iterations reads a panel of `bytes`.
bool read_ahead(Plan& plan, const std::string& stage, const std::string& copy,
                const ir::Place& outer, int64_t bytes, int64_t rows);

}  // namespace hone::schedules
