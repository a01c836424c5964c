// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "jit/native/scan.h"
#include "jit/native/spill_costs.h"

namespace hone::jit {
namespace {

class Rewriter {
 public:
  Rewriter(const Lir& lir, const Liveness& live, const RegisterFile& file, SpillFrame& frame,
           std::vector<bool>& pinned, Lir& out)
      : lir_(lir), live_(live), file_(file), frame_(frame), pinned_(pinned), out_(out) {}

  void run(const SpillPlan& plan) {
    out_.code.clear();
    out_.code.reserve(lir_.code.size() + lir_.code.size() / 4 + 64);
    out_.regs = lir_.regs;
    out_.pool = lir_.pool;
    out_.labels = lir_.labels;
    out_.entry = lir_.entry;
    everywhere_.assign(lir_.regs.size(), false);
    for (int r : plan.everywhere) everywhere_[r] = true;
    definition_.assign(lir_.regs.size(), -1);
    for (int i = 0; i < static_cast<int>(lir_.code.size()); ++i) {
      for (const Touch& t : live_.of(i)) {
        if (t.def && lir_.regs[t.reg].remat >= 0) definition_[t.reg] = i;
      }
    }
    entries();
    renamed_.assign(lir_.regs.size(), {});
    for (int i = 0; i < static_cast<int>(lir_.code.size()); ++i) {
      before_loop(plan, i);
      gaps(plan, i);
      instruction(i);
      after_loop(plan, i);
    }
  }

 private:
  bool repeatable(int r) const { return definition_[r] >= 0; }

  int slot(int r) {
    if (frame_.slots[r] >= 0) return frame_.slots[r];
    const int size = lir_.regs[r].cls == RegClass::kVec ? file_.vector_bytes : 8;
    frame_.slots[r] = (frame_.bytes + size - 1) / size * size;
    frame_.bytes = frame_.slots[r] + size;
    return frame_.slots[r];
  }

  Operand whole(int r, Reg as) const {
    switch (lir_.regs[r].cls) {
      case RegClass::kGpr:
        return greg(as);
      case RegClass::kVec:
        return vreg(as, file_.vector_bytes);
      case RegClass::kMask:
        return kreg(as);
    }
    return {};
  }

  Operand place(int r) {
    Mem m;
    m.slot = slot(r);
    return mem(m);
  }

  Reg fresh(int r) {
    const Reg t = out_.make(lir_.regs[r].cls);
    pinned_.push_back(true);
    frame_.slots.push_back(-1);
    return t;
  }

  /// The value of `r` into `as`: its constant again, or its slot.
  void load(int r, Reg as) {
    if (repeatable(r)) {
      Inst again = lir_.code[definition_[r]];
      again.operands[0].reg = as;
      out_.code.push_back(again);
    } else {
      out_.code.push_back({Pseudo::reload, false, {}, {whole(r, as), place(r)}});
    }
  }

  void store(int r, Reg from) {
    if (!repeatable(r)) out_.code.push_back({Pseudo::spill, false, {}, {place(r), whole(r, from)}});
  }

  /// Entry registers that live in memory are stored first of all.
  void entries() {
    for (Reg& e : out_.entry) {
      if (!e.valid() || !everywhere_[e.id]) continue;
      const int r = e.id;
      e = fresh(r);
      store(r, e);
    }
  }

  /// Stores where gaps begin and loads where they end. The load goes into a new register if the old
  /// value is not wanted after the block, so that another physical register can hold it.
  void gaps(const SpillPlan& plan, int i) {
    for (const auto& gap : plan.gaps) {
      if (gap.to != i) continue;
      const auto end = std::upper_bound(live_.blocks.begin(), live_.blocks.end(), gap.from);
      if (ends_by(gap.reg, 2 * *end - 1)) {
        const Reg as = out_.make(lir_.regs[gap.reg].cls);
        pinned_.push_back(false);
        frame_.slots.push_back(slot(gap.reg));
        renamed_[gap.reg] = as;
        load(gap.reg, as);
      } else {
        load(gap.reg, {gap.reg});
      }
    }
    for (const auto& gap : plan.gaps) {
      if (gap.from == i) store(gap.reg, {gap.reg});
    }
  }

  /// Nothing of `r` is live from `position` on.
  bool ends_by(int r, int position) const { return live_.end[r] <= position; }

  void before_loop(const SpillPlan& plan, int i) {
    for (const auto& a : plan.around) {
      if (live_.loops[a.loop].head == i) store(a.reg, {a.reg});
    }
  }

  /// Reloads values kept in memory through the loop that ends at `i`. That happens on falling out
  /// of it. It also happens under a new label for the jumps out of it, before the labels that
  /// others may jump to.
  void after_loop(const SpillPlan& plan, int i) {
    bool first = true;
    for (const auto& a : plan.around) {
      if (live_.loops[a.loop].end != i) continue;
      if (first) exit_label(live_.loops[a.loop]);
      first = false;
      load(a.reg, {a.reg});
    }
  }

