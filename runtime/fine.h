// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>

#include "include/hone/error.h"

namespace hone::runtime {

/// The result of a function that can fail and did not.
inline Result<Done> fine() { return Done{}; }

/// The status word of a call whose data met every check.
inline constexpr int64_t kFine = std::numeric_limits<int64_t>::max();

}  // namespace hone::runtime
