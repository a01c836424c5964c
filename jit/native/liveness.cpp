// SPDX-License-Identifier: Apache-2.0
#include "jit/native/liveness.h"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>

namespace hone::jit {
namespace {

class Builder {
 public:
  Builder(const Lir& lir, const Machine& machine) : lir_(lir), machine_(machine) {
    const size_t n = lir.regs.size();
    out_.head.assign(n, -1);
    out_.end.assign(n, 0);
    out_.weight.assign(n, 0);
    out_.low.assign(n, 0);
    out_.label_at.assign(lir.labels, -1);
    seen_.resize(n);
    out_.touches.reserve(lir.code.size() * 4);
    out_.first_touch.reserve(lir.code.size() + 1);
    out_.first_touch.push_back(0);
    out_.ranges.reserve(n + 64);
  }

  Liveness run() {
    forward();
    for (size_t r = 0; r < seen_.size(); ++r) {
      const Seen& s = seen_[r];
      if (s.block != kNever && s.global < 0) add(static_cast<int>(r), s.first, s.last);
    }
    if (!globals_.empty()) backward();
    for (size_t r = 0; r < out_.head.size(); ++r) {
      for (int i = out_.head[r]; i >= 0; i = out_.ranges[i].next) out_.end[r] = out_.ranges[i].to;
    }
    for (const Block& b : blocks_) out_.blocks.push_back(b.from);
    out_.blocks.push_back(static_cast<int32_t>(lir_.code.size()));
    return std::move(out_);
  }

 private:
  /// Fixed by: no position being negative.
  static constexpr int32_t kNever = -2;

  /// What the forward walk learns of a register.
  struct Seen {
    int32_t block = kNever;
    int32_t global = -1;  ///< number among the registers of several blocks, or -1
    int32_t first = 0;
    int32_t last = 0;
  };

  /// A straight stretch of instructions [from, to).
  struct Block {
    int from = 0;
    int to = 0;
  };

  /// Splits into blocks, lists touches, weighs, and tells registers of one block from the rest.
  void forward() {
    for (Reg r : lir_.entry) {
      if (r.valid()) see(r.id, -1, 0);
    }
    float weight = 1;
    int begin = 0;
    const int n = static_cast<int>(lir_.code.size());
    for (int i = 0; i < n; ++i) {
      const Inst& inst = lir_.code[i];
      const bool target = inst.op == Pseudo::label || inst.op == Pseudo::loop_begin;
      if (target && i > begin) {
        blocks_.push_back({begin, i});
        begin = i;
      }
      if (target) out_.label_at[inst.operands[0].imm] = i;
      if (inst.op == Pseudo::loop_begin) weight *= 10;
      if (inst.op == Pseudo::loop_end) weight /= 10;
      loops(inst, i);
      touch(inst);
      out_.first_touch.push_back(static_cast<int32_t>(out_.touches.size()));
      for (const Touch& t : out_.of(i)) {
        see(t.reg, t.use ? 2 * i : 2 * i + 1, t.def ? 2 * i + 2 : 2 * i + 1);
        out_.weight[t.reg] += weight;
        out_.low[t.reg] |= t.low;
      }
      if (jump_target(inst) >= 0 || inst.op == Pseudo::ret) {
        blocks_.push_back({begin, i + 1});
        begin = i + 1;
      }
    }
    if (begin < n) blocks_.push_back({begin, n});
  }

  void loops(const Inst& inst, int i) {
    if (inst.op == Pseudo::loop_begin) {
      for (int open : open_) out_.loops[open].innermost = false;
      open_.push_back(static_cast<int>(out_.loops.size()));
      out_.loops.push_back({i, i, static_cast<int>(open_.size()), true});
    } else if (inst.op == Pseudo::loop_end) {
      if (open_.empty()) throw std::logic_error("loop_end without loop_begin");
      out_.loops[open_.back()].end = i;
      open_.pop_back();
    }
  }

  void see(int reg, int from, int to) {
    Seen& s = seen_[reg];
    const int block = from < 0 ? -1 : static_cast<int>(blocks_.size());
    if (s.block == kNever) {
      s.block = block;
      s.first = from;
    } else if (s.block != block && s.global < 0) {
      s.global = static_cast<int32_t>(globals_.size());
      globals_.push_back(reg);
    }
    s.last = std::max(s.last, to);
  }

