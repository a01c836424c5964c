// SPDX-License-Identifier: Apache-2.0
// What is ordered before what. Everybody who touches shared memory is an agent with a clock: a
// thread, and also what works beside the threads (copies that a barrier counts, groups of copies,
// products of a warpgroup). Barriers hand on what their participants know of the agents' clocks;
// an access is ordered before another if whoever makes the second knows the clock of the first.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace emulation {

using Agent = uint16_t;
using Clocks = std::vector<uint32_t>;  ///< per agent; what is past the end is 0
using Known = std::shared_ptr<const Clocks>;

/// When an agent did something.
struct Epoch {
  Agent agent = 0;
  uint32_t clock = 0;
};

inline uint32_t clock_of(const Known& known, Agent agent) {
  return known && agent < known->size() ? (*known)[agent] : 0;
}

/// What a barrier hands on: the clocks that are known, and those up to which what the generic proxy
/// wrote was fenced by who did, so that the asynchronous proxy sees it.
struct Message {
  Known seen, fenced;
};

/// The later of two, for each agent. Most joins repeat the one before.
class Joins {
 public:
  Known operator()(const Known& a, const Known& b) {
    if (!b || a == b) return a;
    if (!a) return b;
    if (a == a_ && b == b_) return out_;
    Clocks both = *a;
    if (both.size() < b->size()) both.resize(b->size());
    for (size_t i = 0; i < b->size(); ++i) both[i] = std::max(both[i], (*b)[i]);
    a_ = a, b_ = b;
    return out_ = both == *a ? a : both == *b ? b : std::make_shared<const Clocks>(std::move(both));
  }

 private:
  Known a_, b_, out_;
};

/// What a thread knows.
struct Knowledge {
  Agent agent = 0;
  uint32_t now = 1;          ///< its own clock
  uint32_t fenced = 0;       ///< its own clock at its last fence
  uint32_t made = 0;         ///< its own clock at the last fence after it made mbarriers
  bool stored_away = false;  ///< to the memory of another block
  Epoch copied;              ///< the last group of its asynchronous copies that it waited for
  Epoch copies_fenced;       ///< the last one at its last fence
  Message others;

  bool has(Epoch e) const {
    return e.agent == agent ? now >= e.clock : clock_of(others.seen, e.agent) >= e.clock;
  }
  bool has_fenced(Epoch e) const {
    if (e.agent == agent) return fenced >= e.clock;
    if (e.agent == copies_fenced.agent && copies_fenced.clock >= e.clock) return true;
    return clock_of(others.fenced, e.agent) >= e.clock;
  }
  /// The asynchronous proxy sees what the thread wrote up to now, and its copies that are there.
  void fence() {
    fenced = now++;
    copies_fenced = copied;
  }
  void learn(const Message& m, Joins& join) {
    others = {join(others.seen, m.seen), join(others.fenced, m.fenced)};
    ++now;
  }
};

/// A message that is being put together.
class Gathering {
 public:
  /// What `k` knows; what it does next is not part of it.
  void add(Knowledge& k) {
    add(seen_, last_.seen, k.others.seen, {k.agent, k.now++});
    add(fenced_, last_.fenced, k.others.fenced, {k.agent, k.fenced});
    raise(fenced_, k.copies_fenced);
  }
  void add(Epoch e) { raise(seen_, e); }
  /// Only the mbarriers that `k` made and fenced.
  void add_made(const Knowledge& k) { raise(seen_, {k.agent, k.made}); }
  Message take() {
    const Message out = {std::make_shared<const Clocks>(std::move(seen_)),
                         std::make_shared<const Clocks>(std::move(fenced_))};
    *this = {};
    return out;
  }

 private:
  static void raise(Clocks& into, Epoch e) {
    if (e.clock == 0) return;
    if (into.size() <= e.agent) into.resize(e.agent + size_t{1});
    into[e.agent] = std::max(into[e.agent], e.clock);
  }
  static void add(Clocks& into, Known& last, const Known& from, Epoch own) {
    if (from && from != last) {
      if (into.size() < from->size()) into.resize(from->size());
      for (size_t i = 0; i < from->size(); ++i) into[i] = std::max(into[i], (*from)[i]);
      last = from;
    }
    raise(into, own);
  }

  Clocks seen_, fenced_;
  Message last_;
};

/// Sets of epochs by number: who has read a byte since it was written. 0 is nobody.
class Readers {
 public:
  using Set = std::vector<Epoch>;

  const Set& operator[](uint32_t set) const {
    static const Set kNobody;
    return set < first_ ? kNobody : sets_[set - first_];
  }
  /// `set` and a reader `e` whose issuer `k` is: those that come before it need not be kept.
  uint32_t with(uint32_t set, Epoch e, const Knowledge& k) {
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
  /// Everybody comes after all readers.
  void forget() {
    first_ += static_cast<uint32_t>(sets_.size());
    sets_.clear();
    next_.clear();
  }

 private:
  struct Hash {
    size_t operator()(const std::tuple<uint32_t, Agent, uint32_t>& k) const {
      return (std::get<0>(k) * size_t{0x9e3779b97f4a7c15} ^ std::get<2>(k)) *
                 size_t{0xff51afd7ed558ccd} +
             std::get<1>(k);
    }
  };
  uint32_t first_ = 1;
  std::vector<Set> sets_;
  std::unordered_map<std::tuple<uint32_t, Agent, uint32_t>, uint32_t, Hash> next_;
};

/// All agents of the blocks that run together; the first ones are their threads.
struct Order {
  /// Someone who works beside the threads: "a copy", "a product".
  struct Hired {
    std::string name;
    bool generic;  ///< touches memory by the proxy that the threads' own accesses go by
  };
  size_t threads = 0;
  std::vector<Hired> hired;  ///< the agents after the threads
  Readers readers;
  Joins join;

  bool is_thread(Agent a) const { return a < threads; }
  bool is_generic(Agent a) const { return is_thread(a) || hired[a - threads].generic; }
  const std::string& name(Agent a) const { return hired[a - threads].name; }
  Agent hire(std::string name, bool generic = false) {
    hired.push_back({std::move(name), generic});
    return static_cast<Agent>(threads + hired.size() - 1);
  }
};

}  // namespace emulation
