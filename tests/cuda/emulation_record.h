// SPDX-License-Identifier: Apache-2.0
// What the warps of a launch access together, counted where HONE_RECORD is defined: for tests of
// what is said of kernels without running them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "tests/cuda/emulation_launch.h"

namespace emulation {

enum class Touch { kLoad, kStore, kSharedLoad, kSharedStore };

#ifdef HONE_RECORD

/// The n-th accesses of a warp's threads to one array are taken to be one request: so it is where
/// threads go the same way.
struct Recorder {
  struct Lane {
    size_t lane;
    int64_t address;
    int bytes;
  };
  struct Stream {
    std::map<size_t, size_t> next;  ///< by thread
    std::vector<std::vector<Lane>> requests;
  };
  using Key = std::tuple<const void*, Touch, const char*, size_t>;  ///< block, array, warp
  std::map<Key, Stream> streams;
  double requests[4] = {}, cost[4] = {};
  int quiet = 0;  ///< inside an access to several elements, which counts as one
};
inline Recorder recorder;

inline void record(Touch touch, const char* name, int64_t address, int bytes) {
  if (recorder.quiet > 0 || std::strcmp(name, "parts") == 0) return;
  const size_t thread = block->current;
  Recorder::Stream& s = recorder.streams[{block, touch, name, thread / 32}];
  const size_t n = s.next[thread]++;
  if (n == s.requests.size()) s.requests.emplace_back();
  s.requests[n].push_back({thread % 32, address, bytes});
}

/// Sectors of 32 bytes, or rounds in which each of 32 banks gives a word.
inline double cost_of(Touch touch, const std::vector<Recorder::Lane>& lanes) {
  std::set<int64_t> sectors;
  std::map<size_t, std::map<int64_t, std::set<int64_t>>> banks;  ///< by group of lanes, by bank
  for (const Recorder::Lane& l : lanes) {
    const size_t together = l.bytes <= 4 ? 32 : l.bytes <= 8 ? 16 : 8;
    for (int64_t b = l.address; b < l.address + l.bytes; ++b) {
      sectors.insert(b / 32);
      banks[l.lane / together][b / 4 % 32].insert(b / 4);
    }
  }
  if (touch == Touch::kLoad || touch == Touch::kStore) return static_cast<double>(sectors.size());
  size_t rounds = 0;
  for (const auto& [group, words] : banks) {
    size_t most = 0;
    for (const auto& [bank, of_bank] : words) most = std::max(most, of_bank.size());
    rounds += most;
  }
  return static_cast<double>(rounds);
}

/// Adds up what the blocks that have run accessed.
inline void record_blocks() {
  for (const auto& [key, stream] : recorder.streams) {
    const auto kind = static_cast<size_t>(std::get<1>(key));
    for (const auto& lanes : stream.requests) {
      recorder.requests[kind] += 1;
      recorder.cost[kind] += cost_of(std::get<1>(key), lanes);
    }
  }
  recorder.streams.clear();
}
inline const bool records_blocks = (blocks_ran = record_blocks, true);

struct Quiet {
  Quiet() { ++recorder.quiet; }
  ~Quiet() { --recorder.quiet; }
};

#else

inline void record(Touch, const char*, int64_t, int) {}
struct Quiet {};

#endif

}  // namespace emulation
