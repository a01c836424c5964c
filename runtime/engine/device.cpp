// SPDX-License-Identifier: Apache-2.0
// The public faces of a GPU: memory and streams.
#include "include/hone/device.h"

#include <fmt/format.h>

#include "runtime/device/gpu.h"
#include "runtime/engine/failure.h"
#include "runtime/engine/graph_state.h"

namespace hone {
namespace runtime {

/// Memory behind a DeviceBuffer.
struct DeviceBlock {
  DeviceBlock(std::shared_ptr<Gpu> gpu, uint64_t data, int64_t bytes)
      : gpu(std::move(gpu)), data(data), bytes(bytes) {}
  ~DeviceBlock() { gpu->memory().release(data, bytes); }
  DeviceBlock(const DeviceBlock&) = delete;
  DeviceBlock& operator=(const DeviceBlock&) = delete;

  std::shared_ptr<Gpu> gpu;
  uint64_t data;
  int64_t bytes;
};

/// A stream behind a DeviceStream.
struct StreamState {
  StreamState(std::shared_ptr<Gpu> gpu, void* stream) : gpu(std::move(gpu)), stream(stream) {}
  ~StreamState() {
    if (gpu->lost()) return;
    const UseGpu use(*gpu);
    gpu->memory().forget(stream);
    gpu->driver().stream_destroy(stream);
  }
  StreamState(const StreamState&) = delete;
  StreamState& operator=(const StreamState&) = delete;

  std::shared_ptr<Gpu> gpu;
  void* stream;
};

namespace {

/// Runs `call` in the GPU's context; what the driver says of it while `doing`.
template <class F>
Result<Done> in_context(Gpu& gpu, std::string_view doing, const F& call) {
  if (gpu.lost()) return gpu.why_lost();
  const UseGpu use(gpu);
  const int error = use.error() != 0 ? use.error() : call(gpu.driver());
  if (error != 0) return gpu.failed(error, doing);
  return Done{};
}

Result<Done> inside(const DeviceBlock& block, int64_t bytes, int64_t offset) {
  if (bytes >= 0 && offset >= 0 && offset <= block.bytes && bytes <= block.bytes - offset) {
    return Done{};
  }
  return Failure{ErrorCode::kArgument,
                 fmt::format("{} bytes at offset {} are not inside a device buffer of {} bytes",
                             bytes, offset, block.bytes)};
}

}  // namespace
}  // namespace runtime

using runtime::value_or_raise;

void* DeviceBuffer::data() const { return reinterpret_cast<void*>(block_->data); }
int64_t DeviceBuffer::bytes() const { return block_->bytes; }

Result<Done> DeviceBuffer::try_upload(const void* from, int64_t bytes, int64_t offset) const {
  auto fits = runtime::inside(*block_, bytes, offset);
  if (!fits || bytes == 0) return fits;
  return runtime::in_context(*block_->gpu, "copying to the device", [&](const auto& driver) {
    const int error = driver.to_device(block_->data + static_cast<uint64_t>(offset), from,
                                       static_cast<size_t>(bytes));
    // Of pageable memory the driver only has a copy by now, which streams may overtake.
    return error != 0 ? error : driver.stream_synchronize(nullptr);
  });
}

Result<Done> DeviceBuffer::try_download(void* to, int64_t bytes, int64_t offset) const {
  auto fits = runtime::inside(*block_, bytes, offset);
  if (!fits || bytes == 0) return fits;
  return runtime::in_context(*block_->gpu, "copying from the device", [&](const auto& driver) {
    return driver.to_host(to, block_->data + static_cast<uint64_t>(offset),
                          static_cast<size_t>(bytes));
  });
}

void DeviceBuffer::upload(const void* from, int64_t bytes, int64_t offset) const {
  value_or_raise(try_upload(from, bytes, offset));
}

void DeviceBuffer::download(void* to, int64_t bytes, int64_t offset) const {
  value_or_raise(try_download(to, bytes, offset));
}

void* DeviceStream::handle() const { return state_->stream; }

Result<Done> DeviceStream::try_synchronize() const {
  return runtime::in_context(*state_->gpu, "waiting for a stream", [&](const auto& driver) {
    return driver.stream_synchronize(state_->stream);
  });
}

void DeviceStream::synchronize() const { value_or_raise(try_synchronize()); }

const std::string& Device::name() const { return gpu_->facts().name; }
int Device::compute_capability() const { return gpu_->facts().sm; }
int64_t Device::memory() const { return gpu_->facts().memory; }

Result<DeviceBuffer> Device::try_allocate(int64_t bytes) const {
  if (bytes < 0) return Failure{ErrorCode::kArgument, "a buffer of less than no bytes"};
  if (gpu_->lost()) return gpu_->why_lost();
  auto block = gpu_->memory().hold(bytes);
  if (!block) return block.failure();
  return DeviceBuffer(std::make_shared<runtime::DeviceBlock>(gpu_, *block, bytes));
}

DeviceBuffer Device::allocate(int64_t bytes) const { return value_or_raise(try_allocate(bytes)); }

Result<DeviceStream> Device::try_stream() const {
  void* stream = nullptr;
  auto made = runtime::in_context(*gpu_, "making a stream", [&](const auto& driver) {
    return driver.stream_create(&stream, 0);
  });
  if (!made) return made.failure();
  return DeviceStream(std::make_shared<runtime::StreamState>(gpu_, stream));
}

DeviceStream Device::stream() const { return value_or_raise(try_stream()); }
DeviceGraph Device::graph() const {
  return DeviceGraph(std::make_shared<runtime::GraphState>(gpu_));
}

Result<Done> Device::try_synchronize() const {
  return runtime::in_context(*gpu_, "waiting for the device",
                             [](const auto& driver) { return driver.context_synchronize(); });
}

void Device::synchronize() const { value_or_raise(try_synchronize()); }

}  // namespace hone
