// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/device/gpu.h"
#include "runtime/model/arguments.h"

namespace hone::runtime {

/// Memory on the device and a stream for one call of a model.
struct ModelPlace {
  std::byte* block = nullptr;  ///< memory().call bytes
  uint64_t words = 0;          ///< status words of the steps that check data
  size_t words_apart = 0;      ///< bytes from one to the next; 0: all have one
  void* stream = nullptr;
  bool operator==(const ModelPlace&) const = default;
};

/// The steps of one call of a model, whose tensors all lie on the device.
class DeviceSteps {
 public:
  /// `words` numbers the steps that check data; -1 for others. All outlive this.
  DeviceSteps(Gpu& gpu, const ModelArguments& call, std::span<const int> words,
              const ModelPlace& place)
      : gpu_(gpu), call_(call), words_(words), place_(place) {}

  const ModelArguments& call() const { return call_; }
  const ModelPlace& place() const { return place_; }
  std::span<const ModelCall> steps() const { return call_.model().calls; }
  /// Checks what a step takes and fills all slots of its kernel.
  Result<Done> fill(size_t step, int64_t* slots) const;
  /// Puts the launches of all steps into the stream, one after the other. The context is the
  /// calling thread's.
  Result<Done> enqueue() const;

 private:
  Gpu& gpu_;
  const ModelArguments& call_;
  std::span<const int> words_;
  const ModelPlace place_;
};

}  // namespace hone::runtime
