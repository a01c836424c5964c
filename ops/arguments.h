// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/lowering_context.h"

namespace hone::ops {

/// Declares the arguments of an op: the program's scalars and the buffers of tensors.
class Arguments {
 public:
  explicit Arguments(LoweringContext& c) : c_(c) {}
  /// Declares all of them; each that is wrong adds an error.
  void declare_args();

 private:
  bool declare_arg(const Argument& a);
  ir::Expr lower_extent(const Term& t);

  LoweringContext& c_;
};

}  // namespace hone::ops
