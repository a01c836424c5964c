// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/check/fixture.h"
#include "runtime/device/gpu.h"
#include "runtime/engine/engine_state.h"
#include "runtime/engine/kernel_state.h"

namespace hone::tests {

/// A kernel's call on a GPU with the tensors of a fixture, each in a block of its own.
class DeviceCall {
 public:
  DeviceCall(std::shared_ptr<const runtime::KernelState> kernel, runtime::Fixture& fixture);
  ~DeviceCall();
  DeviceCall(const DeviceCall&) = delete;
  DeviceCall& operator=(const DeviceCall&) = delete;

  /// Copies the tensors there, calls, and copies them back. `stream`: enqueues there, and waits;
  /// else a call that blocks.
  Result<Done> run(void* stream, bool enqueue);

 private:
  Result<Done> copy(bool there);

  std::shared_ptr<const runtime::KernelState> kernel_;
  runtime::Fixture& fixture_;
  runtime::Gpu& gpu_;
  std::vector<uint64_t> memory_;  ///< per parameter
};

/// What is wrong with a kernel's results under one data set, or "".
std::string check_on_device(const std::shared_ptr<const runtime::KernelState>& kernel,
                            const ops::Problem& problem, const std::vector<int64_t>& dims,
                            jit::DataSet set, bool enqueue);

/// Points HONE_CUDA and HONE_NVRTC to the emulated libraries, unless HONE_TEST_DEVICE=real asks for
/// the machine's own. False, and a line that says so, where that has no GPU.
bool choose_device();

/// An engine on that GPU, with a cache in memory.
std::shared_ptr<runtime::EngineState> gpu_state();

/// The least and the timed values of dims known at the call.
std::vector<std::vector<int64_t>> dims_to_check(const ir::Program& program);

/// Whether the machine's own GPU is asked for.
bool real_device();

}  // namespace hone::tests
