// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/backend.h"

namespace hone::jit {

/// The interpreter of nests: serves where no machine code can be made.
extern const Backend kInterpBackend;

}  // namespace hone::jit
