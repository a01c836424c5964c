// SPDX-License-Identifier: Apache-2.0
// Integers and conditions in general registers that are more than sums: division, narrow types,
// comparisons, choices, loads; and branches on them.
#include <bit>

#include "jit/x86/select_context.h"

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

bool is_comparison(Op op) {
  return op == Op::kEq || op == Op::kNe || op == Op::kLt || op == Op::kLe;
}

}  // namespace

Reg Selector::wrapped(Reg r, DType type) {
  switch (type) {
    case DType::kI32:
      return code.define(RegClass::kGpr, 8, X86::movsxd, {greg(r, 4)});
    case DType::kI16:
      return code.define(RegClass::kGpr, 8, X86::movsx, {greg(r, 2)});
    case DType::kI8:
      return code.define(RegClass::kGpr, 8, X86::movsx, {greg(r, 1)});
    case DType::kU8:
      return code.define(RegClass::kGpr, 8, X86::movzx, {greg(r, 1)});
    default:
      return r;
  }
}

Reg Selector::load_integer(const Mem& m, DType type, int buffer) {
  Operand address = mem(m);
  switch (type) {
    case DType::kI64:
      return code.load(RegClass::kGpr, 8, X86::mov, address, buffer);
    case DType::kI32:
      address.width = 4;
      return code.load(RegClass::kGpr, 8, X86::movsxd, address, buffer);
    case DType::kI16:
      address.width = 2;
      return code.load(RegClass::kGpr, 8, X86::movsx, address, buffer);
    case DType::kI8:
      address.width = 1;
      return code.load(RegClass::kGpr, 8, X86::movsx, address, buffer);
    default:
      address.width = 1;
      return code.load(RegClass::kGpr, 8, X86::movzx, address, buffer);
  }
}

Reg Selector::integer_load(const ir::Expr& e) {
  if (is_float(e->type) || e->guarded || nest_.buffers[e->id].home == ir::Home::kRegisters) {
    return integer_from_vector(e);
  }
  if (lanes_.condition.valid()) {
    refuse("an integer of " + nest_.buffers[e->id].name +
           " steers within a branch that differs between lanes");
    return constant_gpr(0);
  }
  const Affine offset = affine(e->args[0]);
  if (failed()) return constant_gpr(0);
  return load_integer(address(e->id, offset), nest_.buffers[e->id].type, e->id);
}

Reg Selector::integer_division(const ir::Expr& e) {
  const Reg a = integer_operand(e->args[0]);
  return divided(e, a, [&] { return integer_operand(e->args[1]); });
}

/// The division or remainder `e` of what is in `a` by what `by` brings into a register.
Reg Selector::divided(const ir::Expr& e, Reg a, const std::function<Reg()>& by) {
  int64_t divisor = 0;
  const bool power = ir::is_const(e->args[1], &divisor) && divisor > 0 &&
                     std::has_single_bit(static_cast<uint64_t>(divisor));
  if (power && e->op == Op::kDiv) {
    return code.update(RegClass::kGpr, 8, a, X86::sar,
                       {imm(std::countr_zero(static_cast<uint64_t>(divisor)))});
  }
  if (power) {
    return code.update(RegClass::kGpr, 8, a, X86::and_, {imm(divisor - 1)});
  }
  const Reg b = by();
  const Pseudo op = e->op == Op::kDiv ? Pseudo::floor_div : Pseudo::floor_mod;
  // -128 / -1 and the like leave a narrow type's range.
  return wrapped(code.define(RegClass::kGpr, 8, op, {greg(a), greg(b)}), e->type);
}

Reg Selector::integer_operand(const ir::Expr& e) {
  return e->type == DType::kI64 ? gpr(affine(e)) : integer(e);
}

Reg Selector::integer_compare(const ir::Expr& e) {
  if (is_float(e->args[0]->type)) return integer_from_vector(e);
  const Reg a = integer_operand(e->args[0]), b = integer_operand(e->args[1]);
  const auto tag = static_cast<Sequence>(static_cast<int>(Sequence::kCondition) +
                                         static_cast<int>(e->op) - static_cast<int>(Op::kEq));
  return code.sequence(RegClass::kGpr, 8, tag, {greg(a), greg(b)}, [&](CodeList& list, Reg r) {
    // Zeroing first would change the flags; widening afterwards does not.
    code.append(list, X86::mov, {greg(r), imm(0)});
    code.append(list, X86::cmp, {greg(a), greg(b)});
    code.append(list, comparison_of(e->op).set, {greg(r, 1)});
  });
}

Reg Selector::integer_choice(const ir::Expr& e) {
  switch (e->op) {
    case Op::kAnd:
    case Op::kOr:
      return code.update(RegClass::kGpr, 8, integer(e->args[0]),
                         e->op == Op::kAnd ? X86::and_ : X86::or_, {greg(integer(e->args[1]))});
    case Op::kNot:
      return code.update(RegClass::kGpr, 8, integer(e->args[0]), X86::xor_, {imm(1)});
    case Op::kScalar:
      return load_integer(argument(layout_.scalar_slots[e->id]), e->type, -1);
    case Op::kCast: {
      const ir::Expr& from = e->args[0];
      if (is_float(from->type)) return integer_from_vector(e);
      const Reg r = integer_operand(from);
      if (e->type != DType::kBool || from->type == DType::kBool) return wrapped(r, e->type);
      return code.sequence(RegClass::kGpr, 8, Sequence::kNonZero, {greg(r)},
                           [&](CodeList& list, Reg b) {
                             code.append(list, X86::mov, {greg(b), imm(0)});
                             code.append(list, X86::test, {greg(r), greg(r)});
                             code.append(list, X86::setne, {greg(b, 1)});
                           });
    }
    case Op::kSelect: {
      const Reg c = integer(e->args[0]);
      const Reg a = integer_operand(e->args[1]), b = integer_operand(e->args[2]);
      return code.sequence(RegClass::kGpr, 8, Sequence::kSelect, {greg(c), greg(a), greg(b)},
                           [&](CodeList& list, Reg r) {
                             code.append(list, X86::mov, {greg(r), greg(b)});
                             code.append(list, X86::test, {greg(c), greg(c)});
                             code.append(list, X86::cmovne, {greg(r), greg(a)});
                           });
    }
    default:
      return integer_compare(e);
  }
}

