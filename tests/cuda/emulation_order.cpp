// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda/emulation_order.h"

#include <algorithm>
#include <utility>

namespace emulation {
namespace {

uint32_t clock_of(const Known& known, Agent agent) {
  return known && agent < known->size() ? (*known)[agent] : 0;
}

void raise(Clocks& into, Epoch e) {
  if (e.clock == 0) return;
  if (into.size() <= e.agent) into.resize(e.agent + size_t{1});
  into[e.agent] = std::max(into[e.agent], e.clock);
}

void raise_all(Clocks& into, const Clocks& from) {
  if (into.size() < from.size()) into.resize(from.size());
  for (size_t i = 0; i < from.size(); ++i) into[i] = std::max(into[i], from[i]);
}

void add(Clocks& into, Known& last, const Known& from, Epoch own) {
  if (from && from != last) {
    raise_all(into, *from);
    last = from;
  }
  raise(into, own);
}

}  // namespace

Known Joins::operator()(const Known& a, const Known& b) {
  if (!b || a == b) return a;
  if (!a) return b;
  if (a == a_ && b == b_) return out_;
  Clocks both = *a;
  raise_all(both, *b);
  a_ = a, b_ = b;
  return out_ = both == *a ? a : both == *b ? b : std::make_shared<const Clocks>(std::move(both));
}

bool Knowledge::has(Epoch e) const {
  return e.agent == agent ? now >= e.clock : clock_of(others.seen, e.agent) >= e.clock;
}

bool Knowledge::has_fenced(Epoch e) const {
  if (e.agent == agent) return fenced >= e.clock;
  if (e.agent == copies_fenced.agent && copies_fenced.clock >= e.clock) return true;
  return clock_of(others.fenced, e.agent) >= e.clock;
}

void Knowledge::fence() {
  fenced = now++;
  copies_fenced = copied;
}

void Knowledge::learn(const Message& m, Joins& join) {
  others = {join(others.seen, m.seen), join(others.fenced, m.fenced)};
  ++now;
}

void Gathering::add(Knowledge& k) {
  emulation::add(seen_, last_.seen, k.others.seen, {k.agent, k.now++});
  emulation::add(fenced_, last_.fenced, k.others.fenced, {k.agent, k.fenced});
  raise(fenced_, k.copies_fenced);
}

void Gathering::add(Epoch e) { raise(seen_, e); }

void Gathering::add_made(const Knowledge& k) { raise(seen_, {k.agent, k.made}); }

Message Gathering::take() {
  const Message out = {std::make_shared<const Clocks>(std::move(seen_)),
                       std::make_shared<const Clocks>(std::move(fenced_))};
  *this = {};
  return out;
}

const Readers::Set& Readers::operator[](uint32_t set) const {
  static const Set kNobody;
  return set < first_ ? kNobody : sets_[set - first_];
}

uint32_t Readers::with(uint32_t set, Epoch e, const Knowledge& k) {
  const Set& old = (*this)[set];
  if (old.size() == 1 && old[0].agent == e.agent && old[0].clock == e.clock) return set;
  if (set < first_) set = 0;
  // A thread's clock says what it knows, and so what the set will be.
  const bool repeats = e.agent == k.agent || set == 0;
  uint32_t* found = repeats ? &next_[{set, e.agent, e.clock}] : nullptr;
  if (found && *found) return *found;
  Set more;
  for (const Epoch& o : old) {
    if (o.agent == e.agent && o.clock == e.clock) return set;
    if (o.agent != e.agent && !k.has(o)) more.push_back(o);
  }
  more.push_back(e);
  sets_.push_back(std::move(more));
  const auto made = static_cast<uint32_t>(first_ + sets_.size() - 1);
  if (found) *found = made;
  return made;
}

void Readers::forget() {
  first_ += static_cast<uint32_t>(sets_.size());
  sets_.clear();
  next_.clear();
}

size_t Readers::Hash::operator()(const std::tuple<uint32_t, Agent, uint32_t>& k) const {
  return (std::get<0>(k) * size_t{0x9e3779b97f4a7c15} ^ std::get<2>(k)) *
             size_t{0xff51afd7ed558ccd} +
         std::get<1>(k);
}

Agent Order::hire(const std::string& name, bool generic) {
  hired.push_back({name, generic});
  return static_cast<Agent>(threads + hired.size() - 1);
}

}  // namespace emulation
