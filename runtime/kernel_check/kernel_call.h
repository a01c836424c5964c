// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/check/operands.h"
#include "runtime/engine/kernel_state.h"
#include "runtime/machine/evict.h"

namespace hone::runtime {

/// A launch with all that it takes, for a caller who does nothing else.
struct RawLaunch {
  Launch::Function function = nullptr;
  const int64_t* slots = nullptr;
  int64_t extent = 0;
  void* scratch = nullptr;
  void operator()() const { function(slots, 0, extent, scratch); }
};

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
  /// The launches of a call as a caller of the raw entry makes them on one thread. `status` takes
  /// the status word, and must outlive them. Empty where something else runs them: a pool, an
  /// interpreter, a GPU.
  std::vector<RawLaunch> raw_launches(int64_t* status);
  /// The same on other tensors of the same shapes and strides; `slots`, which must outlive them,
  /// takes what the launches read. Constants are those that are bound.
  std::vector<RawLaunch> raw_launches(int64_t* status, std::span<const jit::TensorView> params,
                                      std::vector<int64_t>* slots);
  /// Memory of the host that bind has packed or copied of the parameters marked in `params`.
  std::vector<MemorySpan> packed_of(const std::vector<bool>& params) const;
  /// Times of one of those runs, as Site::sample says.
  Result<Samples> sample(const SampleOptions& options, const std::function<void()>& between) const;

 private:
  explicit KernelCall(std::shared_ptr<const KernelState> kernel) : kernel_(std::move(kernel)) {}

  Result<Done> prepare(const Fixture& fixture);
  Result<Done> take_workspace();
  void fill_copies();
  Result<Done> begin(int64_t n) const;

  std::shared_ptr<const KernelState> kernel_;
  std::unique_ptr<Site> site_;
  std::optional<Operands> operands_;
  std::unique_ptr<Block> device_workspace_;
  std::vector<std::vector<int64_t>> copies_;  ///< slots per copy, on a GPU
  std::vector<Arg> args_;
  std::vector<ArgRef> refs_;  ///< to args_
  std::vector<std::pair<std::string, TensorRef>> constants_;
  std::shared_ptr<const BoundState> bound_;
  std::byte* workspace_ = nullptr;
  mutable int64_t slots_[kMaxSlots] = {};
};

}  // namespace hone::runtime
