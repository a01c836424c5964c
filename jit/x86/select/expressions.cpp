// SPDX-License-Identifier: Apache-2.0
#include "jit/x86/select/expressions.h"

#include <bit>
#include <cstdlib>

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

bool fits_16_bits(const ir::Expr& e) {
  const auto both = [&](size_t a, size_t b) {
    return fits_16_bits(e->args[a]) && fits_16_bits(e->args[b]);
  };
  if (is_int(e->type) && size_of(e->type) <= 2) return true;
  switch (e->op) {
    case Op::kInt:
      return std::abs(e->i) <= 1 << 15;
    case Op::kCast:
      return e->args[0]->type == DType::kBool ||
             (is_int(e->args[0]->type) && fits_16_bits(e->args[0]));
    case Op::kDiv:
      return fits_16_bits(e->args[0]);
    case Op::kMod:
      return fits_16_bits(e->args[1]);
    case Op::kMin:
    case Op::kMax:
      return both(0, 1);
    case Op::kSelect:
      return both(1, 2);
    default:
      return false;
  }
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
