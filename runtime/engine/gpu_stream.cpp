// SPDX-License-Identifier: Apache-2.0
#include "runtime/engine/gpu_stream.h"

#include <fmt/format.h>

#include "runtime/fine.h"

namespace hone::runtime {
namespace {

/// What the driver says of the default stream while others are captured.
/// Fixed by: the driver's ABI.
constexpr int kImplicitCapture = 906;

/// The handle of the per-thread default stream: one for all threads.
constexpr uintptr_t kStreamOfThread = 2;

bool is_of_thread(void* stream) { return reinterpret_cast<uintptr_t>(stream) == kStreamOfThread; }

}  // namespace

GpuWorkspace::GpuWorkspace(Gpu& gpu, int64_t bytes, std::span<std::byte> given, void* stream)
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

Result<Done> ready(Gpu& gpu, const UseGpu& use) {
  if (gpu.lost()) return gpu.why_lost();
  return use.error() == 0 ? fine() : gpu.failed(use.error(), "using the GPU's context");
}

Result<Done> check_workspace(const std::string& what, int64_t bytes, std::span<std::byte> given) {
  const bool aligned = reinterpret_cast<uintptr_t>(given.data()) % 64 == 0;
  if (given.empty() || (static_cast<int64_t>(given.size()) >= bytes && aligned)) return Done{};
  return Failure{
      ErrorCode::kArgument,
      fmt::format("`{}` takes {} bytes of workspace on the device, 64-byte aligned; got {} at {}",
                  what, bytes, given.size(), static_cast<const void*>(given.data()))};
}

Result<Done> check_worded(const std::string& what, void* stream) {
  if (!is_of_thread(stream)) return Done{};
  return Failure{
      ErrorCode::kArgument,
      fmt::format("`{}` checks data, and the per-thread default stream is another one in each "
                  "thread, where calls would share one status word; give a status word, or a "
                  "stream",
                  what)};
}

Result<bool> is_captured(Gpu& gpu, void* stream) {
  int capturing = 0;
  const int error = gpu.driver().stream_capturing(stream, &capturing);
  if (error != 0 && error != kImplicitCapture) return gpu.failed(error, "asking about a stream");
  return error != 0 || capturing != 0;
}

Result<Done> check_pooled(Gpu& gpu, const std::string& what, int64_t bytes, void* stream) {
  const auto refuse = [&](const char* why) {
    return Failure{ErrorCode::kArgument,
                   fmt::format("`{}` takes {} bytes of workspace, and {}", what, bytes, why)};
  };
  if (is_of_thread(stream)) {
    return refuse(
        "the per-thread default stream is another one in each thread; give a workspace, or a "
        "stream");
  }
  const auto captured = is_captured(gpu, stream);
  if (!captured) return captured.failure();
  if (!*captured) return Done{};
  return refuse(
      "the stream is being captured: when its graph runs, the pool may have given the memory to "
      "another call; give a workspace that lives as long as the graph");
}

Failure bad_data_on_gpu(const KernelState& k, int64_t position) {
  std::string tensors;
  for (const std::string& t : k.plan.checked) tensors += (tensors.empty() ? "" : " or ") + t;
  return {
      ErrorCode::kBounds,
      fmt::format("`{}`: element {} of {} is out of range, or decreases where offsets must not; "
                  "what depends on it was not written",
                  k.problem, position, tensors)};
}

}  // namespace hone::runtime
