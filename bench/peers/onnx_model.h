// SPDX-License-Identifier: Apache-2.0
// A model of a few nodes, as ONNX writes it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "jit/interp/reference.h"

namespace hone::bench {

/// The number that ONNX gives a type; 0 where it has none. Source: TensorProto.DataType.
int onnx_type_of(DType type);

/// An attribute of a node.
struct OnnxAttribute {
  std::string_view name;
  std::variant<int64_t, std::string_view, float, std::vector<int64_t>> value;
};

/// Nodes and tensors, added one after the other. Source of the field numbers: onnx.proto of ONNX
/// 1.16; nodes are of opset 20.
class OnnxModel {
 public:
  OnnxModel();

  void add_input(std::string_view name, const jit::TensorView& v);
  void add_output(std::string_view name, const jit::TensorView& v);
  /// A dense tensor with its elements.
  void add_constant(std::string_view name, const jit::TensorView& v);
  void add_node(std::string_view type, const std::vector<std::string_view>& inputs,
                std::string_view output, const std::vector<OnnxAttribute>& attributes = {});

  /// The bytes of the model's file.
  std::string bytes() const;

 private:
  std::string graph_;
};

}  // namespace hone::bench
