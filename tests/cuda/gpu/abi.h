// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace hone::tests {

/// First version of the driver's description of a kernel in a graph.
struct KernelNode {
  void* function;
  unsigned grid[3];
  unsigned block[3];
  unsigned shared_bytes;
  void** parameters;
  void** extra;
};

/// Results of the driver's functions.
enum CudaError : int {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNotInitialized = 3,
  kDeviceUnavailable = 46,
  kNoDevice = 100,
  kInvalidDevice = 101,
  kInvalidImage = 200,
  kInvalidContext = 201,
  kNoBinaryForGpu = 209,
  kInvalidPtx = 218,
  kUnsupportedPtxVersion = 222,
  kInvalidHandle = 400,
  kNotFound = 500,
  kNotReady = 600,
  kIllegalAddress = 700,
  kLaunchOutOfResources = 701,
  kContextIsDestroyed = 709,
  kMisalignedAddress = 716,
  kLaunchFailed = 719,
  kInvalidClusterSize = 912,
  kUnknownError = 999,
};

}  // namespace hone::tests

// The same table that the project opens the driver by, so that the two agree on every signature.
#define HONE_CUDA_FUNCTION(member, symbol, parameters) \
  extern "C" __attribute__((visibility("default"))) int symbol parameters;
#include "jit/cuda/driver_functions.def"
#undef HONE_CUDA_FUNCTION

/// What tests ask the emulated driver: calls of a function by its symbol, "launches" that ran,
/// "bytes.to_host" that were copied, or what is alive: "live.bytes", "live.allocations",
/// "live.streams", "live.events", "live.modules", "live.graphs", "live.contexts". -1 for anything
/// else.
extern "C" __attribute__((visibility("default"))) long long hone_gpu_count(const char* what);