  void note(Reg r, bool use, bool def, bool low) {
    if (r.valid()) out_.touches.push_back({r.id, use, def, low});
  }

  void touch(const Inst& inst) {
    const auto& o = inst.operands;
    if (is_pseudo(inst.op)) {
      const bool writes =
          inst.op == Pseudo::floor_div || inst.op == Pseudo::floor_mod || inst.op == Pseudo::reload;
      for (int i = 0; i < 4; ++i) {
        if (o[i].kind == Operand::kReg)
          note(o[i].reg, !(writes && i == 0), writes && i == 0, false);
      }
      return;
    }
    Effects effects;
    if (!machine_.effects_of(inst, effects)) {
      throw std::logic_error("no form of " + std::string(machine_.name_of(inst.op)) +
                             " has these operands");
    }
    for (int i = 0; i < 4; ++i) {
      if (o[i].kind == Operand::kReg) {
        const OperandUse& use = effects.operands[i];
        note(o[i].reg, use.read, use.written, use.low);
      } else if (o[i].kind == Operand::kMem) {
        note(o[i].mem.base, true, false, false);
        note(o[i].mem.index, true, false, effects.low_index);
      }
    }
    note(inst.mask, true, effects.mask_written, false);
  }

  /// Prepends [from, to) to the ranges of `reg`, merging those that it touches into the first.
  void add(int reg, int from, int to) {
    int32_t& head = out_.head[reg];
    if (head < 0 || out_.ranges[head].from > to) {
      out_.ranges.push_back({from, to, head});
      head = static_cast<int32_t>(out_.ranges.size()) - 1;
      return;
    }
    Range& first = out_.ranges[head];
    first.from = std::min(first.from, from);
    first.to = std::max(first.to, to);
    while (first.next >= 0 && out_.ranges[first.next].from <= first.to) {
      first.to = std::max(first.to, out_.ranges[first.next].to);
      first.next = out_.ranges[first.next].next;
    }
  }

  static bool has(const uint64_t* set, int g) { return set[g / 64] >> (g % 64) & 1; }
  static void put(uint64_t* set, int g) { set[g / 64] |= uint64_t{1} << (g % 64); }
  static void drop(uint64_t* set, int g) { set[g / 64] &= ~(uint64_t{1} << (g % 64)); }

  /// Ranges of registers of several blocks: what is live where blocks begin, to a fixed point, then
  /// one walk from the end.
  void backward() {
    words_ = (globals_.size() + 63) / 64;
    // One row more, of nothing, for where no block follows.
    live_in_.assign((blocks_.size() + 1) * words_, 0);
    successors();
    fixed_point();
    std::vector<uint64_t> live(words_);
    until_.assign(globals_.size(), 0);
    for (size_t b = blocks_.size(); b-- > 0;) {
      const Block& block = blocks_[b];
      enter_from_below(block, next_[b], live);
      for (int i = block.to; i-- > block.from;) step(i, live.data());
    }
    each(live.data(), [&](int g) { end_range(g, 0); });
    entries();
  }

  /// Which blocks may follow each: the one below it, and the one that it jumps to.
  void successors() {
    const auto none = static_cast<int32_t>(blocks_.size());
    next_.assign(blocks_.size(), {none, none});
    for (size_t b = 0; b < blocks_.size(); ++b) {
      const Inst& last = lir_.code[blocks_[b].to - 1];
      if (last.op != Pseudo::jump && last.op != Pseudo::ret) {
        next_[b][0] = static_cast<int32_t>(b + 1);
      }
      const int label = jump_target(last);
      if (label < 0) continue;
      const int at = out_.label_at.at(label);
      if (at < 0) throw std::logic_error("jump to a label that is not there");
      if (at < blocks_[b].to && lir_.code[at].op != Pseudo::loop_begin) {
        throw std::logic_error("backward jump to a label that is not a loop's head");
      }
      const auto target = std::partition_point(blocks_.begin(), blocks_.end(),
                                               [&](const Block& x) { return x.from < at; });
      next_[b][1] = static_cast<int32_t>(target - blocks_.begin());
    }
  }

  /// Word `w` of what is live after a block whose successors are `next`.
  uint64_t live_after(const std::array<int32_t, 2>& next, size_t w) const {
    return live_in_[static_cast<size_t>(next[0]) * words_ + w] |
           live_in_[static_cast<size_t>(next[1]) * words_ + w];
  }

