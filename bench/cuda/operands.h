// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "jit/interp/reference.h"
#include "ops/op.h"
#include "runtime/device/gpu.h"

namespace hone::bench {

/// The tensors of a problem in a GPU's memory, several times over, so that a run finds nothing of
/// the one before in the second-level cache.
class GpuOperands {
 public:
  /// As many sets as four caches' size takes, and as a third of the memory holds. Inputs are
  /// random; where data is checked, it passes.
  static Result<std::shared_ptr<GpuOperands>> create(std::shared_ptr<runtime::Gpu> gpu,
                                                     const ops::Problem& problem);
  ~GpuOperands();
  GpuOperands(const GpuOperands&) = delete;
  GpuOperands& operator=(const GpuOperands&) = delete;

  const ops::Problem& problem() const { return problem_; }
  /// The op's name.
  const std::string& op() const { return problem_.op.name(); }
  /// An integer parameter of the problem's text, `S=2`.
  int64_t parameter(const char* name, int64_t otherwise) const;
  size_t sets() const { return sets_; }
  /// Parameter `p` as set `set` has it; `data` is the device's.
  jit::TensorView view(size_t set, size_t p) const;
  void* data(size_t set, size_t p) const { return view(set, p).data; }
  size_t count() const { return views_.size(); }
  const std::vector<double>& scalars() const { return scalars_; }
  const std::vector<int64_t>& dims() const { return dims_; }
  runtime::Gpu& gpu() const { return *gpu_; }

  /// Elements of the output of set 0 from all over it, a prime apart, about `most`, as doubles.
  Result<std::vector<double>> output(size_t most) const;
  /// Makes the output of set 0 what no solution is.
  Result<Done> spoil() const;

 private:
  explicit GpuOperands(const ops::Problem& problem) : problem_(problem) {}
  Result<Done> fill(const std::vector<std::vector<unsigned char>>& host);
  int64_t bytes_of(size_t p) const;

  std::shared_ptr<runtime::Gpu> gpu_;
  ops::Problem problem_;
  std::vector<int64_t> dims_;
  std::vector<jit::TensorView> views_;
  std::vector<double> scalars_;
  size_t sets_ = 1;
  std::vector<uint64_t> memory_;  ///< per set and parameter
};

}  // namespace hone::bench