/// Arithmetic of types narrower than a register: done in 64 bits, then wrapped.
Reg Selector::integer_narrow(const ir::Expr& e) {
  if (!is_int(e->type) && e->type != DType::kBool) {
    refuse("a value that is no integer stands where an index is wanted");
    return constant_gpr(0);
  }
  const Reg a = integer(e->args[0]);
  switch (e->op) {
    case Op::kNeg:
      return wrapped(code.update(RegClass::kGpr, 8, a, X86::neg, {}), e->type);
    case Op::kAdd:
      return wrapped(code.update(RegClass::kGpr, 8, a, X86::add, {greg(integer(e->args[1]))}),
                     e->type);
    case Op::kSub:
      return wrapped(code.update(RegClass::kGpr, 8, a, X86::sub, {greg(integer(e->args[1]))}),
                     e->type);
    case Op::kMul:
      return wrapped(code.update(RegClass::kGpr, 8, a, X86::imul, {greg(integer(e->args[1]))}),
                     e->type);
    default:
      return integer_from_vector(e);
  }
}

/// Through a vector register, on one lane.
Reg Selector::integer_from_vector(const ir::Expr& e) {
  if (lanes_.condition.valid() && has_load(e)) {
    refuse("a value from memory steers within a branch that differs between lanes");
    return constant_gpr(0);
  }
  const Lanes outer = lanes_;
  lanes_ = {};
  const Value v = value(e);
  lanes_ = outer;
  if (failed()) return constant_gpr(0);
  if (v.type == DType::kBool) {
    const Reg bits = wide() ? code.define(RegClass::kGpr, 4, X86::kmovd, {kreg(v.reg)})
                            : code.define(RegClass::kGpr, 4, X86::vpmovmskb, {vreg(v.reg, 16)});
    return code.update(RegClass::kGpr, 4, bits, X86::and_, {imm(1)});
  }
  return wrapped(code.define(RegClass::kGpr, 8, X86::vmovq, {vreg(v.reg, 16)}), v.type);
}

void Selector::branch_unless(const ir::Expr& condition, int label) {
  if (failed()) return;
  if (condition->op == Op::kAnd) {
    branch_unless(condition->args[0], label);
    // What the second side computes lies behind a jump: nobody else may count on it.
    open(Scope::kBranch, 0, false);
    branch_unless(condition->args[1], label);
    const Scope behind = close();
    code.splice(code.top().body, behind.pre);
    code.splice(code.top().body, behind.body);
    return;
  }
  if (is_comparison(condition->op) && !is_float(condition->args[0]->type)) {
    const bool wide_type = condition->args[0]->type == DType::kI64;
    const Reg a = integer_operand(condition->args[0]);
    const Operand b =
        wide_type ? gpr_or_imm(affine(condition->args[1])) : greg(integer(condition->args[1]));
    code.emit(X86::cmp, {greg(a), b});
    code.emit(comparison_of(condition->op).jump_if_not, {imm(label)});
    return;
  }
  const Reg c = integer(condition);
  code.emit(X86::test, {greg(c), greg(c)});
  code.emit(Pseudo::jump_eq, {imm(label)});
}

/// A guard by data of a load in `s`, such as whether a row's number is one, that holds or fails for
/// all of the vector loop `loop` together; null where there is none.
const ir::Expr* Selector::common_guard(const ir::Stmt& s, const ir::Stmt& loop) {
  const ir::Expr* found = nullptr;
  if (s.kind == ir::Stmt::kStore) {
    ir::visit(s.value, [&](const ir::Expr& e) {
      if (found != nullptr || e->op != Op::kLoad || !e->guarded) return;
      bool holds = false, common = has_load(e->args[1]) && !decided(e->args[1], holds);
      const uint64_t written = common ? written_by(loop) : 0;
      ir::visit(e->args[1], [&](const ir::Expr& x) {
        if (x->op == Op::kLoad) common = common && !(written & CodeWriter::buffer_bit(x->id));
        if (x->op == Op::kVar) common = common && bindings_[x->id].bound;
      });
      if (common) found = &e->args[1];
    });
  }
  for (const ir::StmtRef& child : s.body) {
    if (found == nullptr && child) found = common_guard(*child, loop);
  }
  return found;
}

/// One branch for the whole vector loop: a masked load whose lanes are all off is an ordinary one
/// only where the address exists, else the processor spends hundreds of cycles on not faulting.
void Selector::vector_by_guard(const ir::Stmt& s, const ir::Expr& guard) {
  const int no = code.lir.label(), done = code.lir.label();
  const uint64_t written = written_by(s);
  branch_unless(guard, no);
  const auto side = [&](bool holds) {
    open(Scope::kBranch, written, false);
    assumed_.push_back({&guard, holds});
    walk_for(s);
    assumed_.pop_back();
    const Scope branch = close();
    code.splice(code.top().body, branch.pre);
    code.splice(code.top().body, branch.body);
  };
  side(true);
  code.emit(Pseudo::jump, {imm(done)});
  code.emit(Pseudo::label, {imm(no)});
  side(false);
  code.emit(Pseudo::label, {imm(done)});
}

}  // namespace hone::jit
