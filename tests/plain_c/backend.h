// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/backend.h"

namespace hone::tests {

/// Each launch as plain C, compiled by the system's compiler and loaded: a back end that shares no
/// code with the others, and that came to the tests by its folder and its row alone.
extern const jit::Backend kPlainCBackend;

}  // namespace hone::tests
