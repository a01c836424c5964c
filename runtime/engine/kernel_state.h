// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "include/hone/kernel.h"
#include "include/hone/param.h"
#include "jit/backend.h"
#include "jit/ir/nest.h"
#include "runtime/call/plan.h"
#include "runtime/engine/quick.h"
#include "runtime/engine/services.h"

namespace hone::runtime {

class Gpu;
struct GpuKernel;

/// One launch, ready to run.
struct LaunchPlan {
  Launch::Function function = nullptr;  ///< null: KernelState::executable runs `index`
  int index = 0;                        ///< in the nest
  int64_t fixed_extent = -1;            ///< -1: `extent` says
  ir::Expr extent;                      ///< over numbered dims
  bool parallel = false;
  std::vector<int> reads_params;  ///< parameters whose memory it touches
  std::vector<int> reads_bound;   ///< bound buffers, by their order
  std::vector<int> writes_bound;
};

/// A tensor that bind makes, kept for the calls.
struct BoundBuffer {
  int slot = 0;
  int64_t bytes = 0;
  std::string content;      ///< its content and order, as packing_text says
  bool call_reads = false;  ///< touched by some launch of a call; else packing alone needs it
};

/// A compiled problem: immutable once built.
struct KernelState {
  KernelState() = default;
  KernelState(const KernelState&) = delete;
  KernelState& operator=(const KernelState&) = delete;

  std::string problem, target, schedule, numerics;
  Source source = Source::kDefault;
  Report report;
  Entry entry;
  CallPlan plan;
  std::vector<Param> params;
  ir::ArgsLayout layout;
  QuickChecks quick;
  std::vector<LaunchPlan> launches;  ///< of a call, in order
  std::vector<LaunchPlan> packs;     ///< of bind, in order
  std::vector<BoundBuffer> bound;
  std::vector<bool> call_reads;  ///< per parameter: touched by some launch of a call
  bool has_constants = false;
  int64_t launch_workspace_bytes = 0;  ///< that the launches of a call share
  int64_t worker_bytes = 0;            ///< rounded up so that workers share no line
  ThreadPool* pool = nullptr;
  int workers = 1;  ///< threads of the pool
  std::shared_ptr<Services> services;
  std::shared_ptr<const jit::Executable> executable;
  std::shared_ptr<const GpuKernel> gpu;  ///< where it runs on a GPU
  /// The definition, where data is checked, to say what is wrong with it; else nothing.
  std::optional<ir::Program> definition;

  /// The public handle of a kernel.
  static Kernel handle(std::shared_ptr<const KernelState> state) {
    return Kernel(std::move(state));
  }
  /// Workspace of the launches and scratch of all workers.
  int64_t workspace_bytes() const;
  /// The same of calls on one thread.
  int64_t serial_workspace_bytes() const;
  KernelMemory memory(const BoundState* bound) const;
  Result<Done> call(std::span<const ArgRef> args, const CallOptions& options,
                    const BoundState* bound) const;
  Result<Done> call(std::span<const Arg> args, const CallOptions& options,
                    const BoundState* bound) const;
  /// Checks the arguments and fills all slots but status and workspace.
  Result<Done> fill(std::span<const ArgRef> args, const BoundState* bound, int64_t* slots) const;
  /// The part of it that also knows dims of the call and scalars, and says what is wrong.
  Result<Done> fill_slowly(std::span<const ArgRef> args, int64_t* slots) const;
  /// Runs all launches of a call on filled slots; `workspace` has workspace_bytes().
  Result<Done> run_all(int64_t* slots, std::byte* workspace, ThreadPool* pool) const;
  /// Runs one launch whole; `slots` are filled.
  Result<Done> run(const LaunchPlan& launch, const int64_t* slots, std::byte* scratch,
                   ThreadPool* pool) const;
  /// Puts a call into a stream of the GPU; see Kernel::enqueue.
  Result<Done> enqueue(std::span<const Arg> args, const EnqueueOptions& options,
                       const BoundState* bound) const;
  Result<Done> enqueue(std::span<const ArgRef> args, const EnqueueOptions& options,
                       const BoundState* bound) const;
  /// Waits for a stream; what became of the calls in it.
  Result<Done> wait(void* stream) const;
  /// A whole call on the GPU, on filled slots; `given`: workspace, or empty.
  Result<Done> call_on_gpu(int64_t* slots, std::span<std::byte> given) const;
  /// Enqueues the launches of a call on filled slots. The context is the calling thread's.
  Result<Done> enqueue_launches(const int64_t* slots, void* stream) const;
  /// Whether the tensors in `slots` are the device's.
  Result<Done> check_pointers(const int64_t* slots) const;
  /// `PROBLEM | TARGET | SCHEDULE`, for `hone run`.
  std::string repro() const { return problem + " | " + target + " | " + schedule; }
};

/// More arguments than a call can have.
Failure too_many_arguments(size_t count);

/// Whether `pointer` is to the memory of some GPU, for kernels on this one to tell.
bool is_device_memory(Gpu& gpu, const void* pointer);
/// `what` where `pointer` is not to the device's memory.
Result<Done> check_on_device(Gpu& gpu, const std::string& what, const void* pointer);

/// Memory that a bound constant owns, counted by the engine's ceiling.
struct BoundBlock {
  BoundBlock(std::shared_ptr<Services> services, int64_t bytes, void* data)
      : services_(std::move(services)), bytes_(bytes), data_(data) {}
  ~BoundBlock();
  BoundBlock(const BoundBlock&) = delete;
  BoundBlock& operator=(const BoundBlock&) = delete;
  void* data() const { return data_; }
  int64_t bytes() const { return bytes_; }

 private:
  std::shared_ptr<Services> services_;  ///< where they have a GPU, the memory is its own
  int64_t bytes_;
  void* data_;
};

/// What bind made so far; shared by the Bounds that grew from it.
struct BoundState {
  std::vector<bool> params;                    ///< per parameter: bound
  std::vector<bool> buffers;                   ///< per bound buffer: made
  std::vector<bool> packed;                    ///< per pack launch: run
  std::vector<std::pair<int, int64_t>> slots;  ///< values for the argument struct
  std::vector<std::shared_ptr<const BoundBlock>> blocks;
  int64_t bytes = 0;
  bool complete = false;
};

/// `base` with one more constant bound.
Result<std::shared_ptr<const BoundState>> bind_constant(const std::shared_ptr<const KernelState>& k,
                                                        const BoundState& base,
                                                        std::string_view name,
                                                        const TensorRef& tensor);

/// What `k` needs of the memory that was packed for `owner`; fails where the two pack differently.
Result<std::shared_ptr<const BoundState>> share_bound(const KernelState& k,
                                                      const KernelState& owner,
                                                      const BoundState& bound);

}  // namespace hone::runtime
