// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ops/op.h"

namespace hone::ops {

/// Which gradients are made, and from which values.
struct GradientRequest {
  std::vector<std::string> wrt;   ///< arguments; empty: all tensors of floats
  std::vector<std::string> take;  ///< results and intermediates that the caller has kept
};

/// An adjoint op, with its names for gradients.
struct AdjointOp {
  Op op;
  std::map<std::string, std::string> given;  ///< arguments: the gradients of results, by these
  std::map<std::string, std::string> made;   ///< results: the gradients of arguments, by these
};

/// The adjoint of `op`: from its arguments and the gradients of its results, `dY`, those of its
/// arguments, `dA`. Arguments that it does not need are left out. What has no derivative is an
/// error that underlines the text of `op`.
Result<Op> gradient(const Op& op, const GradientRequest& request);
/// The same with names.
Result<AdjointOp> adjoint_of(const Op& op, const GradientRequest& request);

/// The text of an op with a statement a line.
std::string lines_of_op(const Op& op);

}  // namespace hone::ops
