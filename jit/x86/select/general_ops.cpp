// SPDX-License-Identifier: Apache-2.0
#include "jit/x86/select/general_ops.h"

#include <bit>

namespace hone::jit {

using ir::Op;

Reg GeneralOps::extreme_of(Op op, Reg a, Reg b) {
  const Sequence tag = op == Op::kMin ? Sequence::kMin : Sequence::kMax;
  const X86 move = op == Op::kMin ? X86::cmovg : X86::cmovl;
  return code_.sequence(RegClass::kGpr, 8, tag, {greg(a), greg(b)}, [&](CodeList& list, Reg r) {
    code_.append(list, X86::mov, {greg(r), greg(a)});
    code_.append(list, X86::cmp, {greg(r), greg(b)});
    code_.append(list, move, {greg(r), greg(b)});
  });
}

Reg GeneralOps::multiplied(Reg a, Reg b) {
  return code_.update(RegClass::kGpr, 8, a, X86::imul, {greg(b)});
}

/// The machine takes counts modulo 64. Narrower integers fill their registers with the sign, so one
/// bound serves them as well.
Reg GeneralOps::shifted(Op op, Reg a, Reg count) {
  // Fixed by: integers of 64 bits.
  constexpr int kLast = 63;
  if (op == Op::kShr) {
    return code_.sequence(RegClass::kGpr, 8, Sequence::kShiftRight, {greg(a), greg(count)},
                          [&](CodeList& list, Reg r) {
                            code_.append(list, X86::mov, {greg(r), imm(kLast)});
                            code_.append(list, X86::cmp, {greg(count), imm(kLast)});
                            code_.append(list, X86::cmovb, {greg(r), greg(count)});
                            code_.append(list, X86::sarx, {greg(r), greg(a), greg(r)});
                          });
  }
  const Reg zero = constant_gpr(0);
  return code_.sequence(RegClass::kGpr, 8, Sequence::kShiftLeft, {greg(a), greg(count), greg(zero)},
                        [&](CodeList& list, Reg r) {
                          code_.append(list, X86::shlx, {greg(r), greg(a), greg(count)});
                          code_.append(list, X86::cmp, {greg(count), imm(kLast)});
                          code_.append(list, X86::cmova, {greg(r), greg(zero)});
                        });
}

Reg GeneralOps::bits_of(Op op, Reg a, Reg b) {
  const X86 x = op == Op::kBitAnd ? X86::and_ : op == Op::kBitOr ? X86::or_ : X86::xor_;
  return code_.update(RegClass::kGpr, 8, a, x, {greg(b)});
}

Reg GeneralOps::divided(const ir::Expr& e, Reg a, bool fits, const std::function<Reg()>& by) {
  int64_t divisor = 0;
  const bool constant = ir::is_const(e->args[1], &divisor) && divisor > 0;
  if (constant && std::has_single_bit(static_cast<uint64_t>(divisor))) {
    const int power = std::countr_zero(static_cast<uint64_t>(divisor));
    return e->op == Op::kDiv ? code_.update(RegClass::kGpr, 8, a, X86::sar, {imm(power)})
                             : code_.update(RegClass::kGpr, 8, a, X86::and_, {imm(divisor - 1)});
  }
  if (constant && fits && divisor <= INT32_MAX) return multiplied_by_inverse(e->op, a, divisor);
  const Reg b = by();
  const Pseudo op = e->op == Op::kDiv ? Pseudo::floor_div : Pseudo::floor_mod;
  // -128 / -1 and the like leave a narrow type's range.
  return wrapped(code_.define(RegClass::kGpr, 8, op, {greg(a), greg(b)}), e->type);
}

/// A number of 31 bits times the inverse, rounded up in 32 bits, is off by less than 1/divisor, and
/// the product has 63 bits. A negative one is the complement of such a number, and so is its
/// quotient.
Reg GeneralOps::multiplied_by_inverse(Op op, Reg a, int64_t divisor) {
  const int shift = 31 + static_cast<int>(std::bit_width(static_cast<uint64_t>(divisor)));
  constexpr int kSign = 63;  // Fixed by: integers of 64 bits.
  const int64_t one = int64_t{1} << shift;
  const Reg inverse = constant_gpr((one + divisor - 1) / divisor);
  const Reg sign = code_.update(RegClass::kGpr, 8, a, X86::sar, {imm(kSign)});
  Reg q = code_.update(RegClass::kGpr, 8, a, X86::xor_, {greg(sign)});
  q = code_.update(RegClass::kGpr, 8, q, X86::imul, {greg(inverse)});
  q = code_.update(RegClass::kGpr, 8, q, X86::sar, {imm(shift)});
  q = code_.update(RegClass::kGpr, 8, q, X86::xor_, {greg(sign)});
  if (op == Op::kDiv) return q;
  const Reg whole = code_.define(RegClass::kGpr, 8, X86::imul, {greg(q), imm(divisor)});
  return code_.update(RegClass::kGpr, 8, a, X86::sub, {greg(whole)});
}

Reg GeneralOps::wrapped(Reg r, DType type) {
  switch (type) {
    case DType::kI32:
      return code_.define(RegClass::kGpr, 8, X86::movsxd, {greg(r, 4)});
    case DType::kI16:
      return code_.define(RegClass::kGpr, 8, X86::movsx, {greg(r, 2)});
    case DType::kI8:
      return code_.define(RegClass::kGpr, 8, X86::movsx, {greg(r, 1)});
    case DType::kU8:
      return code_.define(RegClass::kGpr, 8, X86::movzx, {greg(r, 1)});
    default:
      return r;
  }
}

Reg GeneralOps::load_integer(const Mem& m, DType type, int buffer) {
  Operand address = mem(m);
  switch (type) {
    case DType::kI64:
      return code_.load(RegClass::kGpr, 8, X86::mov, address, buffer);
    case DType::kI32:
      address.width = 4;
      return code_.load(RegClass::kGpr, 8, X86::movsxd, address, buffer);
    case DType::kI16:
      address.width = 2;
      return code_.load(RegClass::kGpr, 8, X86::movsx, address, buffer);
    case DType::kI8:
      address.width = 1;
      return code_.load(RegClass::kGpr, 8, X86::movsx, address, buffer);
    default:
      address.width = 1;
      return code_.load(RegClass::kGpr, 8, X86::movzx, address, buffer);
  }
}

}  // namespace hone::jit
