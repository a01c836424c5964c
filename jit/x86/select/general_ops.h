// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "jit/x86/select/part.h"

namespace hone::jit {

/// Operations on integers in general registers.
class GeneralOps final : public SelectionPart {
 public:
  explicit GeneralOps(Context& context) : SelectionPart(context) {}

  /// The lesser of two registers for kMin, the greater for kMax.
  Reg extreme_of(ir::Op op, Reg a, Reg b);
  Reg multiplied(Reg a, Reg b);
  /// `a` and `b` joined bit by bit, as `op` says.
  Reg bits_of(ir::Op op, Reg a, Reg b);
  /// `a` shifted as `op` says, in 64 bits; by any count.
  Reg shifted(ir::Op op, Reg a, Reg count);
  /// The division or remainder `e` of what is in `a` by what `by` brings into a register. `fits`:
  /// it is known to be a number of 32 bits.
  Reg divided(const ir::Expr& e, Reg a, bool fits, const std::function<Reg()>& by);
  /// `r` wrapped to `type`, as a 64-bit integer.
  Reg wrapped(Reg r, DType type);
  Reg load_integer(const Mem& m, DType type, int buffer);

 private:
  /// A number of 32 bits by a constant above 0 that is no power of two.
  Reg multiplied_by_inverse(ir::Op op, Reg a, int64_t divisor);
};

}  // namespace hone::jit
