// SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "jit/ir/program.h"

namespace hone::ir {
namespace {

Expr lowest(DType t) {
  switch (t) {
    case DType::kI64:
      return make_int(INT64_MIN, t);
    case DType::kI32:
      return make_int(INT32_MIN, t);
    case DType::kI16:
      return make_int(INT16_MIN, t);
    case DType::kI8:
      return make_int(INT8_MIN, t);
    case DType::kU8:
    case DType::kBool:
      return make_int(0, t);
    default:
      return make_float(-__builtin_inf(), t);
  }
}

Expr highest(DType t) {
  switch (t) {
    case DType::kI64:
      return make_int(INT64_MAX, t);
    case DType::kI32:
      return make_int(INT32_MAX, t);
    case DType::kI16:
      return make_int(INT16_MAX, t);
    case DType::kI8:
      return make_int(INT8_MAX, t);
    case DType::kU8:
      return make_int(255, t);
    case DType::kBool:
      return make_int(1, t);
    default:
      return make_float(__builtin_inf(), t);
  }
}

}  // namespace

Expr identity(Reduce reduce, DType t) {
  switch (reduce) {
    case Reduce::kMax:
      return lowest(t);
    case Reduce::kMin:
      return highest(t);
    case Reduce::kProd:
      return is_float(t) ? make_float(1, t) : make_int(1, t);
    case Reduce::kAll:
      return make_int(1, t);
    default:
      return is_float(t) ? make_float(0, t) : make_int(0, t);
  }
}

Expr combination(Reduce reduce, const Expr& a, const Expr& b) {
  const Op op = [&] {
    switch (reduce) {
      case Reduce::kProd:
        return Op::kMul;
      case Reduce::kMax:
        return Op::kMax;
      case Reduce::kMin:
        return Op::kMin;
      case Reduce::kAny:
        return Op::kOr;
      case Reduce::kAll:
        return Op::kAnd;
      default:
        return Op::kAdd;
    }
  }();
  return make_binary(op, a, b);
}

}  // namespace hone::ir
