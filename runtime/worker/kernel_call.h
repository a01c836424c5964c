// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/engine/kernel_state.h"
#include "runtime/worker/fixture.h"

namespace hone::runtime {

/// A kernel with the tensors of one fixture: constants bound, the rest as arguments. The fixture
/// must outlive it.
class KernelCall {
 public:
  static Result<std::unique_ptr<KernelCall>> create(std::shared_ptr<const KernelState> kernel,
                                                    const Fixture& fixture);
  ~KernelCall();
  KernelCall(const KernelCall&) = delete;
  KernelCall& operator=(const KernelCall&) = delete;

  /// One call with all its checks.
  Failure call() const { return kernel_->call(refs_, {}, bound_.get()); }
  /// Runs the launches `n` times as a caller of the raw entry would.
  Failure run(int64_t n) const;

 private:
  KernelCall(std::shared_ptr<const KernelState> kernel, const Fixture& fixture);

  std::shared_ptr<const KernelState> kernel_;
  std::vector<Arg> args_;
  std::vector<ArgRef> refs_;  ///< to args_
  std::vector<std::pair<std::string, TensorRef>> constants_;
  std::shared_ptr<const BoundState> bound_;
  std::byte* workspace_ = nullptr;
  mutable int64_t slots_[kMaxSlots] = {};
};

}  // namespace hone::runtime
