// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "hone/call.h"
#include "hone/entry.h"
#include "hone/error.h"
#include "hone/export.h"
#include "hone/kernel.h"
#include "hone/memory.h"
#include "hone/param.h"
#include "hone/report.h"
#include "hone/tensor.h"

namespace hone {

namespace runtime {
struct BoundState;
}  // namespace runtime

/// A kernel with constants bound; otherwise as a Kernel. Calls leave the bound tensors out.
class HONE_API Bound {
 public:
  /// Runs the kernel; see Kernel. Throws kArgument while a constant is still unbound.
  template <class... Args>
  void operator()(Args&&... args) const {
    Kernel::with_refs([&](std::span<const ArgRef> refs) { run_refs(refs); },
                      Kernel::to_arg(std::forward<Args>(args))...);
  }
  template <class... Args>
  Result<Done> try_call(Args&&... args) const {
    return Kernel::with_refs([&](std::span<const ArgRef> refs) { return try_run_refs(refs); },
                             Kernel::to_arg(std::forward<Args>(args))...);
  }
  void run(std::span<const Arg> args, const CallOptions& options = {}) const;
  Result<Done> try_run(std::span<const Arg> args, const CallOptions& options = {}) const;

  /// Puts a call into a stream of a GPU; see Kernel.
  template <class... Args>
  void enqueue(const EnqueueOptions& options, Args&&... args) const {
    Kernel::with_refs([&](std::span<const ArgRef> refs) { enqueue_refs(refs, options); },
                      Kernel::to_arg(std::forward<Args>(args))...);
  }
  template <class... Args>
  Result<Done> try_enqueue(const EnqueueOptions& options, Args&&... args) const {
    return Kernel::with_refs(
        [&](std::span<const ArgRef> refs) { return try_enqueue_refs(refs, options); },
        Kernel::to_arg(std::forward<Args>(args))...);
  }

  /// The same for arguments in a list.
  void enqueue_list(std::span<const Arg> args, const EnqueueOptions& options = {}) const;
  Result<Done> try_enqueue_list(std::span<const Arg> args,
                                const EnqueueOptions& options = {}) const;

  /// Binds one more constant; this Bound stays as it is.
  Bound bind(std::string_view name, const TensorRef& tensor) const;
  Result<Bound> try_bind(std::string_view name, const TensorRef& tensor) const;

  /// Takes all constants from what another kernel has bound instead of this one's; see Kernel.
  Bound bind(const Bound& packed) const { return kernel_.bind(packed); }
  Result<Bound> try_bind(const Bound& packed) const { return kernel_.try_bind(packed); }

  /// Waits until a stream is done; see Kernel.
  void wait(void* stream) const { kernel_.wait(stream); }
  Result<Done> try_wait(void* stream) const { return kernel_.try_wait(stream); }

  /// The same as of the kernel.
  std::span<const Param> params() const { return kernel_.params(); }
  const std::string& problem() const { return kernel_.problem(); }
  const std::string& target() const { return kernel_.target(); }
  const std::string& schedule() const { return kernel_.schedule(); }
  Source source() const { return kernel_.source(); }
  const std::string& numerics() const { return kernel_.numerics(); }
  const Report& report() const { return kernel_.report(); }
  std::span<const Launch> launches() const { return kernel_.launches(); }
  const Entry& entry() const { return kernel_.entry(); }
  int64_t extent(int index, const int64_t* args) const { return kernel_.extent(index, args); }
  int64_t workspace_size() const { return kernel_.workspace_size(); }
  /// Bytes that it takes, with the constants that are bound.
  KernelMemory memory() const;

  /// The kernel without its constants.
  const Kernel& kernel() const;
  /// Bytes that the bound constants take.
  int64_t bytes() const;
  /// Writes the slots of the bound constants into `args` (laid out as Entry::slots say), for
  /// callers of the raw functions. They stay valid as long as this Bound or a copy lives.
  void fill(int64_t* args) const;

 private:
  friend class Kernel;
  friend class DeviceGraph;
  void run_refs(std::span<const ArgRef> args) const;
  Result<Done> try_run_refs(std::span<const ArgRef> args) const;
  void enqueue_refs(std::span<const ArgRef> args, const EnqueueOptions& options) const;
  Result<Done> try_enqueue_refs(std::span<const ArgRef> args, const EnqueueOptions& options) const;

  explicit Bound(Kernel kernel, std::shared_ptr<const runtime::BoundState> state)
      : kernel_(std::move(kernel)), state_(std::move(state)) {}

  Kernel kernel_;
  std::shared_ptr<const runtime::BoundState> state_;
};

}  // namespace hone
