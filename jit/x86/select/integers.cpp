// SPDX-License-Identifier: Apache-2.0
#include "jit/x86/select/integers.h"

#include <bit>

#include "jit/ir/functions/function.h"
#include "jit/ir/operations.h"
#include "jit/x86/select/expressions.h"

namespace hone::jit {

using ir::Op;

namespace {

struct Comparison {
  X86 set;
  Pseudo jump_if_not;
};

Comparison comparison_of(Op op) {
  switch (op) {
    case Op::kEq:
      return {X86::sete, Pseudo::jump_ne};
    case Op::kNe:
      return {X86::setne, Pseudo::jump_eq};
    case Op::kLt:
      return {X86::setl, Pseudo::jump_ge};
    default:
      return {X86::setle, Pseudo::jump_gt};
  }
}

}  // namespace

Reg Integers::integer(const ir::Expr& e) {
  switch (e->op) {
    case Op::kInt:
      return constant_gpr(e->i);
    case Op::kLoad:
      return load(e);
    case Op::kMin:
    case Op::kMax: {
      const Reg a = indices_.gpr(indices_.affine(e->args[0])),
                b = indices_.gpr(indices_.affine(e->args[1]));
      return general_.extreme_of(e->op, a, b);
    }
    case Op::kDiv:
    case Op::kMod:
      return division(e);
    case Op::kBitAnd:
    case Op::kBitOr:
    case Op::kBitXor: {
      const Reg a = operand(e->args[0]);
      return general_.bits_of(e->op, a, operand(e->args[1]));
    }
    case Op::kShl:
    case Op::kShr: {
      const Reg a = operand(e->args[0]);
      return general_.wrapped(general_.shifted(e->op, a, operand(e->args[1])), e->type);
    }
    case Op::kEq:
    case Op::kNe:
    case Op::kLt:
    case Op::kLe:
    case Op::kAnd:
    case Op::kOr:
    case Op::kNot:
    case Op::kSelect:
    case Op::kCast:
    case Op::kScalar:
      return choice(e);
    case Op::kMul: {
      if (e->type != DType::kI64) return narrow(e);
      const Reg a = operand(e->args[0]);
      return general_.multiplied(a, operand(e->args[1]));
    }
    case Op::kCall: {
      if (e->fn->expansion != ir::Expansion::kAbs || !is_int(e->type)) return from_vector(e);
      const Reg a = operand(e->args[0]);
      const Reg negated = code_.update(RegClass::kGpr, 8, a, X86::neg, {});
      return general_.wrapped(general_.extreme_of(Op::kMax, a, negated), e->type);
    }
    default:
      if (e->type == DType::kI64) return indices_.gpr(indices_.affine(e));
      return narrow(e);
  }
}

Reg Integers::operand(const ir::Expr& e) {
  return e->type == DType::kI64 ? indices_.gpr(indices_.affine(e)) : integer(e);
}

Reg Integers::load(const ir::Expr& e) {
  if (is_float(e->type) || e->guarded || nest_.buffers[e->id].home == ir::Home::kRegisters) {
    return from_vector(e);
  }
  if (lanes_.condition.valid()) {
    refuse("an integer of " + nest_.buffers[e->id].name +
           " steers within a branch that differs between lanes");
  }
  const Affine offset = indices_.affine(e->args[0]);
  return general_.load_integer(addresses_.address(e->id, offset), nest_.buffers[e->id].type, e->id);
}

Reg Integers::division(const ir::Expr& e) {
  const Reg a = operand(e->args[0]);
  const bool fits = size_of(e->type) <= 4;
  return general_.divided(e, a, fits, [&] { return operand(e->args[1]); });
}

Reg Integers::choice(const ir::Expr& e) {
  switch (e->op) {
    case Op::kAnd:
    case Op::kOr:
      return code_.update(RegClass::kGpr, 8, integer(e->args[0]),
                          e->op == Op::kAnd ? X86::and_ : X86::or_, {greg(integer(e->args[1]))});
    case Op::kNot:
      return code_.update(RegClass::kGpr, 8, integer(e->args[0]), X86::xor_, {imm(1)});
    case Op::kScalar:
      return general_.load_integer(argument(context_.layout.scalar_slots[e->id]), e->type, -1);
    case Op::kCast: {
      const ir::Expr& from = e->args[0];
      if (is_float(from->type)) return from_vector(e);
      const Reg r = operand(from);
      if (e->type != DType::kBool || from->type == DType::kBool)
        return general_.wrapped(r, e->type);
      return code_.sequence(RegClass::kGpr, 8, Sequence::kNonZero, {greg(r)},
                            [&](CodeList& list, Reg b) {
                              code_.append(list, X86::mov, {greg(b), imm(0)});
                              code_.append(list, X86::test, {greg(r), greg(r)});
                              code_.append(list, X86::setne, {greg(b, 1)});
                            });
    }
    case Op::kSelect: {
      const Reg c = integer(e->args[0]);
      const Reg a = operand(e->args[1]), b = operand(e->args[2]);
      return code_.sequence(RegClass::kGpr, 8, Sequence::kSelect, {greg(c), greg(a), greg(b)},
                            [&](CodeList& list, Reg r) {
                              code_.append(list, X86::mov, {greg(r), greg(b)});
                              code_.append(list, X86::test, {greg(c), greg(c)});
                              code_.append(list, X86::cmovne, {greg(r), greg(a)});
                            });
    }
    default:
      return compare(e);
  }
}

Reg Integers::narrow(const ir::Expr& e) {
  if (!is_int(e->type) && e->type != DType::kBool) {
    refuse("a value that is no integer stands where an index is wanted");
  }
  const Reg a = integer(e->args[0]);
  switch (e->op) {
    case Op::kNeg:
      return general_.wrapped(code_.update(RegClass::kGpr, 8, a, X86::neg, {}), e->type);
    case Op::kAdd:
      return general_.wrapped(
          code_.update(RegClass::kGpr, 8, a, X86::add, {greg(integer(e->args[1]))}), e->type);
    case Op::kSub:
      return general_.wrapped(
          code_.update(RegClass::kGpr, 8, a, X86::sub, {greg(integer(e->args[1]))}), e->type);
    case Op::kMul:
      return general_.wrapped(
          code_.update(RegClass::kGpr, 8, a, X86::imul, {greg(integer(e->args[1]))}), e->type);
    default:
      return from_vector(e);
  }
}

Reg Integers::compare(const ir::Expr& e) {
  if (is_float(e->args[0]->type)) return from_vector(e);
  const Reg a = operand(e->args[0]), b = operand(e->args[1]);
  const auto tag = static_cast<Sequence>(static_cast<int>(Sequence::kCondition) +
                                         static_cast<int>(e->op) - static_cast<int>(Op::kEq));
  return code_.sequence(RegClass::kGpr, 8, tag, {greg(a), greg(b)}, [&](CodeList& list, Reg r) {
    // Zeroing first would change the flags; widening afterwards does not.
    code_.append(list, X86::mov, {greg(r), imm(0)});
    code_.append(list, X86::cmp, {greg(a), greg(b)});
    code_.append(list, comparison_of(e->op).set, {greg(r, 1)});
  });
}

Reg Integers::from_vector(const ir::Expr& e) {
  if (lanes_.condition.valid() && ir::mentions_load(e)) {
    refuse("a value from memory steers within a branch that differs between lanes");
  }
  const Lanes outer = lanes_;
  lanes_ = {};
  const Value v = value(e);
  lanes_ = outer;
  if (v.type == DType::kBool) {
    const Reg bits = wide() ? code_.define(RegClass::kGpr, 4, X86::kmovd, {kreg(v.reg)})
                            : code_.define(RegClass::kGpr, 4, X86::vpmovmskb, {vreg(v.reg, 16)});
    return code_.update(RegClass::kGpr, 4, bits, X86::and_, {imm(1)});
  }
  return general_.wrapped(code_.define(RegClass::kGpr, 8, X86::vmovq, {vreg(v.reg, 16)}), v.type);
}

void Integers::branch_unless(const ir::Expr& condition, int label) {
  if (condition->op == Op::kAnd) {
    branch_unless(condition->args[0], label);
    // What the second side computes lies behind a jump: nobody else may count on it.
    return branch(0, [&] { branch_unless(condition->args[1], label); });
  }
  if (is_comparison(condition->op) && !is_float(condition->args[0]->type)) {
    const bool wide_type = condition->args[0]->type == DType::kI64;
    const Reg a = operand(condition->args[0]);
    const Operand b = wide_type ? indices_.gpr_or_imm(indices_.affine(condition->args[1]))
                                : greg(integer(condition->args[1]));
    code_.emit(X86::cmp, {greg(a), b});
    code_.emit(comparison_of(condition->op).jump_if_not, {imm(label)});
    return;
  }
  const Reg c = integer(condition);
  code_.emit(X86::test, {greg(c), greg(c)});
  code_.emit(Pseudo::jump_eq, {imm(label)});
}

}  // namespace hone::jit
