// SPDX-License-Identifier: Apache-2.0
#include "jit/ir/short_value.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "jit/ir/integers.h"
#include "jit/ir/operations.h"

namespace hone::ir {
namespace {

bool is_short(DType t) { return is_int(t) && size_of(t) <= 2; }

class Shortener {
 public:
  explicit Shortener(const std::function<bool(const Expr&)>& varies) : varies_(varies) {}

  /// A value of at most 16 bits without any of more on the way; null where there is none.
  Expr whole(const Expr& e) const {
    if (e->op == Op::kLoad || e->op == Op::kInt || e->op == Op::kScalar) return e;
    if (e->op == Op::kMin || e->op == Op::kMax) {
      return is_short(e->type) ? of_operands(e, [&](const Expr& a) { return whole(a); }) : Expr();
    }
    if (e->op == Op::kCast && e->args[0]->type == DType::kI32) {
      const Expr chosen = in_type(e->args[0], e->type);
      if (const Expr x = chosen ? whole(chosen) : Expr(); x) return x;
      const Expr x = low(e->args[0]);
      return x && e->type != DType::kI16 ? make_cast(e->type, x) : x;
    }
    if (e->op != Op::kSelect) return {};
    const Expr chosen = condition(e->args[0]);
    const Expr a = chosen ? whole(e->args[1]) : Expr(), b = a ? whole(e->args[2]) : Expr();
    return b ? make_select(chosen, a, b) : Expr();
  }

  /// The low 16 bits of a value, as an i16; null where they are not had in 16 bits.
  Expr low(const Expr& e) const {
    if (is_short(e->type)) {
      const Expr x = whole(e);
      return x && x->type != DType::kI16 ? make_cast(DType::kI16, x) : x;
    }
    if (e->type != DType::kI32) return {};
    if (e->op == Op::kInt) return make_int(static_cast<int16_t>(e->i), DType::kI16);
    if (e->op == Op::kCast && is_short(e->args[0]->type)) return low(e->args[0]);
    if (!varies_(e)) return make_cast(DType::kI16, e);
    if (e->op == Op::kCast && e->args[0]->type == DType::kBool) {
      const Expr chosen = condition(e->args[0]);
      return chosen ? make_cast(DType::kI16, chosen) : Expr();
    }
    switch (e->op) {
      case Op::kNeg:
      case Op::kAdd:
      case Op::kSub:
      case Op::kMul:
      case Op::kBitAnd:
      case Op::kBitOr:
      case Op::kBitXor:
        return of_operands(e, [&](const Expr& a) { return low(a); });
      case Op::kShl:
        if (int64_t by = 0; !is_const(e->args[1], &by) || by < 0 || by > 15) return {};
        return of_operands(e, [&](const Expr& a) { return low(a); });
      case Op::kCall: {
        const Expr x = is_abs(e) ? exact(e->args[0]) : Expr();
        return x ? make_binary(Op::kMax, x, make_unary(Op::kNeg, x)) : Expr();
      }
      case Op::kMin:
      case Op::kMax:
        return of_operands(e, [&](const Expr& a) { return exact(a); });
      case Op::kShr:
        if (int64_t by = 0; !is_const(e->args[1], &by) || by < 0 || by > 15) return {};
        if (const Expr x = unsigned_shift(e->args[0], static_cast<int>(e->args[1]->i)); x) return x;
        return of_operands(e, [&](const Expr& a) { return exact(a); });
      case Op::kDiv:
      case Op::kMod: {
        int64_t by = 0;
        if (!is_const(e->args[1], &by) || by < 1 || by > INT16_MAX) return {};
        if (const auto shift = exponent_of(e->args[1]); shift && e->op == Op::kDiv) {
          if (const Expr x = unsigned_shift(e->args[0], *shift); x) return x;
        }
        const bool bits = e->op == Op::kMod && (by & (by - 1)) == 0;
        return of_operands(e, [&](const Expr& a) { return bits ? low(a) : exact(a); });
      }
      case Op::kSelect: {
        const Expr chosen = condition(e->args[0]);
        const Expr a = chosen ? low(e->args[1]) : Expr(), b = a ? low(e->args[2]) : Expr();
        return b ? make_select(chosen, a, b) : Expr();
      }
      default:
        return {};
    }
  }

  /// The value as an i16; null where it is not proved to be one.
  Expr exact(const Expr& e) const {
    const auto range = range_before_wrap(e);
    return range && range->lies_in(*range_of(DType::kI16)) ? low(e) : Expr();
  }

  /// The value shifted right by a number of bits, where 16 bits without a sign hold it and an i16
  /// does not; null elsewhere.
  Expr unsigned_shift(const Expr& e, int by) const {
    const auto range = range_before_wrap(e);
    const bool is_signed = range && range->lies_in(*range_of(DType::kI16));
    if (!range || is_signed || range->lo < 0 || range->hi > UINT16_MAX || by < 1) return {};
    const Expr x = low(e);
    if (!x) return {};
    const Expr shifted = make_binary(Op::kShr, x, make_int(by, DType::kI16));
    return make_binary(Op::kBitAnd, shifted, make_int(UINT16_MAX >> by, DType::kI16));
  }

  /// A condition that compares 16 bits at most; null where it compares others.
  Expr condition(const Expr& e) const {
    if (e->op == Op::kInt || !varies_(e)) return e;
    if (e->op == Op::kLoad) return e;
    if (e->op == Op::kAnd || e->op == Op::kOr || e->op == Op::kNot) {
      return of_operands(e, [&](const Expr& a) { return condition(a); });
    }
    if (!is_comparison(e->op) || !is_int(e->args[0]->type)) return {};
    for (const DType type : {DType::kU8, DType::kI8}) {
      const Expr bytes = of_operands(e, [&](const Expr& a) {
        const Expr x = in_type(a, type);
        return x ? whole(x) : Expr();
      });
      if (bytes) return bytes;
    }
    return of_operands(e, [&](const Expr& a) { return exact(a); });
  }

  template <class F>
  static Expr of_operands(const Expr& e, const F& f) {
    std::vector<Expr> args;
    for (const Expr& a : e->args) {
      args.push_back(f(a));
      if (!args.back()) return {};
    }
    return args.size() == 1 ? make_unary(e->op, args[0]) : make_binary(e->op, args[0], args[1]);
  }

 private:
  const std::function<bool(const Expr&)>& varies_;
};

}  // namespace

Expr short_value(const Expr& value, const std::function<bool(const Expr&)>& varies) {
  const Shortener shortener(varies);
  if (value->type == DType::kBool) return shortener.condition(value);
  return is_short(value->type) ? shortener.whole(value) : Expr();
}

}  // namespace hone::ir
