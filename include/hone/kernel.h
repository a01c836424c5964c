// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "hone/call.h"
#include "hone/entry.h"
#include "hone/error.h"
#include "hone/export.h"
#include "hone/memory.h"
#include "hone/param.h"
#include "hone/report.h"
#include "hone/tensor.h"
#include "hone/thread_pool.h"

namespace hone {

namespace runtime {
struct KernelState;
}  // namespace runtime

class Bound;
class DeviceGraph;

/// A compiled problem. A cheap handle, safe to copy and to call from any thread at the same time.
/// It keeps its code alive, also past the engine's end.
class HONE_API Kernel {
 public:
  /// Runs the kernel. Tensors and scalars come in the order of the op's parameters. A kernel on a
  /// GPU takes tensors in the device's memory, and waits until the results are there. Checks
  /// dtypes, shapes, strides, alignment, null pointers and overlap of outputs with other tensors,
  /// and takes dims known at the call from the shapes. Allocates nothing in the steady state.
  /// Throws Error: kArgument, kBounds (an index in the data is out of range), kMemory.
  template <class... Args>
  void operator()(Args&&... args) const {
    with_refs([&](std::span<const ArgRef> refs) { run_refs(refs); },
              to_arg(std::forward<Args>(args))...);
  }

  /// The same without exceptions.
  template <class... Args>
  Result<Done> try_call(Args&&... args) const {
    return with_refs([&](std::span<const ArgRef> refs) { return try_run_refs(refs); },
                     to_arg(std::forward<Args>(args))...);
  }

  /// The same for arguments in a list.
  void run(std::span<const Arg> args, const CallOptions& options = {}) const;
  Result<Done> try_run(std::span<const Arg> args, const CallOptions& options = {}) const;

  /// Puts a call of a kernel on a GPU into a stream and returns at once. In the steady state it
  /// allocates nothing, and calls the driver once for each launch. A launch that takes tensor maps
  /// makes them by one more call each, unless the tensors and dims are those of the call before.
  /// Pointers are the device's and are not looked at, beyond their alignment. Where data was bad,
  /// later calls with that status word do nothing until it is set back: EnqueueOptions::status says
  /// by whom. Throws Error: kArgument, kMemory, kDevice; kUnsupported on a CPU.
  template <class... Args>
  void enqueue(const EnqueueOptions& options, Args&&... args) const {
    with_refs([&](std::span<const ArgRef> refs) { enqueue_refs(refs, options); },
              to_arg(std::forward<Args>(args))...);
  }
  template <class... Args>
  Result<Done> try_enqueue(const EnqueueOptions& options, Args&&... args) const {
    return with_refs([&](std::span<const ArgRef> refs) { return try_enqueue_refs(refs, options); },
                     to_arg(std::forward<Args>(args))...);
  }

  /// The same for arguments in a list.
  void enqueue_list(std::span<const Arg> args, const EnqueueOptions& options = {}) const;
  Result<Done> try_enqueue_list(std::span<const Arg> args,
                                const EnqueueOptions& options = {}) const;

  /// Waits until a stream is done. Throws the errors of this kernel's calls in it. kBounds: data
  /// was bad in this stream, or in a stream or graph that shares its status word; kDevice: the GPU
  /// failed. Bad data is told once, since this sets the words back.
  void wait(void* stream) const;
  Result<Done> try_wait(void* stream) const;

  /// Copies or packs the constant parameter `name` (`const=` in the problem) once; calls then
  /// leave it out. The Bound owns the packed copy. On a GPU all of that is in the device's memory.
  Bound bind(std::string_view name, const TensorRef& tensor) const;
  Result<Bound> try_bind(std::string_view name, const TensorRef& tensor) const;

  /// Takes the constants that another kernel has bound, without packing them again: both then use
  /// the same memory. Throws kArgument where this kernel wants them in another layout.
  Bound bind(const Bound& packed) const;
  Result<Bound> try_bind(const Bound& packed) const;

  /// Its parameters, in the op's order: tensors and scalars of calls, and constants for bind.
  std::span<const Param> params() const;
  /// Bytes that it takes; constants are those of a Bound.
  KernelMemory memory() const;
  /// Canonical text of the problem, the target and the schedule.
  const std::string& problem() const;
  const std::string& target() const;
  const std::string& schedule() const;
  /// Where the schedule came from.
  Source source() const;
  /// The numerics class: what fixes the bits of the result.
  const std::string& numerics() const;
  /// Counts of the generated code.
  const Report& report() const;
  /// The launches, in order.
  std::span<const Launch> launches() const;
  /// Raw functions and the layout of their arguments.
  const Entry& entry() const;
  /// Extent of launch `index` under the dims in `args` (laid out as Entry::slots say).
  int64_t extent(int index, const int64_t* args) const;
  /// Bytes of workspace that a call takes, with the scratch of every worker. See memory().
  int64_t workspace_size() const;

 private:
  friend class Engine;
  friend class Bound;
  friend class DeviceGraph;
  friend struct runtime::KernelState;
  explicit Kernel(std::shared_ptr<const runtime::KernelState> state) : state_(std::move(state)) {}

  /// The tensor or the scalar that an argument is: as it stands, or made of it.
  template <class T>
  static decltype(auto) to_arg(T&& value) {
    using Value = std::remove_cvref_t<T>;
    if constexpr (std::is_same_v<Value, TensorRef> || std::is_same_v<Value, ScalarArg>) {
      return static_cast<const Value&>(value);
    } else if constexpr (std::is_arithmetic_v<Value>) {
      return ScalarArg(value);
    } else {
      return TensorRef(std::forward<T>(value));
    }
  }
  template <class Call, class... Values>
  static auto with_refs(const Call& call, const Values&... values) {
    const std::array<ArgRef, sizeof...(Values)> refs{ArgRef(values)...};
    return call(refs);
  }
  void run_refs(std::span<const ArgRef> args) const;
  Result<Done> try_run_refs(std::span<const ArgRef> args) const;
  void enqueue_refs(std::span<const ArgRef> args, const EnqueueOptions& options) const;
  Result<Done> try_enqueue_refs(std::span<const ArgRef> args, const EnqueueOptions& options) const;

  std::shared_ptr<const runtime::KernelState> state_;
};

}  // namespace hone

// Kernel::bind returns a Bound, which is made of a Kernel: who includes one header finds both.
#include "hone/bound.h"
