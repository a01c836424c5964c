// SPDX-License-Identifier: Apache-2.0
#include "jit/x86/select/dots.h"

#include <algorithm>
#include <string>

#include "jit/ir/instructions.h"
#include "jit/x86/select/dot_forms.h"

namespace hone::jit {

using ir::Op;

namespace {

/// The load that a factor converts.
const ir::Expr& load_of(const ir::Expr& factor) {
  const ir::Expr* at = &factor;
  while ((*at)->op == Op::kCast) at = &(*at)->args[0];
  return *at;
}

}  // namespace

const ir::StoreStmt* Dots::accepted(const ir::ForStmt& s, const Affine& extent) {
  const ir::Instruction& row = *s.instruction;
  const std::string name = row.name;
  const ir::StoreStmt* store = s.body.size() == 1 ? only_store(*s.body[0]) : nullptr;
  if (form_named(row.name) == nullptr) {
    refuse(name + " is no instruction of this machine kind");
  } else if (!available(row, target_)) {
    refuse(name + " needs " + needs(row));
  } else if (store == nullptr || !extent.is_constant()) {
    refuse(name + " takes all iterations of " + nest_.loops[s.loop] +
           " or a fixed part of them, without a condition");
  } else if (nest_.buffers[store->buffer].type != row.accumulate) {
    refuse(name + " adds to " + std::string(name_of(row.accumulate)) + ", and " +
           nest_.buffers[store->buffer].name + " is not; stage it in registers");
  }
  return store;
}

bool Dots::takes(const ir::StoreStmt& s) {
  const ir::Expr& value = s.value;
  return value->op == Op::kMul && load_of(value->args[0])->op == Op::kLoad &&
         load_of(value->args[1])->op == Op::kLoad;
}

void Dots::enter(const ir::ForStmt& s, const Affine& begin, int extent) {
  dot_ = {s.instruction, form_named(s.instruction->name), s.loop, begin, extent};
}

bool Dots::together(const ir::Expr& index, const Affine& offset) {
  bool found = true;
  for (int i = 1; i < dot_.extent && found; ++i) {
    Affine next;
    bindings_[dot_.loop].base = dot_.begin + Affine::of(i);
    found = indices_.lane_index(index, next) && next == offset + Affine::of(i);
  }
  bindings_[dot_.loop].base = dot_.begin;
  return found;
}

Dots::DotFactor Dots::factor_of(const ir::Expr& factor) {
  const ir::Expr& load = load_of(factor);
  const int32_t lane = Factor::make(Factor::kLane, 0);
  DotFactor out;
  out.type = load->type;
  Affine offset;
  bool fits = indices_.lane_index(load->args[0], offset) && together(load->args[0], offset);
  const Affine stride = offset.coefficient_of(lane);
  const bool alone = lanes_.count == 1;
  out.uniform = alone || (stride.is_constant() && stride.constant == 0);
  fits = fits && nest_.buffers[load->id].home != ir::Home::kRegisters &&
         (out.uniform || (stride.is_constant() && stride.constant == dot_.row->group));
  if (!fits) {
    refuse_layout(load->id);
    return out;
  }
  const Mem m = addresses_.address(load->id, offset.without(lane));
  const bool rest = dot_.extent < dot_.row->group;
  out.reg = rest          ? group_rest(m, out, load->id)
            : out.uniform ? group_broadcast(m, out, load->id)
                          : memory_.contiguous_load(m, group_type(out.type), load->id, Reg{});
  const int w = width(dot_.row->accumulate);
  if (size_of(group_type(out.type)) == 2) {
    const X86 widen = out.type == DType::kU8 ? X86::vpmovzxbw : X86::vpmovsxbw;
    const int half = w == 16 ? 16 : w / 2;
    out.reg = code_.define(RegClass::kVec, w, widen, {vreg(out.reg, half)});
  }
  return out;
}

DType Dots::group_type(DType type) const {
  return size_of(type) * dot_.row->group == 4 ? DType::kI32 : DType::kI16;
}

void Dots::refuse_layout(int buffer) {
  const std::string group = std::to_string(dot_.row->group);
  const std::string lanes = lanes_.loop >= 0 ? nest_.loops[lanes_.loop] : "a vector loop";
  refuse(std::string(dot_.row->name) + ": " + nest_.buffers[buffer].name +
         " must lie in memory by " + "groups of " + group + " over " + nest_.loops[dot_.loop] +
         ", one after the other over " + lanes +
         " or the same all along it; stage it with layout=[n/16][k/" + group + "][n%16][k%" +
         group + "], n its dim over " + lanes + ", k its dim over " + nest_.loops[dot_.loop]);
}

Reg Dots::group_broadcast(const Mem& m, const DotFactor& f, int buffer) {
  const Reg mask = lanes_.condition.valid() ? masks_.active() : Reg{};
  return memory_.broadcast_load(m, group_type(f.type), buffer, mask);
}

Reg Dots::group_rest(const Mem& m, const DotFactor& f, int buffer) {
  if (lanes_.condition.valid()) {
    refuse("part of " + std::string(dot_.row->name) +
           " inside a branch that differs between lanes");
  }
  const int group = dot_.row->group;
  const X86 move = size_of(f.type) == 1 ? X86::vmovdqu8 : X86::vmovdqu16;
  uint64_t bits = (uint64_t{1} << dot_.extent) - 1;
  const DType element = group_type(f.type);
  if (f.uniform) {
    const Reg mask = code_.define(RegClass::kMask, 8, X86::kmovq,
                                  {greg(constant_gpr(static_cast<int64_t>(bits)))});
    const Reg one = code_.load(RegClass::kVec, 16, move, mem(m), buffer, mask);
    if (lanes_.count == 1) return one;
    const X86 spread = size_of(element) == 4 ? X86::vpbroadcastd : X86::vpbroadcastw;
    return code_.define(RegClass::kVec, width(element), spread, {vreg(one, 16)});
  }
  for (int lanes = 1; lanes < lanes_.count; lanes *= 2) bits |= bits << (lanes * group);
  Reg pattern;
  if (lanes_.active < 0) {
    const Reg elements =
        code_.update(RegClass::kGpr, 8, lanes_.active_reg, X86::shl, {imm(group == 4 ? 2 : 1)});
    pattern = code_.define(RegClass::kGpr, 8, X86::bzhi,
                           {greg(constant_gpr(static_cast<int64_t>(bits))), greg(elements)});
  } else {
    if (lanes_.active * group < 64) bits &= (uint64_t{1} << (lanes_.active * group)) - 1;
    pattern = constant_gpr(static_cast<int64_t>(bits));
  }
  const Reg mask = code_.define(RegClass::kMask, 8, X86::kmovq, {greg(pattern)});
  return code_.load(RegClass::kVec, width(element), move, mem(m), buffer, mask);
}

Reg Dots::moved_by_128(Reg r) {
  const int w = width(dot_.row->accumulate);
  return code_.define(RegClass::kVec, w, wide() ? X86::vpxord : X86::vpxor,
                      {vreg(excess_.bytes_of_128(), w), vreg(r, w)});
}

Dots::DotOperands Dots::operands_of(const ir::StoreStmt& s) {
  DotOperands out;
  DotFactor a = factor_of(s.value->args[0]);
  DotFactor b = factor_of(s.value->args[1]);
  // Signs fix the places. Where they do not, what is the same in all lanes is moved, or stands
  // where it can be an operand from memory.
  const int biased = dot_.form->biased;
  const bool mixed = a.type != b.type;
  const bool exchanged = mixed         ? a.type == DType::kI8
                         : biased == 1 ? b.uniform && !a.uniform
                                       : a.uniform && !b.uniform;
  if (exchanged) std::swap(a, b);
  out.first = a.reg;
  out.second = b.reg;
  if (biased == 0) return out;
  const Reg bias = excess_.bytes_of_128();
  if (biased == 1) {
    out.correction = {bias, b.reg};
    out.first = moved_by_128(a.reg);
  } else {
    out.correction = {a.reg, bias};
    out.second = moved_by_128(b.reg);
  }
  return out;
}

Reg Dots::excess_of(const DotOperands& o) {
  const int w = width(dot_.row->accumulate);
  return code_.update(RegClass::kVec, w, vectors_.constant_bits(DType::kI32, 0).reg, dot_.form->op,
                      {vreg(o.correction[0], w), vreg(o.correction[1], w)});
}

void Dots::add_to(Reg dest, const ir::StoreStmt& s, Reg mask, bool stays) {
  const DotOperands o = operands_of(s);
  const int w = width(dot_.row->accumulate);
  const Operand first = vreg(o.first, w), second = vreg(o.second, w), to = vreg(dest, w);
  if (!dot_.form->adds) {
    const Reg products = code_.define(RegClass::kVec, w, dot_.form->op, {first, second});
    code_.emit(X86::vpaddd, {to, to, vreg(products, w)}, mask);
    return;
  }
  code_.emit(dot_.form->op, {to, first, second}, mask);
  if (dot_.form->biased == 0 || (stays && excess_.keep(dest, o.correction, dot_.form->op, w)))
    return;
  code_.emit(X86::vpsubd, {to, to, vreg(excess_of(o), w)}, mask);
}

Value Dots::added(const Value& old, const ir::StoreStmt& s) {
  const DotOperands o = operands_of(s);
  const int w = width(dot_.row->accumulate);
  const Operand first = vreg(o.first, w), second = vreg(o.second, w);
  Value out = old;
  if (dot_.form->adds) {
    out.reg = code_.update(RegClass::kVec, w, old.reg, dot_.form->op, {first, second});
  } else {
    const Reg products = code_.define(RegClass::kVec, w, dot_.form->op, {first, second});
    out.reg = code_.define(RegClass::kVec, w, X86::vpaddd, {vreg(old.reg, w), vreg(products, w)});
  }
  if (dot_.form->biased == 0) return out;
  out.reg = code_.define(RegClass::kVec, w, X86::vpsubd, {vreg(out.reg, w), vreg(excess_of(o), w)});
  return out;
}

}  // namespace hone::jit