  void exit_label(const LoopSpan& loop) {
    const auto [from, to] = labels_after(lir_, loop.end);
    const int label = out_.labels++;
    bool used = false;
    for (size_t i = head_of(loop); i < out_.code.size(); ++i) {
      const int target = jump_target(out_.code[i]);
      if (target < 0 || target >= lir_.labels) continue;
      const int at = live_.label_at[target];
      if (at < from || at >= to) continue;
      out_.code[i].operands[0].imm = label;
      used = true;
    }
    if (used) out_.code.push_back({Pseudo::label, false, {}, {imm(label)}});
  }

  /// Where the loop's head is in the new code.
  size_t head_of(const LoopSpan& loop) const {
    const int64_t label = lir_.code[loop.head].operands[0].imm;
    for (size_t i = out_.code.size(); i-- > 0;) {
      if (out_.code[i].op == Pseudo::loop_begin && out_.code[i].operands[0].imm == label) {
        return i;
      }
    }
    return 0;
  }

  void instruction(int i) {
    Inst inst = lir_.code[i];
    const auto touches = live_.of(i);
    for (const Touch& t : touches) {
      if (renamed_[t.reg].valid()) replace(inst, t.reg, renamed_[t.reg]);
    }
    const bool spilled = std::any_of(touches.begin(), touches.end(),
                                     [&](const Touch& t) { return everywhere_[t.reg]; });
    if (!spilled) {
      out_.code.push_back(inst);
      return;
    }
    if (drop(i)) return;
    std::array<int32_t, 8> stores{};
    std::array<Reg, 8> sources{};
    int count = 0;
    for (size_t t = 0; t < touches.size(); ++t) {
      const int r = touches[t].reg;
      if (!everywhere_[r]) continue;
      bool use = false, def = false, done = false;
      int times = 0;
      for (size_t u = 0; u < touches.size(); ++u) {
        if (touches[u].reg != r) continue;
        done |= u < t;
        use |= touches[u].use;
        def |= touches[u].def;
        ++times;
      }
      if (done || (times == 1 && !def && fold(inst, r))) continue;
      const Reg as = fresh(r);
      if (use) load(r, as);
      replace(inst, r, as);
      if (def) {
        stores[count] = r;
        sources[count++] = as;
      }
    }
    out_.code.push_back(inst);
    for (int s = 0; s < count; ++s) store(stores[s], sources[s]);
  }

  /// True when the instruction only defines a constant that is repeated where it is used.
  bool drop(int i) const {
    for (const Touch& t : live_.of(i)) {
      if (t.def && everywhere_[t.reg] && repeatable(t.reg)) return true;
    }
    return false;
  }

  static void replace(Inst& inst, int r, Reg as) {
    auto swap = [&](Reg& reg) {
      if (reg.id == r) reg = as;
    };
    for (Operand& o : inst.operands) {
      if (o.kind == Operand::kReg) swap(o.reg);
      if (o.kind == Operand::kMem) {
        swap(o.mem.base);
        swap(o.mem.index);
      }
    }
    swap(inst.mask);
  }

  /// Reads `r` straight from memory where the form allows it and no other operand is memory.
  bool fold(Inst& inst, int r) {
    if (is_pseudo(inst.op)) return false;
    int at = -1;
    for (int i = 0; i < 4; ++i) {
      if (inst.operands[i].kind == Operand::kMem) return false;
      if (inst.operands[i].kind == Operand::kReg && inst.operands[i].reg.id == r) at = i;
    }
    const Machine& machine = *file_.machine;
    if (at < 1 || !machine.takes_memory(inst, at)) return false;
    if (!repeatable(r)) return machine.fold(inst, at, place(r));
    Operand memory = inst.operands[at];
    return constant(inst, at, lir_.code[definition_[r]], memory) && machine.fold(inst, at, memory);
  }

  /// The memory operand that gives what `definition` loads: the same bytes, or one element
  /// repeated where the instruction can.
  bool constant(const Inst& inst, int at, const Inst& definition, Operand& operand) const {
    if (definition.operands[1].kind != Operand::kMem || definition.mask.valid()) return false;
    const Machine& machine = *file_.machine;
    if (machine.facts_of(definition.op).move == OpcodeFacts::kWhole) {
      if (operand.width > definition.operands[0].width) return false;
      operand = definition.operands[1];
      return true;
    }
    if (!machine.repeats(definition, inst, at)) return false;
    operand = definition.operands[1];
    operand.mem.broadcast = true;
    return true;
  }

  const Lir& lir_;
  const Liveness& live_;
  const RegisterFile& file_;
  SpillFrame& frame_;
  std::vector<bool>& pinned_;
  Lir& out_;
  std::vector<bool> everywhere_;
  std::vector<int32_t> definition_;
  std::vector<Reg> renamed_;  ///< what a register is called after its gap
};

}  // namespace

void rewrite_spills(const Lir& lir, const Liveness& liveness, const SpillPlan& plan,
                    const RegisterFile& file, SpillFrame& frame, std::vector<bool>& pinned,
                    Lir& out) {
  Rewriter(lir, liveness, file, frame, pinned, out).run(plan);
}

}  // namespace hone::jit
