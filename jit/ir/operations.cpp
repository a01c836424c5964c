// SPDX-License-Identifier: Apache-2.0
#include "jit/ir/operations.h"

#include "jit/ir/functions/function.h"

namespace hone::ir {
namespace {

/// Arithmetic instructions of divisions: of floats, of integers by powers of two, of integers.
/// Tuned on: Zen 5 (AVX-512).
constexpr double kDivide = 4, kShift = 2, kDivideIntegers = 20;
/// The same of a remainder.
/// Tuned on: Zen 5 (AVX-512).
constexpr double kMask = 1, kRemainder = 24;

/// True for an integer division by a power of two.
bool shifts(const Expr& e) {
  int64_t divisor = 0;
  return is_const(e->args[1], &divisor) && divisor > 0 && (divisor & (divisor - 1)) == 0;
}

}  // namespace

double operations_of(const Expr& e) {
  double n = 0;
  switch (e->op) {
    case Op::kInt:
    case Op::kFloat:
    case Op::kVar:
    case Op::kDim:
    case Op::kScalar:
      return 0;
    case Op::kLoad:
      return e->guarded ? 1 + operations_of(e->args.back()) : 0;
    case Op::kCall:
      n = e->fn->vector_length;
      break;
    case Op::kDiv:
      n = is_float(e->type) ? kDivide : shifts(e) ? kShift : kDivideIntegers;
      break;
    case Op::kMod:
      n = shifts(e) ? kMask : kRemainder;
      break;
    default:
      n = 1;
      break;
  }
  for (const Expr& a : e->args) n += operations_of(a);
  return n;
}

}  // namespace hone::ir
