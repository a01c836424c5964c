// SPDX-License-Identifier: Apache-2.0
// Calls of kernels on a GPU. Enqueueing is one call of the driver a launch, and one to see whose
// context the thread has. There is one more for each tensor map that the call before has not left.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "runtime/engine/gpu_kernel.h"
#include "runtime/engine/kernel_state.h"
#include "runtime/fine.h"

namespace hone::runtime {
namespace {

// Pointer attributes by their numbers in the driver's ABI.
// Fixed by: the driver's ABI.
constexpr int kMemoryType = 2;
constexpr int kDeviceOrdinal = 9;
constexpr unsigned kOnDevice = 2;

/// What the driver says of the default stream while others are captured.
/// Fixed by: the driver's ABI.
constexpr int kImplicitCapture = 906;

/// The handle of the per-thread default stream: one for all threads.
constexpr uintptr_t kStreamOfThread = 2;

std::span<const int64_t> dims_of(const KernelState& k, const int64_t* slots) {
  return {slots + (k.layout.dim_slots.empty() ? 0 : k.layout.dim_slots[0]), k.plan.dims.size()};
}

/// Workspace for one call: the caller's, or a block of the pool for work in a stream.
class GpuWorkspace {
 public:
  GpuWorkspace(Gpu& gpu, int64_t bytes, std::span<std::byte> given, void* stream)
      : gpu_(gpu), bytes_(bytes), stream_(stream) {
    if (bytes == 0) return;
    if (!given.empty()) {
      data_ = reinterpret_cast<uint64_t>(given.data());
      return;
    }
    auto block = gpu.memory().take(bytes, stream);
    if (!block) {
      made_ = block.failure();
      return;
    }
    data_ = *block;
    owned_ = true;
  }
  ~GpuWorkspace() {
    if (owned_) gpu_.memory().give(data_, bytes_, stream_);
  }
  GpuWorkspace(const GpuWorkspace&) = delete;
  GpuWorkspace& operator=(const GpuWorkspace&) = delete;
  uint64_t data() const { return data_; }
  /// Why there is none.
  const Result<Done>& made() const { return made_; }

