// SPDX-License-Identifier: Apache-2.0
#include "jit/native/spill_costs.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace hone::jit {
namespace {

constexpr float kNever = std::numeric_limits<float>::infinity();
/// What a constant's load costs beside a spilled value's: it is not stored, and often becomes an
/// operand.
/// Chosen: less than a value's store and load (not measured).
constexpr float kConstant = 0.25f;

float frequency(int depth) { return std::pow(10.0f, static_cast<float>(depth)); }

/// All jumps out of the loop go to the labels right after its end, so that code can be placed on
/// every way out.
bool exits_at_end(const Lir& lir, const Liveness& live, const LoopSpan& loop) {
  const auto [from, to] = labels_after(lir, loop.end);
  for (int i = loop.head; i < loop.end; ++i) {
    const int target = jump_target(lir.code[i]);
    if (target < 0) continue;
    const int at = live.label_at[target];
    const bool inside = at >= loop.head && at <= loop.end;
    const bool next = at >= from && at < to;
    if (!inside && !next) return false;
  }
  return true;
}

}  // namespace

std::pair<int, int> labels_after(const Lir& lir, int at) {
  int last = at + 1;
  while (last < static_cast<int>(lir.code.size()) && lir.code[last].op == Pseudo::label) ++last;
  return {at + 1, last};
}

void SpillCosts::prepare() {
  prepared_ = true;
  const int n = static_cast<int>(lir_.code.size());
  first_mention_.assign(lir_.regs.size() + 1, 0);
  for (const Touch& t : live_.touches) ++first_mention_[t.reg + 1];
  for (size_t r = 0; r < lir_.regs.size(); ++r) first_mention_[r + 1] += first_mention_[r];
  mentions_.resize(live_.touches.size());
  std::vector<int32_t> next(first_mention_.begin(), first_mention_.end() - 1);
  depth_.resize(lir_.code.size());
  int8_t depth = 0;
  for (int i = 0; i < n; ++i) {
    depth += lir_.code[i].op == Pseudo::loop_begin;
    depth -= lir_.code[i].op == Pseudo::loop_end;
    depth_[i] = depth;
    for (const Touch& t : live_.of(i)) mentions_[next[t.reg]++] = i;
  }
  loop_facts_.resize(live_.loops.size());
}

const SpillCosts::LoopFacts& SpillCosts::facts(size_t loop) {
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

int SpillCosts::depth_at(int position) const {
  return depth_.empty() ? 0 : depth_[std::clamp<size_t>(position / 2, 0, depth_.size() - 1)];
}

SpillChoice SpillCosts::everywhere(int reg, int position) const {
  SpillChoice choice;
  choice.price = live_.weight[reg];
  if (lir_.regs[reg].remat >= 0) choice.price *= kConstant;
  // A value of a deeper loop is not sold for the length that it frees out here.
  int deepest = 0;
  for (int m = first_mention_[reg]; m < first_mention_[reg + 1]; ++m) {
    deepest = std::max<int>(deepest, depth_[mentions_[m]]);
  }
  if (deepest <= depth_at(position)) {
    choice.price /= static_cast<float>(std::max(2, live_.end[reg] - position));
  }
  return choice;
}

bool SpillCosts::through(int reg, const LoopSpan& span) const {
  for (int i = live_.head[reg]; i >= 0; i = live_.ranges[i].next) {
    const Range& x = live_.ranges[i];
    if (x.from < 2 * span.head && x.to > 2 * span.end) return true;
  }
  return false;
}

SpillChoice SpillCosts::around(int reg, int position) {
  SpillChoice choice;
  choice.kind = SpillChoice::kAround;
  choice.price = kNever;
  for (size_t l = 0; l < live_.loops.size(); ++l) {
    const LoopSpan& span = live_.loops[l];
    if (2 * span.head > position) break;
    if (2 * span.end < position || !through(reg, span) || facts(l).mentions[reg]) continue;
    if (!facts(l).exits_at_end) continue;
    choice.loop = static_cast<int>(l);
    choice.price =
        2 * frequency(span.depth - 1) / static_cast<float>(std::max(2, 2 * span.end - position));
    break;
  }
  return choice;
}

SpillChoice SpillCosts::gap(int reg, int position) const {
  SpillChoice choice;
  choice.kind = SpillChoice::kGap;
  choice.price = kNever;
  if (lir_.regs[reg].remat >= 0 || position < 0) return choice;
  const int at = position / 2;
  const auto end = std::upper_bound(live_.blocks.begin(), live_.blocks.end(), at);
  const int block_from = *(end - 1);
  int block_to = *end;
  const Inst& last = lir_.code[block_to - 1];
  if (jump_target(last) >= 0 || last.op == Pseudo::ret || last.op == Pseudo::loop_end) --block_to;
  const Opcode head = lir_.code[block_from].op;
  choice.from = block_from + (head == Pseudo::label || head == Pseudo::loop_begin);
  choice.to = block_to;
  const auto begin = mentions_.begin() + first_mention_[reg];
  const auto stop = mentions_.begin() + first_mention_[reg + 1];
  for (auto m = std::lower_bound(begin, stop, block_from); m != stop && *m < block_to; ++m) {
    // A mention at the position itself is in the way only if it comes after the reading half.
    if (*m > at || (*m == at && position % 2 == 0)) {
      choice.to = *m;
      break;
    }
    for (const Touch& t : live_.of(*m)) {
      if (t.reg == reg && t.def) choice.from = *m + 1;
    }
  }
  if (choice.from > at || choice.to < at + 2) return choice;
  choice.price = 2 * frequency(depth_at(position)) / static_cast<float>(2 * choice.to - position);
  return choice;
}

SpillChoice SpillCosts::cheapest(int reg, int position, bool gaps) {
  if (!prepared_) prepare();
  SpillChoice best = everywhere(reg, position);
  const SpillChoice outside = around(reg, position);
  if (outside.price < best.price) best = outside;
  if (gaps) {
    const SpillChoice inside = gap(reg, position);
    if (inside.price < best.price) best = inside;
  }
  return best;
}

}  // namespace hone::jit
