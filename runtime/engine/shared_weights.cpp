// SPDX-License-Identifier: Apache-2.0
#include "runtime/engine/shared_weights.h"

#include <utility>

namespace hone::runtime {

std::shared_ptr<const BoundState> SharedWeights::find(const Contents& contents,
                                                      const KernelState& kernel) {
  const std::lock_guard lock(mutex_);
  for (auto [at, end] = held_.equal_range(contents); at != end; ++at) {
    const auto owner = at->second.kernel.lock();
    const auto bound = at->second.bound.lock();
    if (!owner || !bound) continue;
    auto shared = share_bound(kernel, *owner, *bound);
    if (shared) return *std::move(shared);
  }
  return nullptr;
}

void SharedWeights::add(const Contents& contents, const std::shared_ptr<const KernelState>& kernel,
                        const std::shared_ptr<const BoundState>& bound) {
  const std::lock_guard lock(mutex_);
  std::erase_if(held_, [](const auto& h) { return h.second.bound.expired(); });
  held_.emplace(contents, Held{kernel, bound});
}

}  // namespace hone::runtime
