// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "hone/dtype.h"
#include "hone/error.h"
#include "hone/export.h"
#include "hone/memory.h"
#include "hone/param.h"
#include "hone/tensor.h"
#include "hone/thread_pool.h"

namespace hone {

namespace runtime {
struct KernelState;
struct BoundState;
}  // namespace runtime

/// Where the schedule of a kernel came from.
enum class Source : uint8_t {
  kGiven,        ///< by the caller
  kTuned,        ///< a record of this problem and this context
  kTransferred,  ///< the record of a near problem or context, adapted
  kDefault,      ///< derived from the problem's structure, without measuring
};

/// given, tuned, transferred or default.
HONE_API std::string_view name_of(Source source);

/// One launch of a kernel: `fn(args, begin, end, scratch)` runs any sub-range of [0, extent).
/// Launches run in order, each whole before the next.
struct Launch {
  /// `scratch` is 64-byte aligned and holds Entry::scratch_bytes; two concurrent calls need two.
  using Function = void (*)(const int64_t* args, int64_t begin, int64_t end, void* scratch);

  std::string name;
  Function function = nullptr;  ///< null where the interpreter serves, or a GPU
  int64_t extent = 0;     ///< -1 where it depends on a dim known at the call: Kernel::extent says
  bool parallel = false;  ///< sub-ranges may run at the same time
  bool at_bind = false;   ///< packs a constant: run by bind, not by a call
};

/// What the 8-byte slot of a kernel's argument struct holds.
struct Slot {
  enum Kind : uint8_t {
    kStatus,     ///< pointer to an int64 that is INT64_MAX before the call; after it, the lowest
                 ///< bad position if the data was bad (an index out of range, decreasing offsets)
    kWorkspace,  ///< pointer to Entry::workspace_bytes, 64-byte aligned; null if 0
    kTensor,     ///< pointer to the first element of tensor `name`
    kBound,      ///< pointer to what bind packed; Bound::slots gives the values
    kDim,        ///< int64: the dim `name`
    kStride,     ///< int64: the stride `name`, in elements
    kScalar,     ///< the value's bits, in the low bytes
  };
  Kind kind = kTensor;
  std::string name;
  DType type = DType::kI64;
};

/// A kernel for callers to whom 15 ns matter: they fill the slots and run the launches themselves.
/// Nothing is checked.
struct Entry {
  std::vector<Launch> launches;
  std::vector<Slot> slots;
  int64_t workspace_bytes = 0;  ///< of one call, shared by its launches
  int64_t scratch_bytes = 0;    ///< of one worker
};

/// Facts about the generated code.
struct Report {
  int instructions = 0;
  int spills = 0;        ///< registers kept in memory somewhere
  int inner_spills = 0;  ///< of those, in an innermost loop
  int64_t code_bytes = 0;
  int64_t workspace_bytes = 0;                           ///< see Kernel::workspace_size
  double build_us = 0, schedule_us = 0, compile_us = 0;  ///< text to kernel; of it Halide's parts
  bool interpreted = false;  ///< no machine code: the interpreter serves
};

/// One argument of a call: a tensor or a scalar.
using Arg = std::variant<TensorRef, ScalarArg>;

/// An argument where it lies, for the time of a call: operator() makes these of what it is given.
class ArgRef {
 public:
  ArgRef() = default;
  ArgRef(const TensorRef& tensor) : value_(&tensor), tensor_(true) {}  // NOLINT: implicit
  ArgRef(const ScalarArg& scalar) : value_(&scalar) {}                 // NOLINT: implicit
  /// The tensor; null for a scalar.
  const TensorRef* tensor() const {
    return tensor_ ? static_cast<const TensorRef*>(value_) : nullptr;
  }
  /// The scalar, where it is one.
  const ScalarArg& scalar() const { return *static_cast<const ScalarArg*>(value_); }

 private:
  const void* value_ = nullptr;
  bool tensor_ = false;
};

/// How one call runs; all optional.
struct CallOptions {
  /// Memory of at least workspace_size() bytes, 64-byte aligned; empty: from the engine's pool.
  std::span<std::byte> workspace = {};
  /// Runs the launches on the calling thread alone.
  bool serial = false;
};

/// How one call on a GPU is put into a stream; all optional. Memory is the device's.
struct EnqueueOptions {
  /// A stream of the driver (CUstream, cudaStream_t); null: the default one.
  void* stream = nullptr;
  /// Memory of at least workspace_size() bytes, 64-byte aligned, that is the call's until it is
  /// done; empty: from the engine's pool, as memory of the stream. A stream that was not made by
  /// Device::stream must then be done before it is destroyed, and one that is being captured is
  /// refused: what its graph runs on has to live as long as the graph.
  std::span<std::byte> workspace = {};
  /// An int64 that holds INT64_MAX, where the kernel checks data: afterwards the lowest bad
  /// position, and calls with this word do nothing until the caller has set it back himself, which
  /// `wait` does not. Null: a word that the kernel keeps for the stream, which `wait` looks at and
  /// sets back. The first 63 streams that a kernel is used in have their own; the others share one,
  /// as all graphs do: bad data there stops all calls that share it until a `wait`, and the first
  /// `wait` takes the report for all of them, so that those after it say nothing of it. A word
  /// outlives its stream: call `wait` before a stream is destroyed, since a later one may get the
  /// same handle, and the old report with it. The per-thread default stream is another one in each
  /// thread under one handle, so kernels that check data take it only with a word of the caller's.
  int64_t* status = nullptr;
};

class Bound;
class DeviceGraph;

/// A compiled problem. A cheap handle, safe to copy and to call from any thread at the same time;
/// it keeps its code alive, also past the engine's end.
class HONE_API Kernel {
 public:
  /// Runs the kernel. Tensors and scalars each in the order of the op's parameters; of a kernel on
  /// a GPU, in the device's memory: it then waits until the results are there. Checks dtypes,
  /// shapes, strides, alignment, null pointers and overlap of outputs with other tensors, and
  /// takes dims known at the call from the shapes. Allocates nothing in the steady state.
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

  /// Puts a call of a kernel on a GPU into a stream and returns at once: no allocation in the
  /// steady state, no waiting, a call of the driver for each launch. A launch that takes tensor
  /// maps makes them by one more call each, unless the tensors and dims are those of the call
  /// before. Pointers are the device's and are not looked at, beyond their alignment. Where data
  /// was bad, later calls with that status word do nothing until it is set back:
  /// EnqueueOptions::status says by whom. Throws Error: kArgument, kMemory, kDevice; kUnsupported
  /// on a CPU.
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

  /// Waits until a stream is done. Throws what became of this kernel's calls in it: kBounds where
  /// data was bad, in this stream or in one or a graph that shares its status word; kDevice
  /// where the GPU failed. What it throws of data is told once: it sets the words back.
  void wait(void* stream) const;
  Result<Done> try_wait(void* stream) const;

  /// Copies or packs the constant parameter `name` (`const=` in the problem) once; calls then
  /// leave it out. The Bound owns what it packed. On a GPU all of that is in the device's memory.
  Bound bind(std::string_view name, const TensorRef& tensor) const;
  Result<Bound> try_bind(std::string_view name, const TensorRef& tensor) const;

  /// Takes the constants that another kernel has bound, without packing them again: both then use
  /// the same memory. Throws kArgument where this kernel wants them in another layout.
  Bound bind(const Bound& packed) const;
  Result<Bound> try_bind(const Bound& packed) const;

  /// What it takes, in the op's order: tensors and scalars of calls, and constants for bind.
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
  /// Bytes of workspace that a call takes: its own and that of every worker. See memory().
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
