// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <stdexcept>

#include "jit/x86/forms.h"
#include "jit/x86/lir.h"
#include "jit/x86/liveness.h"
#include "jit/x86/scan.h"

namespace hone::jit {
namespace {

/// Most vector registers live at one position.
int vector_peak(const Lir& lir, const Liveness& live) {
  std::vector<int32_t> change(2 * lir.code.size() + 3, 0);
  for (size_t r = 0; r < lir.regs.size(); ++r) {
    if (lir.regs[r].cls != RegClass::kVec) continue;
    for (int i = live.head[r]; i >= 0; i = live.ranges[i].next) {
      ++change[std::max(0, live.ranges[i].from)];
      --change[live.ranges[i].to];
    }
  }
  int now = 0;
  int peak = 0;
  for (int32_t c : change) peak = std::max(peak, now += c);
  return peak;
}

/// A whole-register copy, which is nothing when both sides got one register.
bool is_copy(const Inst& inst, int vector_bytes) {
  const auto& o = inst.operands;
  if (o[0].kind != Operand::kReg || o[1].kind != Operand::kReg || inst.mask.valid()) return false;
  switch (inst.op) {
    case X86::mov:
      return o[0].width == 8;
    case X86::vmovups: case X86::vmovupd: case X86::vmovaps: case X86::vmovapd: case X86::vmovdqu:
    case X86::vmovdqa: case X86::vmovdqu32: case X86::vmovdqu64:
      return o[0].width == vector_bytes;
    case X86::kmovq:
      return class_of(o[0]) == RegClass::kMask && class_of(o[1]) == RegClass::kMask;
    default:
      return false;
  }
}

void assign(Reg& r, const std::vector<int8_t>& physical) {
  if (r.valid()) r.id = physical[r.id];
}

/// Virtual registers out, physical ones in.
Lir assigned(const Lir& lir, const std::vector<int8_t>& physical, int vector_bytes) {
  Lir out;
  out.pool = lir.pool;
  out.labels = lir.labels;
  out.physical = true;
  out.code.reserve(lir.code.size());
  for (const Inst& inst : lir.code) {
    out.code.push_back(inst);
    Inst& made = out.code.back();
    for (Operand& o : made.operands) {
      if (o.kind == Operand::kReg) assign(o.reg, physical);
      if (o.kind == Operand::kMem) {
        assign(o.mem.base, physical);
        assign(o.mem.index, physical);
      }
    }
    assign(made.mask, physical);
    const bool same = made.operands[0].reg == made.operands[1].reg;
    if (same && is_copy(made, vector_bytes)) out.code.pop_back();
  }
  for (int i = 0; i < 4; ++i) {
    out.entry[i] = lir.entry[i];
    assign(out.entry[i], physical);
  }
  return out;
}

int inner_slot_accesses(const Lir& lir, const Liveness& live) {
  int count = 0;
  for (const LoopSpan& loop : live.loops) {
    if (!loop.innermost) continue;
    for (int i = loop.head; i < loop.end; ++i) {
      for (const Operand& o : lir.code[i].operands) {
        count += o.kind == Operand::kMem && o.mem.slot >= 0;
      }
    }
  }
  return count;
}

}  // namespace

RegisterFile registers_of(const ir::Target& target) {
  RegisterFile file;
  file.vecs = target.vector_registers();
  file.vector_bytes = std::max(target.vector_bytes(), 16);
  file.vex_dot = !target.has(ir::Isa::kVnni);
  if (!target.has(ir::Isa::kAvx512)) file.masks = 0;
  return file;
}

Allocation allocate(const Lir& lir, const RegisterFile& file) {
  constexpr int kRounds = 64;
  // Gaps give the best code, but each may call for another; what is left over spills for good.
  constexpr int kGapRounds = 6;
  Allocation result;
  std::vector<int32_t> slots(lir.regs.size(), -1);
  std::vector<bool> pinned(lir.regs.size(), false);
  Lir rewritten;
  const Lir* current = &lir;
  for (int round = 0; round < kRounds; ++round) {
    const Liveness live = liveness_of(*current, file.vex_dot);
    if (round == 0) result.vec_peak = vector_peak(*current, live);
    const Scan done = scan(*current, live, file, pinned, round < kGapRounds);
    if (done.plan.empty()) {
      result.inner_spills = inner_slot_accesses(*current, live);
      result.code = assigned(*current, done.physical, file.vector_bytes);
      result.frame_bytes = (result.frame_bytes + 7) / 8 * 8;
      result.spills = static_cast<int>(
          std::count_if(slots.begin(), slots.end(), [](int32_t s) { return s >= 0; }));
      return result;
    }
    rewritten = rewrite_spills(*current, live, done.plan, file, slots, result.frame_bytes, pinned);
    current = &rewritten;
  }
  throw std::logic_error("register allocation does not come to an end");
}

}  // namespace hone::jit
