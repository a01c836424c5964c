// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "jit/ir/expr.h"

namespace hone::ops {

/// An extent with something else for each of its dims, for all at once: names that come may be
/// names that go. Null where `to` has null for one.
ir::Expr replaced_dims(const ir::Expr& extent,
                       const std::function<ir::Expr(const std::string&)>& to);

}  // namespace hone::ops
