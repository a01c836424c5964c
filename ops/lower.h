// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "jit/ir/program.h"
#include "ops/syntax.h"

namespace hone::ops {

/// Values for the names that a definition leaves open.
struct Binding {
  std::vector<DType> types;     ///< per Definition::params; of dtype parameters
  std::vector<ir::Expr> ints;   ///< per Definition::params; of integer parameters
  std::vector<ir::Expr> dims;   ///< per Definition::dims: a constant, or a kDim of its name
  std::vector<ir::Dim> ranged;  ///< ranges of the kDims
  /// Nothing is bound yet: only what is wrong whatever the values is an error.
  bool checking = false;
};

/// The binding that checks a definition: default dtypes, all integers open.
Binding checking_binding(const Definition& d);

/// Checks what needs no types: duplicate, unknown and unused names, shapes, outputs without a
/// statement. Fills `d.dims`.
void check_names(Definition& d, Diagnostics& diagnostics);

/// The part of it about what statements mention: names, tensors, functions, dtypes.
void check_scopes(const Definition& d, Diagnostics& diagnostics);

/// Resolves names, types and ranges, and turns statements into naive stages. Buffers are dense; the
/// problem's layout is laid over them by the caller.
ir::Program lower(const Definition& d, const Binding& binding, Diagnostics& diagnostics);

}  // namespace hone::ops
