// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "include/hone/error.h"
#include "ops/onnx/model.h"

namespace hone::onnx {

/// A constant tensor that a file is to get.
struct NewTensor {
  std::string name;
  DataType type = DataType::kUndefined;
  std::vector<int64_t> dims;
  std::string data;  ///< the elements in row-major order, little-endian
};

/// A node that a file is to get, of ONNX's own operators.
struct NewNode {
  std::string op_type, name;
  std::vector<std::string> inputs, outputs;
  std::optional<int64_t> axis;  ///< its attribute `axis`
};

/// What a node of the file has in the place of its inputs and outputs; the rest stays.
struct NodeChange {
  std::vector<std::string> inputs, outputs;  ///< all of them, where `inputs` is not empty
  bool removed = false;
  bool kept = false;            ///< the node as it was stands behind the changed one
  std::vector<NewNode> before;  ///< nodes that stand before it
};

/// How a file is to differ from another one.
struct Edits {
  int64_t opset = 0;                           ///< of ONNX's own operators; 0: as it is
  std::map<size_t, NodeChange> nodes;          ///< by their places in the graph
  std::set<std::string, std::less<>> dropped;  ///< initializers, which inputs may declare as well
  std::vector<NewTensor> tensors;
};

/// The bytes of a model (a ModelProto) with edits. What is not edited stands as in `bytes`, byte
/// for byte, with fields that are not known here.
Result<std::string> edited(std::string_view bytes, const Edits& edits);

/// Writes the model of the file `from` with edits to `to`, which is another file. What is not
/// edited is copied from file to file, and takes no memory.
///
/// Weights in other files are named relative to the model's folder. So where some stay, both files
/// lie in one folder, else kArgument.
Result<Done> write_edited(const std::filesystem::path& from, const std::filesystem::path& to,
                          const Edits& edits);

}  // namespace hone::onnx
