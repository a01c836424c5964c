// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>

#include "jit/backend.h"
#include "jit/cuda/source.h"

namespace hone::runtime {

class Gpu;
class GpuCompiler;

/// A GPU and the compiler of its machine code; both null for the host.
struct DevicePlace : jit::Place {
  DevicePlace(jit::ExecutableMemory* m, std::shared_ptr<Gpu> g, GpuCompiler* c)
      : Place(m), gpu(std::move(g)), compiler(c) {}
  std::shared_ptr<Gpu> gpu;
  GpuCompiler* compiler;
};

/// The source in what this back end emitted; null where another did.
const jit::CudaSource* cuda_source(const jit::Code& code);

/// CUDA C++ compiled by NVRTC. Its place is a DevicePlace, its executables are GpuPrograms.
extern const jit::Backend kCudaBackend;

}  // namespace hone::runtime
