// SPDX-License-Identifier: Apache-2.0
#include "jit/x86/select/fold.h"

#include <algorithm>

#include "jit/x86/encode/forms.h"

namespace hone::jit {

namespace {

struct Uses {
  int reads = 0;
  int writes = 0;
  int load = -1;  ///< index of the load that defines it, in this straight line
};

bool is_store(const Inst& inst) { return inst.operands[0].kind == Operand::kMem; }

/// Elements of a broadcasting load that can be a memory operand; 0 for whole loads, -1 otherwise.
int load_kind(const Inst& inst) {
  if (inst.mask.valid() || inst.operands[0].kind != Operand::kReg ||
      inst.operands[1].kind != Operand::kMem || inst.operands[2].kind != Operand::kNone) {
    return -1;
  }
  switch (x86_of(inst.op)) {
    case X86::vmovups:
      return 0;
    case X86::vbroadcastss:
      return 4;
    case X86::vbroadcastsd:
      return 8;
    default:
      return -1;
  }
}

/// Size of the elements that an instruction's broadcast operand may have; 0: takes none.
int element_of(Opcode op) {
  switch (x86_of(op)) {
    case X86::vaddps:
    case X86::vsubps:
    case X86::vmulps:
    case X86::vdivps:
    case X86::vmaxps:
    case X86::vminps:
    case X86::vfmadd231ps:
    case X86::vfnmadd231ps:
    case X86::vfmsub231ps:
    case X86::vfmadd213ps:
    case X86::vfnmadd213ps:
    case X86::vfmadd132ps:
    case X86::vpaddd:
    case X86::vpsubd:
    case X86::vpmulld:
    case X86::vcmpps:
    case X86::vandps:
    case X86::vorps:
    case X86::vxorps:
    case X86::vandnps:
    case X86::vscalefps:
    case X86::vpcmpd:
    case X86::vpxord:
    case X86::vpdpbusd:
    case X86::vpdpwssd:
    case X86::vdpbf16ps:
      return 4;
    case X86::vaddpd:
    case X86::vsubpd:
    case X86::vmulpd:
    case X86::vdivpd:
    case X86::vmaxpd:
    case X86::vminpd:
    case X86::vfmadd231pd:
    case X86::vfnmadd231pd:
    case X86::vfmsub231pd:
    case X86::vfmadd213pd:
    case X86::vfnmadd213pd:
    case X86::vfmadd132pd:
    case X86::vpaddq:
    case X86::vpsubq:
    case X86::vcmppd:
    case X86::vandpd:
    case X86::vscalefpd:
    case X86::vpcmpq:
      return 8;
    default:
      return 0;
  }
}

/// True of a load of a constant into a register.
bool loads_constant(const Inst& inst) {
  const auto& o = inst.operands;
  return !inst.mask.valid() && o[0].kind == Operand::kReg && o[1].kind == Operand::kMem &&
         o[1].mem.pool >= 0 && o[2].kind == Operand::kNone;
}

bool commutes(Opcode op) {
  switch (x86_of(op)) {
    case X86::vaddps:
    case X86::vmulps:
    case X86::vaddpd:
    case X86::vmulpd:
    case X86::vpaddd:
    case X86::vpaddq:
    case X86::vpaddw:
    case X86::vpaddb:
    case X86::vpmulld:
    case X86::vandps:
    case X86::vorps:
    case X86::vxorps:
    case X86::vfmadd231ps:
    case X86::vfmadd231pd:
    case X86::vfnmadd231ps:
    case X86::vfnmadd231pd:
    case X86::vfmsub231ps:
    case X86::vfmsub231pd:
    case X86::vpxord:
    case X86::vpmaddwd:
    case X86::vpdpwssd:
      return true;
    default:
      return false;
  }
}

class Folder {
 public:
  Folder(Lir& lir, bool broadcasts) : lir_(lir), broadcasts_(broadcasts), uses_(lir.regs.size()) {}

