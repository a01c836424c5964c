// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

namespace hone::bench {

/// What a group of problems is held against.
enum class Against {
  kCopy,  ///< the bandwidth of a copy within the device
  kPeer,  ///< the fastest other library of the same run
  kBare,  ///< the product without its epilogue, by hone in the same run
};

/// Problems that are judged together.
struct GpuGroup {
  const char* name;
  Against against;
  double goal;  ///< the ratio to reach, as a geometric mean; 0: none is set
  std::vector<std::string> problems;
};

/// The groups of `bench --target cuda`; `tiny`: the same with problems of a few elements, to see
/// that all of it works.
std::vector<GpuGroup> gpu_groups(bool tiny);

/// The problem without the epilogue of `problem`, or "" where it has none.
std::string bare_product(const std::string& problem);

}  // namespace hone::bench
