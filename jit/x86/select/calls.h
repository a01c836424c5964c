// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/x86/select/arithmetic.h"
#include "jit/x86/select/converter.h"
#include "jit/x86/select/masks.h"
#include "jit/x86/select/part.h"
#include "jit/x86/select/vectors.h"

namespace hone::jit {

/// Scalar functions of the language, expanded into vector instructions.
class Calls final : public SelectionPart {
 public:
  Calls(Context& context, Vectors& vectors, Masks& masks, Converter& converter,
        LaneArithmetic& arithmetic)
      : SelectionPart(context),
        vectors_(vectors),
        masks_(masks),
        converter_(converter),
        arithmetic_(arithmetic) {}

  Value call(const ir::Expr& e);
  Value call(const ir::Function& fn, const Value& x, const Value& y);

 private:
  friend class MathInstructions;
  friend class MathEmitter;

  Vectors& vectors_;
  Masks& masks_;
  Converter& converter_;
  LaneArithmetic& arithmetic_;
};

}  // namespace hone::jit