  void run() {
    count();
    std::vector<bool> dropped(lir_.code.size(), false);
    for (int i = 0; i < static_cast<int>(lir_.code.size()); ++i) {
      Inst& inst = lir_.code[i];
      if (is_pseudo(inst.op) || is_store(inst)) {
        // A store may change what an earlier load would now read later.
        lines_ = i;
        continue;
      }
      // What was to be computed from it was known already.
      if (loads_constant(inst) && uses_[inst.operands[0].reg.id].reads == 0) {
        dropped[i] = true;
        continue;
      }
      const int folded = fold(inst);
      if (folded >= 0) dropped[folded] = true;
      if (load_kind(inst) >= 0) uses_[inst.operands[0].reg.id].load = i;
    }
    size_t out = 0;
    for (size_t i = 0; i < lir_.code.size(); ++i) {
      if (!dropped[i]) lir_.code[out++] = lir_.code[i];
    }
    lir_.code.resize(out);
  }

 private:
  void count() {
    for (const Inst& inst : lir_.code) {
      const Form* form = form_of(inst);
      for (int i = 0; i < 4; ++i) {
        const Operand& o = inst.operands[i];
        // Addresses are read: the indices of a gather are vectors.
        if (o.kind == Operand::kMem) {
          for (Reg r : {o.mem.base, o.mem.index}) {
            if (r.valid()) ++uses_[r.id].reads;
          }
        }
        if (o.kind != Operand::kReg) continue;
        Uses& u = uses_[o.reg.id];
        if (i == 0 && form != nullptr && form->access != Access::kR) {
          ++u.writes;
          u.reads += reads(inst, *form, 0);
        } else {
          ++u.reads;
        }
      }
    }
  }

  /// The load that can become operand `i`, or -1.
  int candidate(const Inst& inst, int i) const {
    const Operand& o = inst.operands[i];
    if (o.kind != Operand::kReg || o.width < 16) return -1;
    const Uses& u = uses_[o.reg.id];
    if (u.reads != 1 || u.writes != 1 || u.load < lines_) return -1;
    const Inst& load = lir_.code[u.load];
    if (load.operands[0].width != o.width) return -1;
    const int kind = load_kind(load);
    if (kind > 0 && (!broadcasts_ || element_of(inst.op) != kind)) return -1;
    // The address registers are what they were: loops advance theirs at their end only, where a
    // straight line ends as well.
    return u.load;
  }

  /// Not into what has a mask: cores do not foresee where masked loads go on, and wait for memory.
  int fold(Inst& inst) {
    if (inst.mask.valid()) return -1;
    int last = 0;
    for (int i = 1; i < 4; ++i) {
      if (inst.operands[i].kind == Operand::kReg) last = i;
    }
    if (last == 0) return -1;
    int load = candidate(inst, last);
    if (load < 0 && last == 2 && commutes(inst.op) && candidate(inst, 1) >= 0 &&
        inst.operands[1].width == inst.operands[2].width) {
      std::swap(inst.operands[1], inst.operands[2]);
      load = candidate(inst, last);
      if (load < 0) std::swap(inst.operands[1], inst.operands[2]);
    }
    if (load < 0) return -1;
    Inst made = inst;
    if (made.op == X86::vmovaps) made.op = X86::vmovups;
    made.operands[last] = lir_.code[load].operands[1];
    made.operands[last].mem.broadcast = load_kind(lir_.code[load]) > 0;
    // Conversions cannot tell from their other operand how much they read.
    if (!made.operands[last].mem.broadcast) made.operands[last].width = inst.operands[last].width;
    if (form_of(made) == nullptr) return -1;
    inst = made;
    return load;
  }

  Lir& lir_;
  bool broadcasts_;
  int lines_ = 0;  ///< where the straight line begins
  std::vector<Uses> uses_;
};

}  // namespace

void fold_loads(Lir& lir, bool broadcasts) { Folder(lir, broadcasts).run(); }

}  // namespace hone::jit
