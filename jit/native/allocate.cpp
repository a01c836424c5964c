// SPDX-License-Identifier: Apache-2.0
#include "jit/native/allocate.h"

#include <algorithm>

#include "jit/ir/reject.h"
#include "jit/native/liveness.h"
#include "jit/native/reload.h"
#include "jit/native/scan.h"

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
bool is_copy(const Inst& inst, const RegisterFile& file) {
  const auto& o = inst.operands;
  if (o[0].kind != Operand::kReg || o[1].kind != Operand::kReg || inst.mask.valid()) return false;
  const RegClass cls = class_of(o[0]);
  if (class_of(o[1]) != cls) return false;
  const int whole = cls == RegClass::kGpr ? 8 : cls == RegClass::kVec ? file.vector_bytes : 0;
  return o[0].width == whole && file.machine->facts_of(inst.op).move == OpcodeFacts::kWhole;
}

void assign(Reg& r, const std::vector<int8_t>& physical) {
  if (r.valid()) r.id = physical[r.id];
}

/// Virtual registers out, physical ones in; copies within one register go.
void assign_all(Lir& lir, const std::vector<int8_t>& physical, const RegisterFile& file) {
  size_t kept = 0;
  for (Inst& inst : lir.code) {
    for (Operand& o : inst.operands) {
      if (o.kind == Operand::kReg) assign(o.reg, physical);
      if (o.kind == Operand::kMem) {
        assign(o.mem.base, physical);
        assign(o.mem.index, physical);
      }
    }
    assign(inst.mask, physical);
    const bool same = inst.operands[0].reg == inst.operands[1].reg;
    if (!(same && is_copy(inst, file))) lir.code[kept++] = inst;
  }
  lir.code.resize(kept);
  for (Reg& r : lir.entry) assign(r, physical);
  lir.regs.clear();
  lir.physical = true;
}

/// How many places of the frame registers have; one may have several names in turn.
int slots_used(std::vector<int32_t> slots) {
  std::sort(slots.begin(), slots.end());
  const auto first = std::lower_bound(slots.begin(), slots.end(), 0);
  return static_cast<int>(std::unique(first, slots.end()) - first);
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

Allocation allocate(const Lir& lir, const RegisterFile& file) {
  // Chosen: rounds far beyond those that code needs (not measured).
  constexpr int kRounds = 64;
  // Gaps give the best code, but each may call for another; what is left over spills for good.
  // Chosen: time that a compile may take (not measured).
  constexpr int kGapRounds = 6;
  Allocation result;
  Lir rewritten, spare;
  const Lir* current = &lir;
  Liveness live = liveness_of(lir, *file.machine);
  result.vec_peak = vector_peak(lir, live);
  if (result.vec_peak > file.vecs) {
    rewritten = reload_late(lir, live, file);
    current = &rewritten;
    live = liveness_of(*current, *file.machine);
  }
  SpillFrame frame;
  frame.slots.assign(current->regs.size(), -1);
  std::vector<bool> pinned(current->regs.size(), false);
  for (int round = 0; round < kRounds; ++round) {
    const Scan done = scan(*current, live, file, pinned, round < kGapRounds);
    if (done.plan.empty()) {
      result.inner_spills = inner_slot_accesses(*current, live);
      if (current == &lir) {
        result.code = lir;
      } else {
        result.code = std::move(rewritten);
      }
      assign_all(result.code, done.physical, file);
      result.frame_bytes = (frame.bytes + 7) / 8 * 8;
      result.spills = slots_used(std::move(frame.slots));
      return result;
    }
    rewrite_spills(*current, live, done.plan, file, frame, pinned, spare);
    std::swap(rewritten, spare);
    current = &rewritten;
    live = liveness_of(*current, *file.machine);
  }
  throw ir::Reject(
      "more values are live at once than registers can be found for; use smaller tiles, or "
      "unroll less",
      ir::Reject::kRefused);
}

}  // namespace hone::jit
