// SPDX-License-Identifier: Apache-2.0
// What is ordered before what. Everybody who touches shared memory is an agent with a clock: a
// thread, and also what works beside the threads (copies that a barrier counts, groups of copies,
// products of a warpgroup). Barriers hand on what their participants know of the agents' clocks;
// an access is ordered before another if whoever makes the second knows the clock of the first.
#pragma once

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

/// What a barrier hands on: the clocks that are known, and those up to which what the generic proxy
/// wrote was fenced by who did, so that the asynchronous proxy sees it.
struct Message {
  Known seen, fenced;
};

/// The later of two, for each agent. Most joins repeat the one before.
class Joins {
 public:
  Known operator()(const Known& a, const Known& b);

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

  bool has(Epoch e) const;
  bool has_fenced(Epoch e) const;
  /// The asynchronous proxy sees what the thread wrote up to now, and its copies that are there.
  void fence();
  void learn(const Message& m, Joins& join);
};

/// A message that is being put together.
class Gathering {
 public:
  /// What `k` knows; what it does next is not part of it.
  void add(Knowledge& k);
  void add(Epoch e);
  /// Only the mbarriers that `k` made and fenced.
  void add_made(const Knowledge& k);
  Message take();

 private:
  Clocks seen_, fenced_;
  Message last_;
};

/// Sets of epochs by number: who has read a byte since it was written. 0 is nobody.
class Readers {
 public:
  using Set = std::vector<Epoch>;

  const Set& operator[](uint32_t set) const;
  /// `set` and a reader `e` whose issuer `k` is: those that come before it need not be kept.
  uint32_t with(uint32_t set, Epoch e, const Knowledge& k);
  /// Everybody comes after all readers.
  void forget();

 private:
  struct Hash {
    size_t operator()(const std::tuple<uint32_t, Agent, uint32_t>& k) const;
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
  Agent hire(const std::string& name, bool generic = false);
};

}  // namespace emulation
