// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/check/device_mirror.h"
#include "runtime/check/fixture.h"
#include "runtime/engine/kernel_state.h"

namespace hone::runtime {

/// A kernel with the tensors of one fixture: constants bound, the rest as arguments. A kernel on a
/// GPU gets copies there. The fixture must outlive it.
class KernelCall {
 public:
  static Result<std::unique_ptr<KernelCall>> create(std::shared_ptr<const KernelState> kernel,
                                                    const Fixture& fixture);
  ~KernelCall();
  KernelCall(const KernelCall&) = delete;
  KernelCall& operator=(const KernelCall&) = delete;

  /// One call with all its checks; the fixture then has the outputs.
  Result<Done> call() const;
  /// Runs the launches `n` times as a caller of the raw entry would. On a GPU each run takes the
  /// next copy of the tensors, so that they do not stay in its cache. All runs are done on return.
  Result<Done> run(int64_t n) const;
  /// The same on a GPU, by the device's clock.
  Result<Done> run_timed(int64_t n, double* us) const;

 private:
  KernelCall(std::shared_ptr<const KernelState> kernel, const Fixture& fixture);

  Result<Done> prepare();
  Result<Done> place_on_gpu(const Fixture& fixture);

  std::shared_ptr<const KernelState> kernel_;
  const Fixture* fixture_;
  mutable std::optional<DeviceMirror> mirror_;
  mutable std::vector<std::vector<int64_t>> copies_;  ///< slots per copy, on a GPU
  std::vector<Arg> args_;
  std::vector<ArgRef> refs_;  ///< to args_
  std::vector<std::pair<std::string, TensorRef>> constants_;
  std::shared_ptr<const BoundState> bound_;
  std::byte* workspace_ = nullptr;
  uint64_t device_workspace_ = 0;
  mutable int64_t slots_[kMaxSlots] = {};
};

}  // namespace hone::runtime
