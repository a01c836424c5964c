// SPDX-License-Identifier: Apache-2.0
#include "jit/native/reload.h"

#include <algorithm>

namespace hone::jit {
namespace {

/// A stretch between two mentions of a loaded register in which it need not be held.
struct Rest {
  int32_t reg = -1;
  int from = 0;  ///< the mention before it
  int to = 0;    ///< the mention after it, before which it is loaded again
};

class Reloader {
 public:
  Reloader(const Lir& lir, const Liveness& live, const RegisterFile& file)
      : lir_(lir), live_(live), file_(file) {}

  Lir run() {
    count_live();
    for (const LoopSpan& loop : live_.loops) leave_out_passing(loop);
    for (size_t b = 0; b + 1 < live_.blocks.size(); ++b) {
      const int from = live_.blocks[b], to = live_.blocks[b + 1];
      const auto peak = std::max_element(held_.begin() + from, held_.begin() + to);
      if (peak != held_.begin() + to && *peak > file_.vecs) relieve(from, to);
    }
    return rewritten();
  }

 private:
  /// Vectors held at each instruction, where it reads or where it writes.
  void count_live() {
    std::vector<int> change(2 * lir_.code.size() + 3, 0);
    for (size_t r = 0; r < lir_.regs.size(); ++r) {
      if (lir_.regs[r].cls != RegClass::kVec) continue;
      for (int i = live_.head[r]; i >= 0; i = live_.ranges[i].next) {
        ++change[static_cast<size_t>(std::max(0, live_.ranges[i].from))];
        --change[static_cast<size_t>(live_.ranges[i].to)];
      }
    }
    held_.resize(lir_.code.size());
    int now = 0;
    for (size_t i = 0; i < held_.size(); ++i) {
      const int reading = now += change[2 * i];
      held_[i] = std::max(reading, now += change[2 * i + 1]);
    }
  }

  /// Vectors that an innermost loop does not mention are spilled around it: that is once, where a
  /// reload is one an iteration.
  void leave_out_passing(const LoopSpan& loop) {
    const auto begin = held_.begin() + loop.head, end = held_.begin() + loop.end;
    if (!loop.innermost || begin == end || *std::max_element(begin, end) <= file_.vecs) return;
    std::vector<bool> mentioned(lir_.regs.size(), false);
    for (int i = loop.head; i < loop.end; ++i) {
      for (const Touch& t : live_.of(i)) mentioned[static_cast<size_t>(t.reg)] = true;
    }
    int passing = 0;
    for (size_t r = 0; r < lir_.regs.size(); ++r) {
      if (lir_.regs[r].cls != RegClass::kVec || mentioned[r]) continue;
      for (int i = live_.head[r]; i >= 0; i = live_.ranges[i].next) {
        const Range& x = live_.ranges[i];
        passing += x.from < 2 * loop.head && x.to > 2 * loop.end;
      }
    }
    for (auto held = begin; held != end; ++held) *held -= passing;
  }

  /// A load of a whole vector, or of one element repeated, that no mask decides.
  bool loads(const Inst& inst) const {
    const auto& o = inst.operands;
    if (is_pseudo(inst.op) || inst.mask.valid() || o[0].kind != Operand::kReg ||
        o[1].kind != Operand::kMem || o[2].kind != Operand::kNone) {
      return false;
    }
    const OpcodeFacts facts = file_.machine->facts_of(inst.op);
    const bool plain = facts.move == OpcodeFacts::kWhole || facts.repeats != 0;
    return plain && class_of(o[0]) == RegClass::kVec && o[1].mem.pool < 0 && o[1].mem.slot < 0;
  }

  static bool writes_memory(const Inst& inst) {
    return inst.operands[0].kind == Operand::kMem || inst.op == Pseudo::spill;
  }

  bool writes(int i, Reg r) const {
    if (!r.valid()) return false;
    const auto touches = live_.of(i);
    return std::any_of(touches.begin(), touches.end(),
                       [&](const Touch& t) { return t.reg == r.id && t.def; });
  }

