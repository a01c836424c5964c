// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "jit/cuda/kernel_part.h"

namespace hone::jit {

/// Blocks that run together.
class ClusterPrinter final : public KernelPart {
 public:
  explicit ClusterPrinter(KernelContext& context) : KernelPart(context) {}

  void measure_cluster();
  /// `checks`: the launch checks data.
  void check_cluster(bool checks) const;
  std::string meet_cluster() const;
  std::string leave_cluster() const;
  /// How many blocks run together.
  int blocks() const { return cluster_; }

 private:
  int cluster_ = 1;
};

}  // namespace hone::jit
