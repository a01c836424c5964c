// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/engine/content_hash.h"
#include "runtime/engine/kernel_state.h"

namespace hone::runtime {

/// Constants that are bound to kernels, while somebody holds them: a kernel that packs the same
/// ones alike takes them over. For several threads.
class SharedWeights {
 public:
  /// The constants of a kernel, in its order.
  using Contents = std::vector<ContentHash>;

  /// The constants bound for `kernel` out of what there is; null: nobody has them packed like that.
  std::shared_ptr<const BoundState> find(const Contents& contents, const KernelState& kernel);
  /// `bound` has all constants of `kernel`.
  void add(const Contents& contents, const std::shared_ptr<const KernelState>& kernel,
           const std::shared_ptr<const BoundState>& bound);

 private:
  struct Held {
    std::weak_ptr<const KernelState> kernel;
    std::weak_ptr<const BoundState> bound;
  };
  std::mutex mutex_;
  std::multimap<Contents, Held> held_;
};

}  // namespace hone::runtime
