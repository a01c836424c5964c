// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "jit/cuda/occupancy.h"
#include "jit/cuda/report/peaks.h"
#include "jit/cuda/report/walk.h"
#include "jit/cuda/resources.h"
#include "jit/cuda/source.h"

namespace hone::jit {

/// Static facts of a launch, known without running it.
struct LaunchReport {
  std::string name;    ///< of the stage
  std::string symbol;  ///< of the kernel
  std::array<int64_t, 3> grid{};
  std::array<int, 3> block{};
  int64_t shared_bytes = 0;                  ///< as declared, static and dynamic
  std::optional<KernelResources> resources;  ///< where a compiler was at hand
  Occupancy occupancy;
  Walked walked;
  double threads = 0;        ///< of the grid
  double fill = 0;           ///< of the threads that the device can hold at a time, at most 1
  double sector_bytes = 0;   ///< that requests to global memory move
  double memory_bytes = 0;   ///< of these, what device memory gives and takes at least
  double intensity = 0;      ///< operations a byte of device memory
  double memory_us = 0;      ///< at the peak of device memory
  double operations_us = 0;  ///< at the peak of the arithmetic that is used
  double issue_us = 0;       ///< that warps take to issue their instructions, by estimate
  /// Sectors a request to global memory, and what they would be if each request's bytes lay
  /// together; 0 where there is none.
  double sectors = 0, least_sectors = 0;
  /// Rounds a request to shared memory, over those without conflicts; 0 where there is none.
  double ways = 0;
  double in_flight = 0;    ///< bytes of loads that a multiprocessor has under way at a time
  const char* bound = "";  ///< memory, arithmetic, issue or parallelism
};

/// Reports on the launches of `nest`, which was printed as `source`, for the target's GPU.
/// `dims` are values of Nest::dims; `resources` what a compiler said of the kernels, if anything.
std::vector<LaunchReport> report_on(const ir::Nest& nest, const CudaSource& source,
                                    const ir::Target& target, const std::vector<int64_t>& dims,
                                    const std::vector<KernelResources>& resources,
                                    const WalkOptions& options = {});

/// Values for Nest::dims to reckon with: those that a dim should be good at, else 64, within its
/// bounds.
std::vector<int64_t> typical_dims(const ir::Nest& nest);

}  // namespace hone::jit
