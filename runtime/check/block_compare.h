// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "runtime/check/candidate.h"
#include "runtime/check/site.h"

namespace hone::runtime {

/// Compares large blocks of a device where they lie, by kernels that hone makes for that. Each is
/// tried on blocks that differ before it is believed. Small blocks, the ends of large ones, and all
/// where such a kernel cannot be had, are read and compared on the host.
class BlockCompare {
 public:
  /// For blocks of `site`, whose device the target and the place are.
  BlockCompare(ir::Target target, DevicePlace place, std::shared_ptr<Site> site)
      : target_(std::move(target)), place_(std::move(place)), site_(std::move(site)) {}

  /// True when two blocks, equally large, have the same bits.
  Result<bool> same(const Block& a, const Block& b);
  /// True when no element of float type `type` in one block is further than `bound` from that in
  /// the other. NaN agrees with NaN. False also where rounding leaves that open, and for other
  /// types unless all bits are the same.
  Result<bool> near(const Block& a, const Block& b, DType type, double bound);

 private:
  struct Kernel {
    std::unique_ptr<ops::Problem> problem;
    Candidate candidate;
  };

  Result<bool> by_rows(const Kernel& kernel, const Block& a, const Block& b, int64_t rows,
                       double bound);
  Result<const Kernel*> kernel(const std::string& text, int64_t row_bytes);
  Result<bool> proves(const Kernel& kernel, int64_t row_bytes);

  ir::Target target_;
  DevicePlace place_;
  std::shared_ptr<Site> site_;
  std::map<std::string, Kernel> kernels_;  ///< by the text; without a problem: there is none
};

}  // namespace hone::runtime
