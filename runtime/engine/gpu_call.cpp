// SPDX-License-Identifier: Apache-2.0
// Calls of kernels on a GPU. Enqueueing is one call of the driver a launch, and one to see whose
// context the thread has. There is one more for each tensor map that the call before has not left.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "runtime/engine/gpu_kernel.h"
#include "runtime/engine/gpu_stream.h"
#include "runtime/engine/kernel_state.h"
#include "runtime/fine.h"

namespace hone::runtime {
namespace {

// Pointer attributes by their numbers in the driver's ABI.
// Fixed by: the driver's ABI.
constexpr int kMemoryType = 2;
constexpr int kDeviceOrdinal = 9;
constexpr unsigned kOnDevice = 2;

std::span<const int64_t> dims_of(const KernelState& k, const int64_t* slots) {
  return {slots + (k.layout.dim_slots.empty() ? 0 : k.layout.dim_slots[0]), k.plan.dims.size()};
}

}  // namespace

bool is_device_memory(Gpu& gpu, const void* pointer) {
  unsigned type = 0;
  const auto address = reinterpret_cast<uint64_t>(pointer);
  return gpu.driver().pointer_attribute(&type, kMemoryType, address) == 0 && type == kOnDevice;
}

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
  const int64_t bytes = workspace_bytes();
  if (auto f = check_workspace(problem, bytes, options.workspace); !f) return f.failure();
  if (gpu->words && !options.status) {
    if (auto f = check_worded(problem, options.stream); !f) return f.failure();
  }
  Gpu& device = gpu->gpu();
  const UseGpu use(device);
  if (auto f = ready(device, use); !f) return f.failure();
  if (bytes > 0 && options.workspace.empty()) {
    if (auto f = check_pooled(device, problem, bytes, options.stream); !f) return f.failure();
  }
  const GpuWorkspace workspace(device, bytes, options.workspace, options.stream);
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
  return first == kFine ? fine() : bad_data_on_gpu(*this, first);
}

Result<Done> KernelState::call_on_gpu(int64_t* slots, std::span<std::byte> given) const {
  if (auto f = check_workspace(problem, workspace_bytes(), given); !f) return f.failure();
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
  return status == kFine ? fine() : bad_data_on_gpu(*this, status);
}

}  // namespace hone::runtime
