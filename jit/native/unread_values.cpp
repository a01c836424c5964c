// SPDX-License-Identifier: Apache-2.0
#include "jit/native/unread_values.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace hone::jit {
namespace {

/// The vector or mask register that is all an instruction writes, or -1.
int only_result(const Lir& lir, const Inst& inst, const Machine& machine) {
  const Operand& to = inst.operands[0];
  if (is_pseudo(inst.op) || to.kind != Operand::kReg || lir.regs[to.reg.id].cls == RegClass::kGpr) {
    return -1;
  }
  Effects effects;
  if (!machine.effects_of(inst, effects) || effects.mask_written) return -1;
  for (size_t i = 0; i < effects.operands.size(); ++i) {
    if (effects.operands[i].written != (i == 0)) return -1;
  }
  return to.reg.id;
}

}  // namespace

void drop_unread(Lir& lir, const Machine& machine) {
  const int n = static_cast<int>(lir.code.size());
  std::vector<int32_t> result(lir.code.size()), before(lir.code.size());
  std::vector<int32_t> last(lir.regs.size(), -1);  // that writes a register; `before` goes on
  std::vector<int32_t> open;                       // kept, their operands not looked at yet
  for (int i = 0; i < n; ++i) {
    result[i] = only_result(lir, lir.code[i], machine);
    if (result[i] < 0) {
      open.push_back(i);
    } else {
      before[i] = std::exchange(last[result[i]], i);
    }
  }
  std::vector<bool> kept(lir.code.size());
  const auto want = [&](Reg r) {
    if (!r.valid()) return;
    for (int32_t i = std::exchange(last[r.id], -1); i >= 0; i = before[i]) open.push_back(i);
  };
  while (!open.empty()) {
    const int32_t i = open.back();
    open.pop_back();
    kept[i] = true;
    const Inst& inst = lir.code[i];
    for (size_t k = result[i] < 0 ? 0 : 1; k < inst.operands.size(); ++k) {
      const Operand& o = inst.operands[k];
      if (o.kind == Operand::kReg) want(o.reg);
      if (o.kind == Operand::kMem) want(o.mem.base), want(o.mem.index);
    }
    want(inst.mask);
  }
  size_t to = 0;
  for (int i = 0; i < n; ++i) {
    if (kept[i]) lir.code[to++] = lir.code[i];
  }
  lir.code.resize(to);
}

}  // namespace hone::jit
