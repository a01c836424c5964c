// SPDX-License-Identifier: Apache-2.0
#include "jit/native/scan.h"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "jit/native/spill_costs.h"

namespace hone::jit {
namespace {

constexpr float kPinned = std::numeric_limits<float>::infinity();

/// The registers of one class, and who holds them.
struct Bank {
  int count = 0;
  uint32_t free = 0;                             ///< registers whose holders have all ended
  std::array<std::vector<int32_t>, 32> holders;  ///< virtual registers that have not ended
};

class Scanner {
 public:
  Scanner(const Lir& lir, const Liveness& live, const RegisterFile& file,
          const std::vector<bool>& pinned, bool gaps)
      : lir_(lir),
        live_(live),
        machine_(*file.machine),
        order_(file.machine->registers()),
        pinned_(pinned),
        gaps_(gaps),
        costs_(lir, live) {
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
      if (cls == RegClass::kGpr) p = order_.general[p];
      if (cls == RegClass::kMask) p += order_.first_mask;
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
      const auto& o = inst.operands;
      if (o[0].kind != Operand::kReg || o[1].kind != Operand::kReg || inst.mask.valid()) continue;
      if (class_of(o[0]) != class_of(o[1]) || is_pseudo(inst.op)) continue;
      if (machine_.facts_of(inst.op).move == OpcodeFacts::kNone) continue;
      copy_of_[o[0].reg.id] = o[1].reg.id;
      copied_to_[o[1].reg.id] = o[0].reg.id;
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

  /// The first position where both are live, or kApart.
  static constexpr int kApart = std::numeric_limits<int>::max();
  int meet(int a, int b) const {
    int i = live_.head[a];
    int j = live_.head[b];
    while (i >= 0 && j >= 0) {
      const Range& x = live_.ranges[i];
      const Range& y = live_.ranges[j];
      if (x.from < y.to && y.from < x.to) return std::max(x.from, y.from);
      (x.to <= y.to ? i : j) = x.to <= y.to ? x.next : y.next;
    }
    return kApart;
  }

  bool fits(int r, int p) {
    for (int h : bank(r).holders[p]) {
      if (meet(r, h) != kApart) return false;
    }
    return true;
  }

  uint32_t allowed(int r) {
    const Bank& b = bank(r);
    const uint32_t all = b.count == 32 ? ~0u : (1u << b.count) - 1;
    return live_.low[r] ? all & order_.low : all;
  }

  /// The best register of those that `r` may have. First the ABI's, then the other side of a copy,
  /// any free one, and one whose holders are in a lifetime hole.
  int choose(int r) {
    const uint32_t may = allowed(r);
    auto open = [&](int p) {
      return p >= 0 && (may >> p & 1) && ((bank(r).free >> p & 1) || fits(r, p));
    };
    for (int e = 0; e < 4; ++e) {
      if (lir_.entry[e].id != r) continue;
      const auto& given = order_.general;
      const int p =
          static_cast<int>(std::find(given.begin(), given.end(), order_.entry[e]) - given.begin());
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

  void plan(int r, const SpillChoice& choice) {
    switch (choice.kind) {
      case SpillChoice::kEverywhere:
        result_.plan.everywhere.push_back(r);
        break;
      case SpillChoice::kAround:
        result_.plan.around.push_back({r, choice.loop});
        break;
      case SpillChoice::kGap:
        result_.plan.gaps.push_back({r, choice.from, choice.to});
        break;
    }
  }

  /// The price of taking register `p` from what holds it where `r` wants it.
  float price(int r, int p) {
    float sum = 0;
    for (int h : bank(r).holders[p]) {
      const int position = meet(r, h);
      if (position == kApart) continue;
      if (pinned_[h]) return kPinned;
      sum += costs_.cheapest(h, position, gaps_).price;
    }
    return sum;
  }

  /// Makes room for `r` by spilling what costs least, perhaps `r` itself (then -1).
  int evict(int r) {
    SpillChoice own;
    own.price = kPinned;
    if (!pinned_[r]) own = costs_.cheapest(r, std::max(0, first(r).from), false);
    float best = own.price;
    int victim = -1;
    for (uint32_t left = allowed(r); left != 0; left &= left - 1) {
      const int p = __builtin_ctz(left);
      const float sum = price(r, p);
      if (sum < best) {
        best = sum;
        victim = p;
      }
    }
    if (victim < 0) {
      if (pinned_[r]) throw std::logic_error("an instruction needs more registers than there are");
      plan(r, own);
      return -1;
    }
    const std::vector<int32_t> holders = bank(r).holders[victim];
    for (int h : holders) {
      const int position = meet(r, h);
      if (position == kApart) continue;
      plan(h, costs_.cheapest(h, position, gaps_));
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
  const Machine& machine_;
  const RegisterOrder order_;
  const std::vector<bool>& pinned_;
  const bool gaps_;
  SpillCosts costs_;
  Scan result_;
  std::array<Bank, 3> banks_;
  std::vector<int32_t> copy_of_, copied_to_;  ///< the other side of a register's copies, or -1
  std::vector<int32_t> starts_, ends_, next_start_, next_end_;
};

}  // namespace

Scan scan(const Lir& lir, const Liveness& liveness, const RegisterFile& file,
          const std::vector<bool>& pinned, bool gaps) {
  return Scanner(lir, liveness, file, pinned, gaps).run();
}

}  // namespace hone::jit
