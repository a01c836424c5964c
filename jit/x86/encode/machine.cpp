// SPDX-License-Identifier: Apache-2.0
// The properties of instructions that neutral code asks for.
#include "jit/x86/encode/machine.h"

#include <algorithm>
#include <string_view>

#include "jit/x86/encode/forms.h"

namespace hone::jit {
namespace {

/// Those the caller saves first, so that small kernels push nothing; rsp is never among them.
/// Fixed by: the System V ABI.
constexpr int8_t kGprOrder[] = {0, 8, 9, 10, 11, 7, 6, 2, 1, 3, 5, 12, 13, 14, 15};

/// The size of the elements that a load repeats as an EVEX operand can; 0: it is no such load.
int repeated_element(Opcode load) {
  switch (x86_of(load)) {
    case X86::vbroadcastss:
    case X86::vpbroadcastd:
      return 4;
    case X86::vbroadcastsd:
    case X86::vpbroadcastq:
      return 8;
    default:
      return 0;
  }
}

class X86Machine final : public Machine {
 public:
  /// `vex_dot`: dot products have only their VEX form.
  X86Machine(bool evex, bool vex_dot) : evex_(evex), vex_dot_(vex_dot) {}

  std::string_view name_of(Opcode op) const override { return jit::name_of(op); }

  OpcodeFacts facts_of(Opcode op) const override {
    switch (x86_of(op)) {
      case X86::mov:
      case X86::vmovups:
      case X86::vmovupd:
      case X86::vmovaps:
      case X86::vmovapd:
      case X86::vmovdqu:
      case X86::vmovdqa:
      case X86::vmovdqu32:
      case X86::vmovdqu64:
      case X86::kmovq:
        return {OpcodeFacts::kWhole, 0};
      case X86::kmovd:
      case X86::kmovw:
      case X86::kmovb:
        return {OpcodeFacts::kPart, 0};
      case X86::vbroadcastss:
        return {OpcodeFacts::kNone, 4};
      case X86::vbroadcastsd:
      case X86::vmovddup:
        return {OpcodeFacts::kNone, 8};
      default:
        return {};
    }
  }

  bool effects_of(const Inst& inst, Effects& out) const override {
    const Form* form = form_of(inst);
    if (!form) return false;
    const bool vex =
        form->encoding == Encoding::kVex || (form->encoding == Encoding::kVnni && vex_dot_);
    const bool gather = form->access == Access::kGather;
    for (int i = 0; i < 4; ++i) {
      const Operand& o = inst.operands[i];
      if (o.kind != Operand::kReg) continue;
      out.operands[i] = {reads(inst, *form, i), writes(inst, *form, i),
                         vex && class_of(o) == RegClass::kVec};
    }
    out.low_index = gather && vex;
    out.mask_written = gather;
    return true;
  }

  Opcode move_of(RegClass cls) const override {
    return cls == RegClass::kVec ? X86::vmovaps : cls == RegClass::kMask ? X86::kmovq : X86::mov;
  }
  Opcode vector_load() const override { return X86::vmovups; }
  bool repeats_operands() const override { return evex_; }

  LongImmediate long_immediate(const Inst& inst, int i) const override {
    if (inst.op == X86::mov && inst.operands[0].kind == Operand::kReg) return LongImmediate::kFits;
    // A product with a register has the destination for its other factor.
    if (inst.op == X86::imul && i == 2) return LongImmediate::kDestination;
    return LongImmediate::kRegister;
  }

  bool takes_memory(const Inst& inst, int i) const override {
    const Form* form = form_of(inst);
    return form != nullptr && jit::takes_memory(form->shapes[i]);
  }

  bool fold(Inst& inst, int i, const Operand& memory) const override {
    Inst folded = inst;
    folded.operands[i] = memory;
    const Shape shape = form_of(inst)->shapes[i];
    if (shape == Shape::RMS || shape == Shape::VMS) {
      folded.operands[i].width = inst.operands[i].width;
    }
    if (!form_of(folded)) return false;
    inst = folded;
    return true;
  }

  bool repeats(const Inst& load, const Inst& inst, int i) const override {
    const int element = repeated_element(load.op);
    const Form* form = form_of(inst);
    if (element == 0 || !evex_ || i != 2 || form->shapes[2] != Shape::VM) return false;
    if (form->encoding != Encoding::kAny && form->encoding != Encoding::kEvex) return false;
    return std::string_view(form->name).ends_with(element == 4 ? "ps" : "pd");
  }

  RegisterOrder registers() const override {
    // Where the System V ABI passes args, begin, end, scratch: rdi rsi rdx rcx. k0 is no mask.
    return {kGprOrder, {7, 6, 2, 1}, 1, 0xffff};
  }

 private:
  bool evex_;
  bool vex_dot_;
};

}  // namespace

RegisterFile registers_of(const ir::Target& target) {
  static const X86Machine kMachines[2][2] = {{{false, false}, {false, true}},
                                             {{true, false}, {true, true}}};
  const bool avx512 = target.has(ir::Isa::kAvx512);
  RegisterFile file;
  file.machine = &kMachines[avx512][!target.has(ir::Isa::kVnni)];
  file.gprs = static_cast<int>(std::size(kGprOrder));
  file.vecs = target.vector_registers();
  file.masks = avx512 ? 7 : 0;
  file.vector_bytes = std::max(target.vector_bytes(), 16);
  return file;
}

}  // namespace hone::jit
