// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "include/hone/model.h"
#include "ops/graph/graph.h"

namespace hone::runtime {

/// The elements of dense tensors as numbers, tensor by tensor. Of elements that share bytes these
/// are the bytes.
std::vector<std::vector<double>> elements_of(std::span<const NamedTensor> tensors);

/// The largest difference of `got` from `want`, each as a share of the largest element of its
/// tensor. Infinite where one is no number and the other is. So it is where data tell other sizes,
/// as sums that differ in their last bits may have it.
double difference_of(const std::vector<std::vector<double>>& want,
                     const std::vector<std::vector<double>>& got);

/// How far results of a graph may lie apart, as a share of the largest element.
double tolerance_of(const ops::Graph& graph);

}  // namespace hone::runtime
