// SPDX-License-Identifier: Apache-2.0
#include "jit/x86/scan.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace hone::jit {
namespace {

constexpr float kPinned = std::numeric_limits<float>::infinity();

/// Order in which general registers are given out: those the caller saves first, so that small
/// kernels push nothing; rsp is never among them.
constexpr int8_t kGprOrder[] = {0, 8, 9, 10, 11, 7, 6, 2, 1, 3, 5, 12, 13, 14, 15};
/// Where the System V ABI passes args, begin, end, scratch: rdi rsi rdx rcx.
constexpr int8_t kEntry[] = {7, 6, 2, 1};

/// The registers of one class, and who holds them.
struct Bank {
  int count = 0;
  uint32_t free = 0;                             ///< registers whose holders have all ended
  std::array<std::vector<int32_t>, 32> holders;  ///< virtual registers that have not ended
};

class Scanner {
 public:
  Scanner(const Lir& lir, const Liveness& live, const RegisterFile& file,
          const std::vector<bool>& pinned)
      : lir_(lir), live_(live), pinned_(pinned) {
    result_.physical.assign(lir.regs.size(), -1);
    const int counts[] = {file.gprs, file.vecs, file.masks};
    for (int c = 0; c < 3; ++c) {
      banks_[c].count = counts[c];
      banks_[c].free = counts[c] == 32 ? ~0u : (1u << counts[c]) - 1;
    }
    copy_of_.assign(lir.regs.size(), -1);
    copied_to_.assign(lir.regs.size(), -1);
  }

  Scan run() {
    hints();
    order();
    for (int at = 0; at < static_cast<int>(starts_.size()); ++at) {
      for (int r = ends_[at]; r >= 0; r = next_end_[r]) leave(r);
      for (int r = starts_[at]; r >= 0; r = next_start_[r]) place(r);
    }
    for (int8_t& p : result_.physical) {
      if (p < 0) continue;
      const RegClass cls = lir_.regs[&p - result_.physical.data()].cls;
      if (cls == RegClass::kGpr) p = kGprOrder[p];
      if (cls == RegClass::kMask) p += 1;
    }
    return std::move(result_);
  }

 private:
  Bank& bank(int reg) { return banks_[static_cast<int>(lir_.regs[reg].cls)]; }
  const Range& first(int reg) const { return live_.ranges[live_.head[reg]]; }
  int end(int reg) const { return live_.end[reg]; }

  /// Index of a position, which may be -1, in starts_ and ends_.
  static size_t slot(int position) { return static_cast<size_t>(position + 1); }

  /// Lists registers by where they begin.
  void order() {
    const size_t n = slot(2 * static_cast<int>(lir_.code.size())) + 1;
    starts_.assign(n, -1);
    ends_.assign(n, -1);
    next_start_.assign(lir_.regs.size(), -1);
    next_end_.assign(lir_.regs.size(), -1);
    for (int r = static_cast<int>(lir_.regs.size()); r-- > 0;) {
      if (live_.head[r] < 0) continue;
      next_start_[r] = starts_[slot(first(r).from)];
      starts_[slot(first(r).from)] = r;
    }
  }

  /// Copies want both sides in one register.
  void hints() {
    for (const Inst& inst : lir_.code) {
      switch (inst.op) {
        case X86::mov: case X86::vmovups: case X86::vmovupd: case X86::vmovaps: case X86::vmovapd:
        case X86::vmovdqu: case X86::vmovdqu32: case X86::vmovdqu64: case X86::vmovdqa:
        case X86::kmovq: case X86::kmovd: case X86::kmovw: case X86::kmovb: {
          const auto& o = inst.operands;
          if (o[0].kind != Operand::kReg || o[1].kind != Operand::kReg || inst.mask.valid()) break;
          if (class_of(o[0]) != class_of(o[1])) break;
          copy_of_[o[0].reg.id] = o[1].reg.id;
          copied_to_[o[1].reg.id] = o[0].reg.id;
          break;
        }
        default: break;
      }
    }
  }

  void leave(int r) {
    const int p = result_.physical[r];
    if (p < 0) return;
    Bank& b = bank(r);
    auto& holders = b.holders[p];
    holders.erase(std::find(holders.begin(), holders.end(), r));
    if (holders.empty() && p < b.count) b.free |= 1u << p;
  }

  void take(int r, int p) {
    result_.physical[r] = static_cast<int8_t>(p);
    Bank& b = bank(r);
    b.free &= ~(1u << p);
    b.holders[p].push_back(r);
    next_end_[r] = ends_[slot(end(r))];
    ends_[slot(end(r))] = r;
  }

  bool meet(int a, int b) const {
    int i = live_.head[a];
    int j = live_.head[b];
    while (i >= 0 && j >= 0) {
      const Range& x = live_.ranges[i];
      const Range& y = live_.ranges[j];
      if (x.from < y.to && y.from < x.to) return true;
      (x.to <= y.to ? i : j) = x.to <= y.to ? x.next : y.next;
    }
    return false;
  }

  bool fits(int r, int p) {
    for (int h : bank(r).holders[p]) {
      if (meet(r, h)) return false;
    }
    return true;
  }

  uint32_t allowed(int r) {
    const Bank& b = bank(r);
    const uint32_t all = b.count == 32 ? ~0u : (1u << b.count) - 1;
    return live_.low[r] ? all & 0xffff : all;
  }

