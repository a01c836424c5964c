// SPDX-License-Identifier: Apache-2.0
#include "jit/x86/select/expressions.h"

#include <bit>

#include "jit/ir/half.h"
#include "jit/x86/select/value.h"

namespace hone::jit {

using ir::Op;

bool has_load(const ir::Expr& e) {
  bool found = false;
  ir::visit(e, [&](const ir::Expr& x) { found |= x->op == Op::kLoad; });
  return found;
}

bool is_product(const ir::Expr& e) {
  return e->op == Op::kMul && (e->type == DType::kF32 || e->type == DType::kF64);
}

bool is_zero(const ir::Expr& e) {
  return (e->op == Op::kFloat && e->f == 0) || (e->op == Op::kInt && e->i == 0);
}

uint64_t bits_of(DType type, double f, int64_t i) {
  switch (type) {
    case DType::kF64:
      return std::bit_cast<uint64_t>(f);
    case DType::kF32:
      return std::bit_cast<uint32_t>(static_cast<float>(f));
    case DType::kF16:
      return ir::f16_from(f);
    case DType::kBF16:
      return ir::bf16_from(f);
    default:
      return static_cast<uint64_t>(i);
  }
}

}  // namespace hone::jit