 private:
  Gpu& gpu_;
  int64_t bytes_;
  void* stream_;
  uint64_t data_ = 0;
  bool owned_ = false;
  Result<Done> made_ = Done{};
};

Failure bad_data_gpu_call(const KernelState& k, int64_t position) {
  std::string tensors;
  for (const std::string& t : k.plan.checked) tensors += (tensors.empty() ? "" : " or ") + t;
  return {
      ErrorCode::kBounds,
      fmt::format("`{}`: element {} of {} is out of range, or decreases where offsets must not; "
                  "what depends on it was not written",
                  k.problem, position, tensors)};
}

/// The context of the calling thread, or why there is none to work in.
Result<Done> ready(Gpu& gpu, const UseGpu& use) {
  if (gpu.lost()) return gpu.why_lost();
  return use.error() == 0 ? fine() : gpu.failed(use.error(), "using the GPU's context");
}

Result<Done> check_workspace(const KernelState& k, std::span<std::byte> given) {
  const int64_t bytes = k.workspace_bytes();
  const bool aligned = reinterpret_cast<uintptr_t>(given.data()) % 64 == 0;
  if (given.empty() || (static_cast<int64_t>(given.size()) >= bytes && aligned)) return Done{};
  return Failure{
      ErrorCode::kArgument,
      fmt::format("`{}` takes {} bytes of workspace on the device, 64-byte aligned; got {} at {}",
                  k.problem, bytes, given.size(), static_cast<const void*>(given.data()))};
}

bool is_of_thread(void* stream) { return reinterpret_cast<uintptr_t>(stream) == kStreamOfThread; }

/// Whether the kernel has a status word for a stream.
Result<Done> check_worded(const KernelState& k, void* stream) {
  if (!k.gpu->words || !is_of_thread(stream)) return Done{};
  return Failure{
      ErrorCode::kArgument,
      fmt::format("`{}` checks data, and the per-thread default stream is another one in each "
                  "thread, where calls would share one status word; give a status word, or a "
                  "stream",
                  k.problem)};
}

/// Whether a call in `stream` may take its workspace from the pool.
Result<Done> check_pooled(const KernelState& k, void* stream) {
  const auto refuse = [&](const char* why) {
    return Failure{ErrorCode::kArgument, fmt::format("`{}` takes {} bytes of workspace, and {}",
                                                     k.problem, k.workspace_bytes(), why)};
  };
  if (is_of_thread(stream)) {
    return refuse(
        "the per-thread default stream is another one in each thread; give a workspace, or a "
        "stream");
  }
  Gpu& gpu = k.gpu->gpu();
  int capturing = 0;
  const int error = gpu.driver().stream_capturing(stream, &capturing);
  if (error != 0 && error != kImplicitCapture) return gpu.failed(error, "asking about a stream");
  if (error == 0 && capturing == 0) return Done{};
  return refuse(
      "the stream is being captured: when its graph runs, the pool may have given the memory to "
      "another call; give a workspace that lives as long as the graph");
}

}  // namespace

Result<Done> check_on_device(Gpu& gpu, const std::string& what, const void* pointer) {
  if (gpu.facts().reads_host) return Done{};
  const auto address = reinterpret_cast<uint64_t>(pointer);
  unsigned type = 0;
  const auto wrong = [&](const std::string& why) {
    return Failure{ErrorCode::kArgument, fmt::format("{}: the pointer {} {}", what, pointer, why)};
  };
  if (gpu.driver().pointer_attribute(&type, kMemoryType, address) != 0 || type == 0) {
    return wrong(
        "is to the host's memory; a kernel on a GPU takes pointers to the device's, as "
        "DeviceBuffer or cudaMalloc give them");
  }
  int ordinal = gpu.facts().ordinal;
  const int error = gpu.driver().pointer_attribute(&ordinal, kDeviceOrdinal, address);
  if (type != kOnDevice || error != 0 || ordinal == gpu.facts().ordinal) return Done{};
  return wrong(fmt::format("is to memory of GPU {}; this engine works on GPU {}", ordinal,
                           gpu.facts().ordinal));
}

Result<Done> KernelState::check_pointers(const int64_t* slots) const {
  for (size_t i = 0; i < plan.params.size(); ++i) {
    const ParamPlan& p = plan.params[i];
    const auto* pointer = reinterpret_cast<const void*>(slots[layout.tensor_slots[i]]);
    if (p.constant || !pointer) continue;
    if (auto f = check_on_device(gpu->gpu(), p.text, pointer); !f) {
      return f.failure();
    }
  }
  return Done{};
}

Result<Done> KernelState::enqueue_launches(const int64_t* slots, void* stream) const {
  const auto dims = dims_of(*this, slots);
  // A call with a grid past the device's limits leaves everything as it was. What the driver
  // refuses of a launch or of its tensor maps comes after the launches before it.
  for (const LaunchPlan& launch : launches) {
    const auto index = static_cast<size_t>(launch.index);
    std::array<int64_t, 3> blocks;
    if (!gpu->program->blocks_of(index, dims, &blocks)) {
      return gpu->program->too_many(index, blocks);
    }
  }
  for (const LaunchPlan& launch : launches) {
    auto f = executable->run(static_cast<size_t>(launch.index), slots, {.stream = stream});
    if (!f) return Failure{f.failure().code, f.failure().message + "\n  " + repro()};
  }
  return Done{};
}

Result<Done> KernelState::enqueue(std::span<const Arg> args, const EnqueueOptions& options,
                                  const BoundState* bound_state) const {
  if (args.size() > kMaxSlots) return too_many_arguments(args.size());
  std::array<ArgRef, kMaxSlots> refs;
  return enqueue(refer(args, refs), options, bound_state);
}

Result<Done> KernelState::enqueue(std::span<const ArgRef> args, const EnqueueOptions& options,
                                  const BoundState* bound_state) const {
  if (!gpu) {
    return Failure{ErrorCode::kUnsupported,
                   fmt::format("`{}` was compiled for {}; only kernels on a GPU can be enqueued",
                               problem, target)};
  }
  int64_t slots[kMaxSlots];
  if (auto f = fill(args, bound_state, slots); !f) return f.failure();
  if (auto f = check_workspace(*this, options.workspace); !f) return f.failure();
  if (!options.status) {
    if (auto f = check_worded(*this, options.stream); !f) return f.failure();
  }
  Gpu& device = gpu->gpu();
  const UseGpu use(device);
  if (auto f = ready(device, use); !f) return f.failure();
  if (workspace_bytes() > 0 && options.workspace.empty()) {
    if (auto f = check_pooled(*this, options.stream); !f) return f.failure();
  }
  const GpuWorkspace workspace(device, workspace_bytes(), options.workspace, options.stream);
  if (!workspace.made()) return workspace.made();
  slots[ir::ArgsLayout::kStatus] = static_cast<int64_t>(
      options.status ? reinterpret_cast<uint64_t>(options.status) : gpu->status(options.stream));
  slots[ir::ArgsLayout::kWorkspace] = static_cast<int64_t>(workspace.data());
  return enqueue_launches(slots, options.stream);
}

Result<Done> KernelState::wait(void* stream) const {
  if (!gpu) return Done{};
  Gpu& device = gpu->gpu();
  const UseGpu use(device);
  if (auto f = ready(device, use); !f) return f.failure();
  const jit::CudaDriver& driver = device.driver();
  // Words that may tell of calls in this stream.
  const StatusWords* const words = gpu->words.get();
  uint64_t at[2] = {};
  size_t count = 0;
  if (words) at[count++] = words->of(stream);
  if (words && words->shares() && words->shared() != at[0]) at[count++] = words->shared();
  int64_t status[2] = {kFine, kFine};
  int error = 0;
  for (size_t i = 0; i < count && error == 0; ++i) {
    error = driver.to_host_on(&status[i], at[i], sizeof status[i], stream);
  }
  if (error == 0) error = driver.stream_synchronize(stream);
  for (size_t i = 0; i < count && error == 0; ++i) {
    if (status[i] == kFine) continue;
    error = driver.copy_on(at[i], device.fine(), sizeof status[i], stream);
    if (error == 0) error = driver.stream_synchronize(stream);
  }
  if (error != 0) {
    Failure f = device.failed(error, "running a kernel");
    f.message += "\n  " + repro();
    return f;
  }
  const int64_t first = std::min(status[0], status[1]);
  return first == kFine ? fine() : bad_data_gpu_call(*this, first);
}

Result<Done> KernelState::call_on_gpu(int64_t* slots, std::span<std::byte> given) const {
  if (auto f = check_workspace(*this, given); !f) return f.failure();
  Gpu& device = gpu->gpu();
  const UseGpu use(device);
  if (auto f = ready(device, use); !f) return f.failure();
  if (auto f = check_pointers(slots); !f) return f.failure();
  void* const stream = device.stream();
  const jit::CudaDriver& driver = device.driver();
  // Calls of several threads share the stream, so each has a status word of its own.
  const int64_t own = gpu->words ? 64 : 0;
  const GpuWorkspace workspace(device, workspace_bytes(), given, stream);
  const GpuWorkspace word(device, own, {}, stream);
  for (const GpuWorkspace* w : {&workspace, &word}) {
    if (!w->made()) return w->made();
  }
  slots[ir::ArgsLayout::kStatus] = static_cast<int64_t>(gpu->words ? word.data() : device.fine());
  slots[ir::ArgsLayout::kWorkspace] = static_cast<int64_t>(workspace.data());
  int64_t status = kFine;
  int error = 0;
  if (gpu->words) error = driver.copy_on(word.data(), device.fine(), sizeof status, stream);
  if (error == 0) {
    if (auto f = enqueue_launches(slots, stream); !f) return f.failure();
  }
  if (error == 0 && gpu->words) {
    error = driver.to_host_on(&status, word.data(), sizeof status, stream);
  }
  if (error == 0) error = driver.stream_synchronize(stream);
  if (error != 0) {
    Failure f = device.failed(error, "running a kernel");
    f.message += "\n  " + repro();
    return f;
  }
  return status == kFine ? fine() : bad_data_gpu_call(*this, status);
}

}  // namespace hone::runtime