  /// The instruction in [from, to) that alone writes `reg` and is a load; -1 if there is none.
  int load_of(int reg, int from, int to) const {
    const int head = live_.head[reg];
    if (head < 0 || live_.ranges[head].next >= 0) return -1;  // several lives
    const int at = live_.ranges[head].from / 2;
    if (live_.ranges[head].from < 2 * from || live_.end[reg] > 2 * to) return -1;
    return loads(lir_.code[at]) && lir_.code[at].operands[0].reg.id == reg ? at : -1;
  }

  /// The rests of the registers that [from, to) loads.
  std::vector<Rest> rests(int from, int to) const {
    std::vector<Rest> out;
    for (int at = from; at < to; ++at) {
      if (!loads(lir_.code[at])) continue;
      const int reg = lir_.code[at].operands[0].reg.id;
      if (load_of(reg, from, to) == at) rests_of(reg, at, out);
    }
    return out;
  }

  void rests_of(int reg, int at, std::vector<Rest>& out) const {
    const Mem& m = lir_.code[at].operands[1].mem;
    int last = at;
    for (int i = at + 1; 2 * i < live_.end[reg]; ++i) {
      const auto touches = live_.of(i);
      const auto touch = std::find_if(touches.begin(), touches.end(),
                                      [&](const Touch& t) { return t.reg == reg; });
      if (touch != touches.end()) {
        if (touch->def) return;
        if (i > last + 1) out.push_back({reg, last, i});
        last = i;
      }
      if (writes_memory(lir_.code[i]) || writes(i, m.base) || writes(i, m.index)) return;
    }
  }

  /// Takes rests until no more vectors are held in [from, to) than there are registers. At each
  /// place it is the one that lasts longest, as Belady's rule for caches has it.
  void relieve(int from, int to) {
    std::vector<Rest> all = rests(from, to);
    for (int i = from; i < to; ++i) {
      while (held_[i] > file_.vecs) {
        const auto covers = [&](const Rest& r) { return r.from < i && i < r.to; };
        auto best = all.end();
        for (auto r = all.begin(); r != all.end(); ++r) {
          if (covers(*r) && (best == all.end() || r->to > best->to)) best = r;
        }
        if (best == all.end()) break;
        for (int j = best->from + 1; j < best->to; ++j) --held_[j];
        taken_.push_back(*best);
        all.erase(best);
      }
    }
  }

  int defined_at(int reg) const { return live_.ranges[live_.head[reg]].from / 2; }

  /// The code with a load before each mention that ends a rest that was taken. Where it began at
  /// the first load, that one is left out.
  Lir rewritten() {
    Lir out = lir_;
    if (taken_.empty()) return out;
    std::sort(taken_.begin(), taken_.end(),
              [](const Rest& a, const Rest& b) { return a.to < b.to; });
    std::vector<Reg> now(lir_.regs.size());
    std::vector<bool> sinks(lir_.code.size(), false);
    for (const Rest& r : taken_) {
      if (r.from == defined_at(r.reg)) sinks[static_cast<size_t>(r.from)] = true;
    }
    out.code.clear();
    auto next = taken_.begin();
    for (int i = 0; i < static_cast<int>(lir_.code.size()); ++i) {
      for (; next != taken_.end() && next->to == i; ++next) {
        Inst load = lir_.code[defined_at(next->reg)];
        now[next->reg] = load.operands[0].reg = out.make(RegClass::kVec);
        out.code.push_back(load);
      }
      if (sinks[static_cast<size_t>(i)]) continue;
      Inst inst = lir_.code[i];
      for (Operand& o : inst.operands) {
        if (o.kind == Operand::kReg && o.reg.valid() && now[o.reg.id].valid())
          o.reg = now[o.reg.id];
        if (o.kind == Operand::kMem && o.mem.index.valid() && now[o.mem.index.id].valid()) {
          o.mem.index = now[o.mem.index.id];
        }
      }
      out.code.push_back(inst);
    }
    return out;
  }

  const Lir& lir_;
  const Liveness& live_;
  const RegisterFile& file_;
  std::vector<int> held_;  ///< per instruction
  std::vector<Rest> taken_;
};

}  // namespace

Lir reload_late(const Lir& lir, const Liveness& live, const RegisterFile& file) {
  return Reloader(lir, live, file).run();
}

}  // namespace hone::jit
