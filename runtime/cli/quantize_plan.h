// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "include/hone/error.h"
#include "ops/onnx/model.h"
#include "ops/onnx/write.h"
#include "runtime/cli/quantize_ranges.h"

namespace hone::runtime {

/// A node that can be quantized: a convolution or a product with constant weights.
struct PlannedNode {
  size_t node = 0;            ///< its place in the file
  std::string name, op_type;  ///< a node without a name has its output's
  std::string input, weight;  ///< tensors
  const onnx::Tensor* weights = nullptr;
  const onnx::Tensor* bias = nullptr;  ///< null: it has none, or one that stays float
  size_t axis = 0;                     ///< of the weights: the one of the channels that are made
  /// The normalisation of these channels behind it that goes into its weights; -1: none.
  int norm = -1;
  std::string output;  ///< of the normalisation, where there is one
};

/// A node of these operators that stays float.
struct FloatNode {
  std::string name, op_type, why;
};

/// What can be quantized of a model.
struct QuantizePlan {
  std::vector<PlannedNode> nodes;
  std::vector<FloatNode> floats;
  int64_t opset = 0;  ///< that the file is to have; 0: its own
};

/// Fails where the model's set of operators cannot be raised to one with scales per channel, and
/// where the model is quantized already.
Result<QuantizePlan> plan_quantization(const onnx::Model& model);

/// What edits of a model's file are made from.
struct QuantizeTask {
  const onnx::Model& model;
  const QuantizePlan& plan;
  const std::map<std::string, Affine>& inputs;  ///< by the tensors that nodes read
  const std::set<size_t>& floats;               ///< nodes of the plan that stay float
};

/// Nodes of the plan read integers through DequantizeLinear.
onnx::Edits quantizing_edits(const QuantizeTask& task);

/// The same nodes beside those of the model, so that each reads what the float model makes. The
/// output of node `i` of the plan is `twins[i]`.
onnx::Edits twin_edits(const QuantizeTask& task, std::vector<std::string>& twins);

}  // namespace hone::runtime
