// SPDX-License-Identifier: Apache-2.0
#include "jit/ir/integers.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "jit/ir/functions/function.h"

namespace hone::ir {

int64_t floor_div_of(int64_t a, int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return static_cast<int64_t>(0 - static_cast<uint64_t>(a));
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

int64_t floor_mod_of(int64_t a, int64_t b) {
  if (b == 0 || b == -1) return 0;
  const int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

bool is_abs(const Expr& e) { return e->op == Op::kCall && e->fn->expansion == Expansion::kAbs; }

std::optional<int> exponent_of(const Expr& e) {
  int64_t value = 0;
  if (!is_const(e, &value) || value <= 0) return std::nullopt;
  const auto bits = static_cast<uint64_t>(value);
  if (!std::has_single_bit(bits)) return std::nullopt;
  return std::countr_zero(bits);
}

int64_t bits_of(Op op, DType type, int64_t a, int64_t b) {
  const int width = 8 * size_of(type);
  const bool inside = b >= 0 && b < width;
  switch (op) {
    case Op::kBitAnd:
      return a & b;
    case Op::kBitOr:
      return a | b;
    case Op::kBitXor:
      return a ^ b;
    case Op::kShl:
      return inside ? static_cast<int64_t>(static_cast<uint64_t>(a) << b) : 0;
    default:
      return a >> (inside ? b : width - 1);
  }
}

namespace {

/// The least number of the form 2^n - 1 from `x` on, which is not negative.
int64_t ones_from(int64_t x) {
  const auto zeros = std::countl_zero(static_cast<uint64_t>(x));
  return x == 0 ? 0 : static_cast<int64_t>(~uint64_t{0} >> zeros);
}

/// Of shifts by up to `most`; nothing where a bit is lost.
std::optional<IntegerRange> shifted_left(const IntegerRange& a, int64_t most) {
  int64_t lo = 0, hi = 0;
  if (most < 0) return IntegerRange{0, 0};
  if (most > 62 || __builtin_mul_overflow(a.lo, int64_t{1} << most, &lo) ||
      __builtin_mul_overflow(a.hi, int64_t{1} << most, &hi)) {
    return std::nullopt;
  }
  return IntegerRange{std::min<int64_t>(lo, 0), std::max<int64_t>(hi, 0)};
}

}  // namespace

std::optional<IntegerRange> range_of_bits(Op op, const std::optional<IntegerRange>& a,
                                          const std::optional<IntegerRange>& b) {
  if (op == Op::kBitAnd) {
    std::optional<IntegerRange> out;
    for (const auto* x : {&a, &b}) {
      if (!*x || (*x)->lo < 0) continue;
      out = {0, out ? std::min(out->hi, (*x)->hi) : (*x)->hi};
    }
    return out;
  }
  if (op == Op::kShr) {
    if (!a) return std::nullopt;
    return IntegerRange{std::min<int64_t>(a->lo, 0), std::max<int64_t>(a->hi, -1)};
  }
  if (!a || !b) return std::nullopt;
  if (op == Op::kShl) return shifted_left(*a, b->hi);
  const int64_t least = std::min(a->lo, b->lo);
  if (least < 0) {
    // No more bits than the longer of both has in front of its sign.
    const int64_t most = ones_from(std::max({a->hi, b->hi, -1 - least}));
    return IntegerRange{-1 - most, most};
  }
  const int64_t most = std::max(a->hi, b->hi) | ones_from(std::min(a->hi, b->hi));
  return IntegerRange{op == Op::kBitOr ? std::max(a->lo, b->lo) : 0, most};
}

int64_t combined(Op op, int64_t a, int64_t b) {
  const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
  switch (op) {
    case Op::kAdd:
      return static_cast<int64_t>(x + y);
    case Op::kSub:
      return static_cast<int64_t>(x - y);
    case Op::kMul:
      return static_cast<int64_t>(x * y);
    case Op::kDiv:
      return floor_div_of(a, b);
    case Op::kMod:
      return floor_mod_of(a, b);
    case Op::kMin:
      return std::min(a, b);
    case Op::kMax:
      return std::max(a, b);
    case Op::kEq:
      return a == b;
    case Op::kNe:
      return a != b;
    case Op::kLt:
      return a < b;
    case Op::kLe:
      return a <= b;
    case Op::kAnd:
      return a != 0 && b != 0;
    case Op::kBitAnd:
    case Op::kBitOr:
    case Op::kBitXor:
    case Op::kShl:
    case Op::kShr:
      return bits_of(op, DType::kI64, a, b);
    default:
      return a != 0 || b != 0;
  }
}

std::optional<IntegerRange> range_of(DType type) {
  if (type == DType::kBool) return IntegerRange{0, 1};
  if (!is_int(type)) return std::nullopt;
  if (type == DType::kI64) return IntegerRange{INT64_MIN, INT64_MAX};
  const int64_t count = int64_t{1} << bit_width_of(type),
                least = is_unsigned(type) ? 0 : -count / 2;
  return IntegerRange{least, least + count - 1};
}

std::optional<IntegerRange> range_before_wrap(const Expr& e) {
  if (e->op == Op::kInt) return IntegerRange{e->i, e->i};
  if (!is_int(e->type)) return std::nullopt;
  const bool wide = size_of(e->type) > 4;
  if (e->op == Op::kLoad || (!wide && e->type != DType::kI32)) {
    return wide ? std::nullopt : range_of(e->type);
  }
  if (e->op == Op::kCast) {
    return e->args[0]->type == DType::kBool ? IntegerRange{0, 1} : range_before_wrap(e->args[0]);
  }
  // Operands have wrapped. Those of more than 32 bits could make products leave 64.
  constexpr IntegerRange kNarrow = {INT32_MIN, INT32_MAX};
  std::vector<std::optional<IntegerRange>> operands;
  for (size_t i = e->op == Op::kSelect ? 1 : 0; i < e->args.size(); ++i) {
    const std::optional<IntegerRange> type = range_of(e->args[i]->type);
    auto r = range_before_wrap(e->args[i]);
    const bool fits = type && type->lies_in(kNarrow);
    if (!r || !r->lies_in(fits ? *type : kNarrow)) r = fits ? type : std::nullopt;
    operands.push_back(r);
  }
  if (is_bitwise(e->op)) return range_of_bits(e->op, operands[0], operands[1]);
  if (e->op == Op::kCall && !is_abs(e)) return std::nullopt;
  if (e->op == Op::kMod) {
    const auto& by = operands[1];
    return by && by->lo > 0 ? std::optional(IntegerRange{0, by->hi - 1}) : std::nullopt;
  }
  std::vector<IntegerRange> of;
  for (const auto& r : operands) {
    if (!r) return std::nullopt;
    of.push_back(*r);
  }
  switch (e->op) {
    case Op::kNeg:
      return IntegerRange{-of[0].hi, -of[0].lo};
    case Op::kCall:
      return IntegerRange{std::max({of[0].lo, -of[0].hi, int64_t{0}}),
                          std::max(of[0].hi, -of[0].lo)};
    case Op::kAdd:
      return IntegerRange{of[0].lo + of[1].lo, of[0].hi + of[1].hi};
    case Op::kSub:
      return IntegerRange{of[0].lo - of[1].hi, of[0].hi - of[1].lo};
    case Op::kMul: {
      const auto [least, most] = std::minmax(
          {of[0].lo * of[1].lo, of[0].lo * of[1].hi, of[0].hi * of[1].lo, of[0].hi * of[1].hi});
      return IntegerRange{least, most};
    }
    case Op::kMin:
      return IntegerRange{std::min(of[0].lo, of[1].lo), std::min(of[0].hi, of[1].hi)};
    case Op::kMax:
      return IntegerRange{std::max(of[0].lo, of[1].lo), std::max(of[0].hi, of[1].hi)};
    case Op::kDiv:
      if (of[1].lo < 1 || of[1].lo != of[1].hi) return std::nullopt;
      return IntegerRange{floor_div_of(of[0].lo, of[1].hi), floor_div_of(of[0].hi, of[1].hi)};
    case Op::kSelect:
      return IntegerRange{std::min(of[0].lo, of[1].lo), std::max(of[0].hi, of[1].hi)};
    default:
      return std::nullopt;
  }
}

bool stays_near(const Expr& e) {
  // Chosen: beyond any extent or stride; a dozen in a sum stay within kNear (not measured).
  constexpr int64_t kFarConstant = int64_t{1} << 48, kFarFactor = int64_t{1} << 40;
  constexpr int64_t kFewBits = 16;  // of shifts. Chosen: less than a factor has (not measured).
  if (e->type != DType::kI64) return true;
  const auto all = [&](size_t first) {
    return std::all_of(e->args.begin() + static_cast<int64_t>(first), e->args.end(), stays_near);
  };
  const auto constant_within = [](const Expr& x, int64_t least, int64_t most) {
    int64_t c = 0;
    return is_const(x, &c) && c >= least && c <= most;
  };
  switch (e->op) {
    case Op::kInt:
      return constant_within(e, -kFarConstant, kFarConstant);
    case Op::kVar:
    case Op::kDim:
      return true;
    case Op::kCast:
      return is_int(e->args[0]->type) && all(0);
    case Op::kMul:
      return all(0) && std::all_of(e->args.begin(), e->args.end(), [&](const Expr& x) {
               return !is_const(x) || constant_within(x, -kFarFactor, kFarFactor);
             });
    case Op::kShl:
      return all(0) && constant_within(e->args[1], 0, kFewBits);
    case Op::kShr:
      return all(0) || constant_within(e->args[1], kFewBits, 63);
    case Op::kBitAnd:
      return all(0) || constant_within(e->args[0], 0, kFarConstant) ||
             constant_within(e->args[1], 0, kFarConstant);
    case Op::kSelect:
      return all(1);
    case Op::kNeg:
    case Op::kAdd:
    case Op::kSub:
    case Op::kDiv:
    case Op::kMod:
    case Op::kMin:
    case Op::kMax:
    case Op::kBitOr:
    case Op::kBitXor:
    case Op::kCall:
      return all(0);
    default:
      return false;
  }
}

std::optional<RangedInteger> narrowest(const Expr& e) {
  if (!is_int(e->type)) return std::nullopt;
  const IntegerRange type = *range_of(e->type);
  if (e->op == Op::kCast && is_int(e->args[0]->type)) {
    auto inner = narrowest(e->args[0]);
    if (inner && inner->range.lies_in(type)) return inner;
  }
  if (size_of(e->type) > 4) return std::nullopt;
  const auto range = range_before_wrap(e);
  return RangedInteger{e, range && range->lies_in(type) ? *range : type};
}

Expr in_type(const Expr& e, DType type) {
  if (e->type == type) return e;
  if (e->op == Op::kCast && e->args[0]->type == type) return e->args[0];
  if (e->op == Op::kInt) {
    return IntegerRange{e->i, e->i}.lies_in(*range_of(type)) ? make_int(e->i, type) : Expr();
  }
  const bool selects = e->op == Op::kSelect;
  if (!selects && e->op != Op::kMin && e->op != Op::kMax) return {};
  const size_t first = selects ? 1 : 0;
  const Expr a = in_type(e->args[first], type), b = a ? in_type(e->args[first + 1], type) : Expr();
  if (!b) return {};
  return selects ? make_select(e->args[0], a, b) : make_binary(e->op, a, b);
}

Expr low_bytes(const Expr& e, DType type) {
  const auto of_all = [&](DType t) {
    std::vector<Expr> args;
    for (const Expr& a : e->args) args.push_back(low_bytes(a, t));
    return args;
  };
  switch (e->op) {
    case Op::kSelect:
      return make_select(e->args[0], low_bytes(e->args[1], type), low_bytes(e->args[2], type));
    case Op::kCast:
      if (!is_int(e->args[0]->type) || size_of(e->type) < size_of(type)) break;
      return low_bytes(e->args[0], type);
    case Op::kNeg:
      if (e->type != DType::kI64 || type == DType::kI64) break;
      return make_cast(type, make_unary(e->op, of_all(DType::kI32)[0]));
    case Op::kAdd:
    case Op::kSub:
    case Op::kMul:
    case Op::kBitAnd:
    case Op::kBitOr:
    case Op::kBitXor: {
      if (e->type != DType::kI64 || type == DType::kI64) break;
      const std::vector<Expr> args = of_all(DType::kI32);
      return make_cast(type, make_binary(e->op, args[0], args[1]));
    }
    default:
      break;
  }
  return make_cast(type, e);
}

}  // namespace hone::ir
