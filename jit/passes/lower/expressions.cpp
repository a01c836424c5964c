// SPDX-License-Identifier: Apache-2.0
#include "jit/passes/lower/expressions.h"

namespace hone::jit {

using namespace ir;

bool has_var_or_load(const Expr& e) { return e && (e->has(Op::kVar) || e->has(Op::kLoad)); }

}  // namespace hone::jit
