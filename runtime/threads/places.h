// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sched.h>

#include <vector>

namespace hone::runtime {

/// Where the threads of a pool may run. The cores are divided into one place per thread. The place
/// that the caller is in is left to it; each worker keeps to another.
class Places {
 public:
  /// Nowhere in particular.
  Places() = default;
  /// Deals `cores`, each a list of its CPUs, out to `size` threads; where there are fewer cores
  /// than threads, their CPUs. Where there are fewer CPUs, all is one place for everybody.
  Places(const std::vector<std::vector<int>>& cores, int size);

  /// The CPUs that `worker` keeps to.
  const cpu_set_t& of(int worker) const { return cpus_[held_[static_cast<size_t>(worker)]]; }
  /// The caller is on `cpu`. The worker that has to make room takes the place that the caller left
  /// and is returned; 0: none has to.
  int enter(int cpu) {
    const bool known = static_cast<size_t>(cpu) < place_of_.size();
    const int place = known ? place_of_[static_cast<size_t>(cpu)] : kNone;
    return place == kNone || place == static_cast<int>(held_[0]) ? 0 : make_room(place);
  }

 private:
  static constexpr int kNone = -1;
  int make_room(int place);

  std::vector<int> place_of_;    ///< per CPU
  std::vector<cpu_set_t> cpus_;  ///< per place
  std::vector<size_t> held_;     ///< per thread, the caller first: its place
};

}  // namespace hone::runtime
