// SPDX-License-Identifier: Apache-2.0
#include "ops/draft.h"

#include <algorithm>

namespace hone::ops {

Interval interval_of(const Index& index) {
  if (index.from_data) return {index.name, ir::make_int(0), index.end};
  return {index.name, index.lo, index.hi};
}

ir::IndexVar index_var(const Index& index) {
  int64_t lo = -1;
  const bool zero = ir::is_const(index.lo, &lo) && lo == 0;
  return {index.name, zero ? ir::Expr() : index.lo, index.hi};
}

ir::Expr first_load(const ir::Expr& e) {
  if (e->op == ir::Op::kLoad) return e;
  for (const ir::Expr& a : e->args) {
    if (ir::Expr found = first_load(a)) return found;
  }
  return {};
}

bool is_index_condition(const ir::Expr& e) {
  if (e->op == ir::Op::kLoad || e->op == ir::Op::kScalar || e->op == ir::Op::kCall) return false;
  return std::all_of(e->args.begin(), e->args.end(), is_index_condition);
}

bool is_variable_free(const ir::Expr& e) {
  if (e->op == ir::Op::kVar) return false;
  return std::all_of(e->args.begin(), e->args.end(), is_variable_free);
}

DType widened(DType type) {
  switch (type) {
    case DType::kF16:
    case DType::kBF16:
    case DType::kF8E4M3:
    case DType::kF8E5M2:
      return DType::kF32;
    case DType::kI16:
    case DType::kI8:
    case DType::kU8:
    case DType::kI4:
    case DType::kU4:
    case DType::kI2:
    case DType::kU2:
    case DType::kU1:
      return DType::kI32;
    default:
      return type;
  }
}

}  // namespace hone::ops
