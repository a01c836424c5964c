// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "jit/native/lir.h"

namespace hone::jit {

/// LIR as text, one instruction a line; virtual registers as g1 v2 k3, physical by their names.
std::string print(const Lir& lir);
/// One instruction as text; `physical` as in Lir.
std::string print(const Inst& inst, bool physical);

}  // namespace hone::jit
