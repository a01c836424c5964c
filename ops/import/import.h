// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "include/hone/dtype.h"
#include "include/hone/error.h"
#include "ops/onnx/model.h"

namespace hone::ops {

/// A weight of an imported model.
struct ImportedWeight {
  std::string name;  ///< in the graph's text
  DType type = DType::kF32;
  std::vector<int64_t> shape;
  std::string_view data;  ///< dense and row-major, at any alignment
  std::shared_ptr<const void> owner;
};

/// An input or output, by the name that the file has and by that in the graph's text.
struct ImportedName {
  std::string file, graph;
};

/// A model of another format, as a graph.
struct ImportedGraph {
  std::string text;  ///< for parse_graph
  std::vector<ImportedWeight> weights;
  std::vector<ImportedName> inputs, outputs;
};

/// Inputs whose values are known before a call, by their names in the file: they become constants.
using ImportedConstants = std::map<std::string, onnx::Tensor>;

/// ONNX's type for one of hone's, of those that both have; kUndefined for others.
onnx::DataType onnx_type(DType type);

/// The data of a tensor of elements of less than a byte, whose rows begin at whole bytes as hone
/// has it. Files have all elements side by side.
std::string rows_of_packed(const onnx::Tensor& tensor);
/// The reverse: `rows` of a tensor of `dims`, which have `elements`, as a file has them.
std::string side_by_side(std::string_view rows, DType type, const std::vector<int64_t>& dims,
                         int64_t elements);

/// Operators of ONNX that have ops here, sorted by name.
std::vector<std::string_view> imported_operators();

/// The graph that a model of ONNX is. Each operator becomes an op of the language, and shapes that
/// the file computes are computed here. Fails with all that has no op here, by operator and node.
Result<ImportedGraph> import_onnx(const onnx::Model& model, const ImportedConstants& given = {});

}  // namespace hone::ops