  /// Goes on from the start of the block below to the end of `block`. What is live at both sides
  /// goes on; so the cost is of what changes.
  void enter_from_below(const Block& block, const std::array<int32_t, 2>& next,
                        std::vector<uint64_t>& live) {
    for (size_t w = 0; w < words_; ++w) {
      const uint64_t now = live_after(next, w), was = live[w];
      each_in(w, was & ~now, [&](int g) { end_range(g, 2 * block.to); });
      each_in(w, now & ~was, [&](int g) { until_[g] = 2 * block.to; });
      live[w] = now;
    }
  }

  /// The range of a live register begins at `from`.
  void end_range(int g, int from) { add(globals_[g], from, until_[g]); }

  void fixed_point() {
    std::vector<uint64_t> reads(live_in_.size());  // before any write in the block
    std::vector<uint64_t> writes(live_in_.size());
    for (size_t b = 0; b < blocks_.size(); ++b) {
      uint64_t* read = &reads[b * words_];
      uint64_t* written = &writes[b * words_];
      for (int i = blocks_[b].from; i < blocks_[b].to; ++i) {
        for (const Touch& t : out_.of(i)) {
          const int g = seen_[t.reg].global;
          if (g >= 0 && t.use && !has(written, g)) put(read, g);
        }
        for (const Touch& t : out_.of(i)) {
          const int g = seen_[t.reg].global;
          if (g >= 0 && t.def) put(written, g);
        }
      }
    }
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t b = blocks_.size(); b-- > 0;) {
        const std::array<int32_t, 2> next = next_[b];
        for (size_t w = 0; w < words_; ++w) {
          uint64_t& in = live_in_[b * words_ + w];
          const uint64_t now =
              reads[b * words_ + w] | (live_after(next, w) & ~writes[b * words_ + w]);
          changed |= in != now;
          in = now;
        }
      }
    }
  }

  void step(int i, uint64_t* live) {
    for (const Touch& t : out_.of(i)) {
      const int g = seen_[t.reg].global;
      if (g < 0 || !t.def) continue;
      if (has(live, g)) {
        end_range(g, 2 * i + 1);
        drop(live, g);
      } else {
        add(t.reg, 2 * i + 1, 2 * i + 2);
      }
    }
    for (const Touch& t : out_.of(i)) {
      const int g = seen_[t.reg].global;
      if (g < 0 || !t.use || has(live, g)) continue;
      until_[g] = 2 * i + 1;
      put(live, g);
    }
  }

  template <class F>
  static void each_in(size_t w, uint64_t bits, const F& f) {
    for (; bits != 0; bits &= bits - 1) {
      f(static_cast<int>(w * 64) + __builtin_ctzll(bits));
    }
  }

  template <class F>
  void each(const uint64_t* live, const F& f) const {
    for (size_t w = 0; w < words_; ++w) each_in(w, live[w], f);
  }

  /// Entry registers hold their value from before the first instruction. Others that seem live
  /// there are read where nothing was written: they begin at their first mention.
  void entries() {
    for (int reg : globals_) {
      if (out_.head[reg] < 0) continue;
      Range& first = out_.ranges[out_.head[reg]];
      const bool entry =
          std::any_of(lir_.entry.begin(), lir_.entry.end(), [&](Reg r) { return r.id == reg; });
      if (entry && first.from <= 0) first.from = -1;
      if (!entry && first.from < seen_[reg].first) first.from = seen_[reg].first;
    }
  }

  const Lir& lir_;
  const Machine& machine_;
  Liveness out_;
  std::vector<Seen> seen_;
  std::vector<int> globals_;
  std::vector<Block> blocks_;
  std::vector<int> open_;
  std::vector<uint64_t> live_in_;             ///< per block, `words_` words of bits
  std::vector<std::array<int32_t, 2>> next_;  ///< per block; the number of blocks: none
  std::vector<int32_t> until_;                ///< where ranges of live ones end, by their number
  size_t words_ = 0;
};

}  // namespace

int jump_target(const Inst& inst) {
  const bool jump = inst.op >= Pseudo::jump && inst.op <= Pseudo::jump_above_equal;
  return jump ? static_cast<int>(inst.operands[0].imm) : -1;
}

Liveness liveness_of(const Lir& lir, const Machine& machine) { return Builder(lir, machine).run(); }

}  // namespace hone::jit
