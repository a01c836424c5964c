// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/x86/select/addresses.h"
#include "jit/x86/select/general_ops.h"
#include "jit/x86/select/indices.h"
#include "jit/x86/select/part.h"

namespace hone::jit {

/// Integers and conditions in general registers, and branches on them.
class Integers final : public SelectionPart {
 public:
  Integers(Context& context, GeneralOps& general, Indices& indices, Addresses& addresses)
      : SelectionPart(context), general_(general), indices_(indices), addresses_(addresses) {}

  /// The value of an integer or bool expression, the same in all lanes.
  Reg integer(const ir::Expr& e);
  Reg compare(const ir::Expr& e);
  /// Jumps to `label` unless the condition, the same in all lanes, holds.
  void branch_unless(const ir::Expr& condition, int label);

 private:
  Reg operand(const ir::Expr& e);
  Reg load(const ir::Expr& e);
  Reg division(const ir::Expr& e);
  Reg choice(const ir::Expr& e);
  /// LaneArithmetic of types narrower than a register: done in 64 bits, then wrapped.
  Reg narrow(const ir::Expr& e);
  /// Through a vector register, on one lane.
  Reg from_vector(const ir::Expr& e);

  GeneralOps& general_;
  Indices& indices_;
  Addresses& addresses_;
};

}  // namespace hone::jit
