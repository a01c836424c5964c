// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <type_traits>

#include "hone/error.h"
#include "hone/export.h"
#include "hone/kernel.h"
#include "hone/tensor.h"

namespace hone {

namespace runtime {
class Gpu;
struct DeviceBlock;
struct StreamState;
struct GraphState;
}  // namespace runtime

/// Memory of a GPU, for those who have no CUDA headers. A cheap handle; the memory goes with the
/// last one, after all work on the device.
class HONE_API DeviceBuffer {
 public:
  /// The address on the device; not for the host to follow.
  void* data() const;
  /// Size in bytes, as it was asked for.
  int64_t bytes() const;
  /// Copies from the host and back, and waits. `bytes` from `offset` on must lie inside. Throws
  /// Error: kArgument, kDevice.
  void upload(const void* from, int64_t bytes, int64_t offset = 0) const;
  Result<Done> try_upload(const void* from, int64_t bytes, int64_t offset = 0) const;
  void download(void* to, int64_t bytes, int64_t offset = 0) const;
  Result<Done> try_download(void* to, int64_t bytes, int64_t offset = 0) const;
  /// The memory as a dense row-major tensor of T.
  template <Element T>
  TensorRef tensor(std::initializer_list<int64_t> shape) const {
    return TensorRef(static_cast<T*>(data()), shape);
  }

 private:
  friend class Device;
  explicit DeviceBuffer(std::shared_ptr<runtime::DeviceBlock> block) : block_(std::move(block)) {}
  std::shared_ptr<runtime::DeviceBlock> block_;
};

/// A stream of work on a GPU; work in one stream runs in order. A cheap handle; the stream goes
/// with the last one, and the workspace of its calls once its work is done.
class HONE_API DeviceStream {
 public:
  /// The driver's handle (CUstream), as EnqueueOptions::stream takes it.
  void* handle() const;
  /// Waits until all work in it is done. Throws kDevice where the GPU failed.
  void synchronize() const;
  Result<Done> try_synchronize() const;

 private:
  friend class Device;
  explicit DeviceStream(std::shared_ptr<runtime::StreamState> state) : state_(std::move(state)) {}
  std::shared_ptr<runtime::StreamState> state_;
};

/// A CUDA graph: calls of kernels that run one after the other, put into a stream at once. Many
/// small kernels then cost little to start. Arguments can be changed between launches. Not for
/// several threads at a time.
class HONE_API DeviceGraph {
 public:
  /// Appends a call of a kernel (or of one with its constants bound), whose pointers are the
  /// device's; its number. Throws Error as Kernel::enqueue does.
  template <class Callable, class... Args>
  int add(const Callable& kernel, Args&&... args) {
    return set(-1, kernel, std::forward<Args>(args)...);
  }
  template <class Callable, class... Args>
  Result<int> try_add(const Callable& kernel, Args&&... args) {
    return try_set(-1, kernel, std::forward<Args>(args)...);
  }
  /// Gives call `number`, of the same kernel, other arguments; returns `number`.
  template <class Callable, class... Args>
  int set(int number, const Callable& kernel, Args&&... args) {
    return Kernel::with_refs(
        [&](std::span<const ArgRef> refs) { return put(number, kernel, refs); },
        Kernel::to_arg(std::forward<Args>(args))...);
  }
  template <class Callable, class... Args>
  Result<int> try_set(int number, const Callable& kernel, Args&&... args) {
    return Kernel::with_refs(
        [&](std::span<const ArgRef> refs) { return try_put(number, kernel, refs); },
        Kernel::to_arg(std::forward<Args>(args))...);
  }
  /// Puts all calls into a stream, in order, and returns at once. Kernel::wait says what became of
  /// them; all graphs of a kernel share a status word, so the first `wait` tells for all of them.
  void launch(void* stream);
  Result<Done> try_launch(void* stream);

 private:
  friend class Device;
  int put(int number, const Kernel& kernel, std::span<const ArgRef> args);
  int put(int number, const Bound& kernel, std::span<const ArgRef> args);
  Result<int> try_put(int number, const Kernel& kernel, std::span<const ArgRef> args);
  Result<int> try_put(int number, const Bound& kernel, std::span<const ArgRef> args);
  explicit DeviceGraph(std::shared_ptr<runtime::GraphState> state) : state_(std::move(state)) {}
  std::shared_ptr<runtime::GraphState> state_;
};

/// The GPU of an Engine. A cheap handle.
class HONE_API Device {
 public:
  /// What the driver calls it, `NVIDIA H200`.
  const std::string& name() const;
  /// Compute capability, ten times: 90.
  int compute_capability() const;
  /// Bytes of memory, of the whole device.
  int64_t memory() const;
  /// Memory, under the engine's ceiling. Throws kMemory where there is none left, kDevice.
  DeviceBuffer allocate(int64_t bytes) const;
  Result<DeviceBuffer> try_allocate(int64_t bytes) const;
  /// Memory that holds a copy of `data`. Throws as `allocate` does.
  template <class T>
  DeviceBuffer upload(std::span<T> data) const {
    DeviceBuffer buffer = allocate(static_cast<int64_t>(data.size_bytes()));
    buffer.upload(data.data(), static_cast<int64_t>(data.size_bytes()));
    return buffer;
  }
  template <class T>
  Result<DeviceBuffer> try_upload(std::span<T> data) const {
    const auto bytes = static_cast<int64_t>(data.size_bytes());
    auto buffer = try_allocate(bytes);
    if (!buffer) return buffer;
    if (auto done = buffer->try_upload(data.data(), bytes); !done) return done.failure();
    return buffer;
  }
  /// A new stream.
  DeviceStream stream() const;
  Result<DeviceStream> try_stream() const;
  /// A graph without calls.
  DeviceGraph graph() const;
  /// Waits for all work on the device. Throws kDevice where it failed.
  void synchronize() const;
  Result<Done> try_synchronize() const;

 private:
  friend class Engine;
  explicit Device(std::shared_ptr<runtime::Gpu> gpu) : gpu_(std::move(gpu)) {}
  std::shared_ptr<runtime::Gpu> gpu_;
};

}  // namespace hone
