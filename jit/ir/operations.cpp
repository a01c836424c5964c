// SPDX-License-Identifier: Apache-2.0
#include "jit/ir/operations.h"

#include "jit/ir/functions/function.h"

namespace hone::ir {
namespace {

/// Arithmetic instructions of divisions: of floats, of integers by powers of two, of others.
/// Tuned on: Zen 5 (AVX-512).
constexpr double kDivide = 4, kShift = 2, kDivideIntegers = 14;
/// The same of a remainder.
/// Tuned on: Zen 5 (AVX-512).
constexpr double kMask = 1, kRemainder = 14;
/// The same of either by another constant; where both are asked for they share the quotient.
/// Tuned on: Zen 5 (AVX-512).
constexpr double kByConstant = 7;

double division_of_integers(const Expr& e) {
  const bool quotient = e->op == Op::kDiv;
  int64_t divisor = 0;
  if (!is_const(e->args[1], &divisor) || divisor <= 0) {
    return quotient ? kDivideIntegers : kRemainder;
  }
  if ((divisor & (divisor - 1)) != 0) return kByConstant;
  return quotient ? kShift : kMask;
}

/// Arithmetic instructions of casts that take several: to floats of 8 bits, from them, and to
/// integers.
/// Fixed by: the x86 back end with AVX-512, at its shortest.
constexpr double kToFloatOf8 = 16, kFromE4M3 = 5, kFromE5M2 = 2, kToInteger = 3;

bool has_8_bits(DType type) { return type == DType::kF8E4M3 || type == DType::kF8E5M2; }

double length_of_cast(DType from, DType to) {
  if (!is_float(from) || from == to) return 1;
  if (is_int(to)) return kToInteger;
  if (has_8_bits(to)) return kToFloatOf8;
  if (has_8_bits(from)) return from == DType::kF8E4M3 ? kFromE4M3 : kFromE5M2;
  return 1;
}

}  // namespace

bool is_arithmetic(Op op) {
  switch (op) {
    case Op::kNeg:
    case Op::kAdd:
    case Op::kSub:
    case Op::kMul:
    case Op::kDiv:
    case Op::kMod:
    case Op::kBitAnd:
    case Op::kBitOr:
    case Op::kBitXor:
    case Op::kShl:
    case Op::kShr:
    case Op::kMin:
    case Op::kMax:
    case Op::kCall:
      return true;
    default:
      return false;
  }
}

bool is_comparison(Op op) {
  return op == Op::kEq || op == Op::kNe || op == Op::kLt || op == Op::kLe;
}

VectorLength vector_length(const Expr& call) {
  return call->type == DType::kF64 ? call->fn->doubles : call->fn->singles;
}

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
      n = vector_length(e).all;
      break;
    case Op::kDiv:
    case Op::kMod:
      n = is_float(e->type) ? kDivide : division_of_integers(e);
      break;
    case Op::kCast:
      n = length_of_cast(e->args[0]->type, e->type);
      break;
    default:
      n = 1;
      break;
  }
  for (const Expr& a : e->args) n += operations_of(a);
  return n;
}

}  // namespace hone::ir
