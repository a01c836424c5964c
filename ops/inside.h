// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "jit/ir/program.h"

namespace hone::ops {

/// True where `e` reads inside its tensors for all values of `vars`, whatever the dims are. Other
/// variables may have no values. A read at a place that data choose is not known to be inside.
bool reads_inside(const ir::Program& program, const ir::Expr& e,
                  const std::vector<ir::IndexVar>& vars);

}  // namespace hone::ops
