// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

namespace hone::runtime {

/// What a step takes: cycles by the estimate, and memory.
struct StepCost {
  double shared = 0;  ///< cycles, with its iterations over all threads
  double alone = 0;   ///< cycles on one thread
  double bytes = 0;   ///< of its results
};

/// What steps of a wave run on.
struct WaveRoom {
  int threads = 1;
  double bytes = 0;  ///< what a wave makes in all, at most
};

/// Steps in the order in which they run. Those of a wave need nothing of one another.
using Waves = std::vector<std::vector<int>>;

/// Has steps run at the same time, each on one thread, where that should be faster than one after
/// the other over all threads. Neighbours in a wave are for one thread, as far as that is even.
///
/// `needs` has for each step the ones before it by which its arguments are made. A step is taken
/// ahead of others for a wave alone. `cost` is asked once for each step that could be in one.
Waves form_waves(const std::vector<std::vector<int>>& needs,
                 const std::function<StepCost(int)>& cost, const WaveRoom& room);

}  // namespace hone::runtime
