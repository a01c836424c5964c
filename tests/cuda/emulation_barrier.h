// SPDX-License-Identifier: Apache-2.0
// mbarriers, and the copies that they count.
#pragma once

#include <map>

#include "tests/cuda/emulation_place.h"

namespace emulation {

/// mbarrier: a phase is complete when as many arrived as it counts and all expected bytes landed.
struct Barrier {
  std::string name;
  Agent agent = 0;  ///< of the copies that it counts: their epoch is the phase's number + 1
  uint32_t count = 0, missing = 0;
  int64_t bytes = 0;                ///< expected and not yet there
  uint32_t phases = 0;              ///< complete ones
  Epoch made;                       ///< when it was initialized
  bool announced = false;           ///< to what works beside the threads
  Gathering gathering;              ///< what those who arrived know
  Message message;                  ///< what all of the phases before knew
  std::map<Agent, int64_t> waited;  ///< the last phase that each thread waited for

  void complete_if_all_there();
  std::string state() const;
};

/// Starts a copy of `bytes` to the same place in several blocks, of what `fill` will say.
void start_copy(const std::vector<Block*>& blocks, uint32_t to, uint32_t barrier, uint32_t bytes,
                const std::function<void(Arena&)>& fill);

/// The blocks that a copy goes to: those of the mask, or without one the target's own.
std::vector<Block*> targets(uint32_t to, uint32_t barrier, uint32_t mask);

}  // namespace emulation