  /// The register that suits best of those `r` may have: the ABI's, a copy's other side, any free
  /// one, one whose holders are in a pause.
  int choose(int r) {
    const uint32_t may = allowed(r);
    auto open = [&](int p) {
      return p >= 0 && (may >> p & 1) && ((bank(r).free >> p & 1) || fits(r, p));
    };
    for (int e = 0; e < 4; ++e) {
      if (lir_.entry[e].id != r) continue;
      const int p = static_cast<int>(std::find(std::begin(kGprOrder), std::end(kGprOrder),
                                               kEntry[e]) - std::begin(kGprOrder));
      if (first(r).from < 0) return p;
      if (open(p)) return p;
    }
    for (int other : {copy_of_[r], copied_to_[r]}) {
      if (other >= 0 && open(result_.physical[other])) return result_.physical[other];
    }
    const uint32_t free = bank(r).free & may;
    if (free != 0) return __builtin_ctz(free);
    for (uint32_t left = may; left != 0; left &= left - 1) {
      const int p = __builtin_ctz(left);
      if (fits(r, p)) return p;
    }
    return -1;
  }

  void place(int r) {
    int p = choose(r);
    if (p < 0) p = evict(r);
    if (p >= 0) take(r, p);
  }

  /// What keeping `r` in memory costs, and how: around the outermost loop that holds `position`
  /// and does not mention it (`loop`), or everywhere (-1).
  float cost(int r, int position, int& loop) {
    loop = -1;
    if (pinned_[r]) return kPinned;
    float best = live_.weight[r];
    if (lir_.regs[r].remat >= 0) best *= 0.5f;
    for (size_t l = 0; l < live_.loops.size(); ++l) {
      const LoopSpan& span = live_.loops[l];
      if (2 * span.head > position) break;
      if (2 * span.end < position || !through(r, span) || facts(l).mentions[r]) continue;
      const float around = 2 * std::pow(10.0f, static_cast<float>(span.depth - 1));
      if (around < best && facts(l).exits_at_end) {
        best = around;
        loop = static_cast<int>(l);
      }
      break;
    }
    return best;
  }

  bool through(int r, const LoopSpan& span) const {
    for (int i = live_.head[r]; i >= 0; i = live_.ranges[i].next) {
      const Range& x = live_.ranges[i];
      if (x.from < 2 * span.head && x.to > 2 * span.end) return true;
    }
    return false;
  }

  /// What the costs want to know of a loop; computed for the loops where registers run out.
  struct LoopFacts {
    std::vector<bool> mentions;
    bool exits_at_end = false;
  };

  const LoopFacts& facts(size_t loop) {
    loop_facts_.resize(live_.loops.size());
    LoopFacts& facts = loop_facts_[loop];
    if (!facts.mentions.empty()) return facts;
    const LoopSpan& span = live_.loops[loop];
    facts.mentions.assign(lir_.regs.size(), false);
    for (int t = live_.first_touch[span.head]; t < live_.first_touch[span.end]; ++t) {
      facts.mentions[live_.touches[t].reg] = true;
    }
    facts.exits_at_end = exits_at_end(lir_, live_, span);
    return facts;
  }

  void plan(int r, int loop) {
    if (loop < 0) {
      result_.plan.everywhere.push_back(r);
    } else {
      result_.plan.around.push_back({r, loop});
    }
  }

  /// Makes room for `r` by spilling what costs least, perhaps `r` itself (then -1).
  int evict(int r) {
    const int position = std::max(0, first(r).from);
    int own_loop = -1;
    float best = cost(r, position, own_loop);
    int victim = -1;
    for (uint32_t left = allowed(r); left != 0; left &= left - 1) {
      const int p = __builtin_ctz(left);
      float sum = 0;
      for (int h : bank(r).holders[p]) {
        int loop = -1;
        if (meet(r, h)) sum += cost(h, position, loop);
      }
      if (sum < best) {
        best = sum;
        victim = p;
      }
    }
    if (victim < 0) {
      if (pinned_[r]) throw std::logic_error("an instruction needs more registers than there are");
      plan(r, own_loop);
      return -1;
    }
    const std::vector<int32_t> holders = bank(r).holders[victim];
    for (int h : holders) {
      if (!meet(r, h)) continue;
      int loop = -1;
      cost(h, position, loop);
      plan(h, loop);
      auto& list = bank(r).holders[victim];
      list.erase(std::find(list.begin(), list.end(), h));
      unlink(h);
      result_.physical[h] = -1;
    }
    return victim;
  }

  void unlink(int r) {
    int32_t* link = &ends_[slot(end(r))];
    while (*link != r) link = &next_end_[*link];
    *link = next_end_[r];
  }

  const Lir& lir_;
  const Liveness& live_;
  const std::vector<bool>& pinned_;
  Scan result_;
  std::array<Bank, 3> banks_;
  std::vector<LoopFacts> loop_facts_;
  std::vector<int32_t> copy_of_, copied_to_;  ///< the other side of a register's copies, or -1
  std::vector<int32_t> starts_, ends_, next_start_, next_end_;
};

}  // namespace

Scan scan(const Lir& lir, const Liveness& liveness, const RegisterFile& file,
          const std::vector<bool>& pinned) {
  return Scanner(lir, liveness, file, pinned).run();
}

}  // namespace hone::jit
