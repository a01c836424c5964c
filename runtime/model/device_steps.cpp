// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/device_steps.h"

#include "runtime/fine.h"

namespace hone::runtime {

Result<Done> DeviceSteps::fill(size_t step, int64_t* slots) const {
  const ModelCall& s = steps()[step];
  const StepArguments args(call_, s, place_.block);
  if (auto f = s.kernel->fill(args.refs(), s.bound.get(), slots); !f) return f.failure();
  const int word = words_[step];
  const uint64_t status =
      word < 0 ? gpu_.fine() : place_.words + static_cast<size_t>(word) * place_.words_apart;
  slots[ir::ArgsLayout::kStatus] = static_cast<int64_t>(status);
  slots[ir::ArgsLayout::kWorkspace] =
      reinterpret_cast<int64_t>(place_.block + call_.model().memory.values);
  return fine();
}

Result<Done> DeviceSteps::enqueue() const {
  for (size_t i = 0; i < steps().size(); ++i) {
    int64_t slots[kMaxSlots];
    if (auto f = fill(i, slots); !f) return f.failure();
    auto f = steps()[i].kernel->enqueue_launches(slots, place_.stream);
    if (!f) return f.failure();
  }
  return fine();
}

}  // namespace hone::runtime
