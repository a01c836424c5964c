// SPDX-License-Identifier: Apache-2.0
#include "jit/x86/encode/verify.h"

#include <algorithm>
#include <vector>

#include "jit/x86/encode/forms.h"
#include "jit/x86/encode/print.h"

namespace hone::jit {
namespace {

/// Fixed by: x86.
constexpr int kMasks = 8, kLowVectors = 16, kGprs = 16, kStackPointer = 4;

std::string_view name_of_class(RegClass cls) {
  return cls == RegClass::kVec ? "vector" : cls == RegClass::kMask ? "mask" : "general";
}

/// The part of the instruction's width that a shape has; 0: it says nothing of it.
int part_of(Shape shape) {
  switch (shape) {
    case Shape::V:
    case Shape::VM:
    case Shape::VMS:
    case Shape::W:
    case Shape::WM:
      return 1;
    case Shape::H:
    case Shape::HM:
      return 2;
    case Shape::Q:
    case Shape::QM:
      return 4;
    case Shape::E:
    case Shape::EM:
      return 8;
    default:
      return 0;
  }
}

bool is_general(Shape shape) {
  return shape == Shape::R || shape == Shape::RM || shape == Shape::RMS;
}

class Verifier {
 public:
  Verifier(const Lir& lir, const ir::Target& target)
      : lir_(lir), target_(target), placed_(static_cast<size_t>(lir.labels), 0) {}

  std::string run() {
    for (const Inst& inst : lir_.code) {
      const bool label = inst.op == Pseudo::label || inst.op == Pseudo::loop_begin;
      if (label && has_label(inst)) ++placed_[static_cast<size_t>(inst.operands[0].imm)];
    }
    for (const Inst& inst : lir_.code) {
      const std::string why = is_pseudo(inst.op) ? pseudo(inst) : instruction(inst);
      if (!why.empty()) return why + ": " + print(inst, lir_.physical);
    }
    return {};
  }

 private:
  std::string instruction(const Inst& inst) const {
    if (std::string why = unsupported(inst, target_, lir_.physical); !why.empty()) return why;
    const Form& form = *form_of(inst);
    const bool gather = form.access == Access::kGather;
    const bool vex = form.encoding == Encoding::kVex;
    for (size_t i = 0; i < inst.operands.size(); ++i) {
      const Operand& o = inst.operands[i];
      std::string why;
      if (o.kind == Operand::kReg) why = reg(o.reg, class_of(o), vex);
      if (o.kind == Operand::kMem) {
        const bool index = form.shapes[i] == Shape::SV || form.shapes[i] == Shape::SH;
        why = memory(o.mem, index, vex);
      }
      if (!why.empty()) return why;
    }
    if (inst.mask.valid()) {
      if (!needs_evex(inst, form, lir_.physical)) return "a mask on an instruction that takes none";
      if (std::string why = reg(inst.mask, RegClass::kMask, false); !why.empty()) return why;
      if (lir_.physical && inst.mask.id == 0) return "k0 cannot be a mask";
    }
    const bool stores = inst.operands[0].kind == Operand::kMem;
    if (inst.zeroing && (!inst.mask.valid() || stores || gather)) return "nothing here to zero";
    return widths(inst, form);
  }

  /// Registers that a form wants as wide as one another are.
  static std::string widths(const Inst& inst, const Form& form) {
    int vector = 0, general = 0;
    for (size_t i = 0; i < inst.operands.size(); ++i) {
      const Operand& o = inst.operands[i];
      if (o.kind == Operand::kReg && part_of(form.shapes[i]) == 1)
        vector = std::max<int>(vector, o.width);
    }
    for (size_t i = 0; i < inst.operands.size(); ++i) {
      const Operand& o = inst.operands[i];
      if (o.kind != Operand::kReg) continue;
      const int part = part_of(form.shapes[i]);
      if (part != 0 && vector != 0 && o.width != std::max(16, vector / part)) {
        return "a vector of another width than the instruction's";
      }
      if (!is_general(form.shapes[i])) continue;
      if (general != 0 && general != o.width) return "general registers of different widths";
      general = o.width;
    }
    return {};
  }

  std::string memory(const Mem& m, bool vector_index, bool vex) const {
    if (m.pool >= 0) {
      if (static_cast<size_t>(m.pool) >= lir_.pool.size()) return "a constant that the pool lacks";
      return m.index.valid() || m.base.valid() ? "a register beside a constant's place" : "";
    }
    if (m.scale != 1 && m.scale != 2 && m.scale != 4 && m.scale != 8) return "a wrong scale";
    if (m.slot >= 0) return lir_.physical ? "" : "a spill slot before allocation";
    if (m.base.valid()) {
      if (std::string why = reg(m.base, RegClass::kGpr, false); !why.empty()) return why;
    }
    if (!m.index.valid()) return vector_index ? "a gather without an index" : "";
    return reg(m.index, vector_index ? RegClass::kVec : RegClass::kGpr, vex);
  }

  std::string reg(Reg r, RegClass cls, bool vex) const {
    if (!r.valid()) return "an operand without a register";
    if (!lir_.physical) {
      if (static_cast<size_t>(r.id) >= lir_.regs.size()) return "a register that does not exist";
      const RegClass own = lir_.regs[static_cast<size_t>(r.id)].cls;
      if (own == cls) return {};
      return "a " + std::string(name_of_class(own)) + " register where a " +
             std::string(name_of_class(cls)) + " one is wanted";
    }
    const int count = cls == RegClass::kMask  ? kMasks
                      : cls == RegClass::kGpr ? kGprs
                      : vex                   ? kLowVectors
                                              : target_.vector_registers();
    // Vectors of 16 bytes are there on every target.
    const bool fits = r.id < std::max(count, cls == RegClass::kVec ? kLowVectors : 0);
    if (!fits) return "a register that the encoding does not reach";
    return cls == RegClass::kGpr && r.id == kStackPointer ? "the stack pointer" : "";
  }

  bool has_label(const Inst& inst) const {
    const int64_t label = inst.operands[0].imm;
    return inst.operands[0].kind == Operand::kImm && label >= 0 && label < lir_.labels;
  }

  std::string pseudo(const Inst& inst) const {
    if (inst.op == Pseudo::loop_end || inst.op == Pseudo::ret) return {};
    if (inst.op <= Pseudo::jump_above_equal) {
      if (!has_label(inst)) return "a label that does not exist";
      const int places = placed_[static_cast<size_t>(inst.operands[0].imm)];
      return places == 1 ? "" : "a label at no place, or at several";
    }
    const bool divides = inst.op == Pseudo::floor_div || inst.op == Pseudo::floor_mod;
    if (!divides && !lir_.physical) return "spill code before allocation";
    for (const Operand& o : inst.operands) {
      std::string why;
      if (o.kind == Operand::kReg) why = reg(o.reg, class_of(o), false);
      if (divides && (o.kind == Operand::kMem || (o.kind == Operand::kReg && o.width != 8))) {
        why = "a division of anything but 64-bit registers";
      }
      if (!why.empty()) return why;
    }
    return {};
  }

  const Lir& lir_;
  const ir::Target& target_;
  std::vector<int> placed_;  ///< per label: how often it stands
};

}  // namespace

std::string defect_of(const Lir& lir, const ir::Target& target) {
  return Verifier(lir, target).run();
}

}  // namespace hone::jit
