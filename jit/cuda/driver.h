// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "include/hone/error.h"

namespace hone::jit {

/// A kernel of a graph, as the driver's ABI has it.
struct CudaNode {
  void* function = nullptr;
  unsigned grid_x = 1, grid_y = 1, grid_z = 1;
  unsigned block_x = 1, block_y = 1, block_z = 1;
  unsigned shared_bytes = 0;
  void** parameters = nullptr;
  void** extra = nullptr;
};

/// NVIDIA's driver, opened at run time: the build needs nothing of it. HONE_CUDA names the library
/// where it is not found by itself. The members are its functions; each returns 0 or what
/// `failure` puts into words. Those that older drivers lack are null there.
class CudaDriver {
 public:
  /// Opens and initialises it. kUnsupported where there is no driver, no GPU, or one that is too
  /// old, saying what was tried.
  static Result<std::shared_ptr<const CudaDriver>> open();

#define HONE_CUDA_FUNCTION(member, symbol, parameters) int(*member) parameters = nullptr;
#include "jit/cuda/driver_functions.def"
#undef HONE_CUDA_FUNCTION

  /// The newest CUDA that it supports, 12040 for 12.4.
  int version() const { return version_; }
  /// `12.4`.
  std::string version_text() const;
  /// What the driver said (name and text) while `doing` was being done.
  Failure failure(int error, std::string_view doing) const;
  /// True for errors after which a context answers everything with an error.
  static bool loses_context(int error);

 private:
  int version_ = 0;
};

}  // namespace hone::jit
