// SPDX-License-Identifier: Apache-2.0
#include "jit/x86/select/expressions.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "jit/ir/half.h"
#include "jit/ir/integers.h"
#include "jit/x86/select/value.h"

namespace hone::jit {

using ir::Op;

namespace {

/// The range of a constant, a remainder, or of bits of such; unknown of anything else.
std::optional<ir::IntegerRange> range_of_bits_in(const ir::Expr& e) {
  int64_t divisor = 0;
  if (e->op == Op::kInt) return ir::IntegerRange{e->i, e->i};
  if (e->op == Op::kMod && ir::is_const(e->args[1], &divisor) && divisor > 0) {
    return ir::IntegerRange{0, divisor - 1};
  }
  if (!ir::is_bitwise(e->op)) return std::nullopt;
  return ir::range_of_bits(e->op, range_of_bits_in(e->args[0]), range_of_bits_in(e->args[1]));
}

}  // namespace

bool is_product(const ir::Expr& e) {
  return e->op == Op::kMul && (e->type == DType::kF32 || e->type == DType::kF64);
}

bool is_product_of_words(const ir::Expr& e) {
  return e->op == Op::kMul && e->type == DType::kI64 &&
         std::all_of(e->args.begin(), e->args.end(), [](const ir::Expr& factor) {
           const auto range = range_of_bits_in(factor);
           return range && range->lo >= 0 && range->hi <= UINT32_MAX;
         });
}

int64_t magnitude_of(const ir::Expr& e) {
  if (e->type == DType::kBool) return 1;
  if (e->type == DType::kU8) return 255;  // what is below 0 wraps to the top
  const int64_t most = size_of(e->type) == 8 ? INT64_MAX : int64_t{1} << (8 * size_of(e->type) - 1);
  const auto of = [&](size_t i) { return magnitude_of(e->args[i]); };
  int64_t made = most;
  switch (e->op) {
    case Op::kInt:
      made = e->i == INT64_MIN ? most : std::abs(e->i);
      break;
    case Op::kCast:
      if (!is_float(e->args[0]->type)) made = of(0);
      break;
    case Op::kNeg:
    case Op::kDiv:
      made = of(0);
      break;
    case Op::kMod:
      made = of(1);
      break;
    case Op::kShr:
      made = of(0);
      break;
    case Op::kBitAnd:
      for (const ir::Expr& a : e->args) {
        if (a->op == Op::kInt && a->i >= 0) made = a->i;
      }
      break;
    case Op::kAdd:
    case Op::kSub:
      if (__builtin_add_overflow(of(0), of(1), &made)) made = most;
      break;
    case Op::kMul:
      if (__builtin_mul_overflow(of(0), of(1), &made)) made = most;
      break;
    case Op::kMin:
    case Op::kMax:
      made = std::max(of(0), of(1));
      break;
    case Op::kSelect:
      made = std::max(of(1), of(2));
      break;
    default:
      break;
  }
  // What exceeds the type wraps around.
  return std::min(made, most);
}

bool never_nan(const ir::Expr& e) {
  switch (e->op) {
    case Op::kFloat:
      return !std::isnan(e->f);
    case Op::kCast:
      return !is_float(e->args[0]->type) || never_nan(e->args[0]);
    case Op::kMin:
    case Op::kMax:
      return never_nan(e->args[0]) && never_nan(e->args[1]);
    case Op::kSelect:
      return never_nan(e->args[1]) && never_nan(e->args[2]);
    default:
      return false;
  }
}

bool is_low_bits(const ir::Expr& e, int64_t most) {
  int64_t by = 0;
  return e->op == Op::kMod && e->type == DType::kI32 && ir::is_const(e->args[1], &by) && by > 1 &&
         by <= most && (by & (by - 1)) == 0;
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
    case DType::kF8E4M3:
      return ir::f8e4m3_from(f);
    case DType::kF8E5M2:
      return ir::f8e5m2_from(f);
    default:
      return static_cast<uint64_t>(i);
  }
}

}  // namespace hone::jit
