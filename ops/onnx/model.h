// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "ops/onnx/data_type.h"

namespace hone::onnx {

/// A constant tensor.
struct Tensor {
  std::string_view name;
  DataType type = DataType::kUndefined;
  std::vector<int64_t> dims;  ///< none negative; empty: a scalar
  int64_t elements = 1;       ///< the product of `dims`
  /// The elements in row-major order, little-endian, at any alignment. Bytes are as the file has
  /// them: nothing checks that bools are 0 or 1.
  std::string_view data;
  std::vector<std::string_view>
      strings;  ///< the elements of a tensor of strings, in place of `data`
  /// Keeps alive all that the views point into. Null after read() of bytes that the caller keeps,
  /// for data that stand there.
  std::shared_ptr<const void> owner;
};

/// One dim of a declared shape.
struct Dim {
  enum Kind : uint8_t { kUnknown, kValue, kParameter } kind = kUnknown;
  int64_t value = 0;           ///< of kValue; not negative
  std::string_view parameter;  ///< of kParameter: the same name, the same extent
};

/// The declared type of a graph's input, output or intermediate value.
struct ValueInfo {
  /// Which sort of value; shapes and element types are read of tensors alone.
  enum Kind : uint8_t { kNone, kTensor, kSequence, kMap, kOptional, kSparseTensor, kOpaque };

  std::string_view name;
  Kind kind = kNone;  ///< kNone: the file does not say
  DataType type = DataType::kUndefined;
  bool has_shape = false;  ///< false: even the rank is unknown
  std::vector<Dim> shape;
};

/// Kinds of attributes by ONNX's numbers. Fixed by: onnx.proto.
enum class AttributeKind : int32_t {
  kUndefined = 0,
  kFloat = 1,
  kInt = 2,
  kString = 3,
  kTensor = 4,
  kGraph = 5,
  kFloats = 6,
  kInts = 7,
  kStrings = 8,
  kTensors = 9,
  kGraphs = 10,
  kSparseTensor = 11,
  kSparseTensors = 12,
  kType = 13,
  kTypes = 14,
};

struct Graph;

/// A named constant of a node. The kind says which member has the value; a single tensor or graph
/// is the only element of its list. Sparse tensors and types have a kind and no value.
struct Attribute {
  std::string_view name;
  std::string_view reference;  ///< in functions: the attribute of the caller that is meant
  AttributeKind kind = AttributeKind::kUndefined;
  float f = 0;
  int64_t i = 0;
  std::string_view s;
  std::vector<float> floats;
  std::vector<int64_t> ints;
  std::vector<std::string_view> strings;
  std::vector<Tensor> tensors;
  std::vector<Graph> graphs;
};

/// One use of an operator.
struct Node {
  std::string_view op_type;
  std::string_view domain;  ///< empty: ONNX's own operators
  std::string_view name;
  std::vector<std::string_view> inputs;   ///< names of values; an empty one is left out
  std::vector<std::string_view> outputs;  ///< likewise
  std::vector<Attribute> attributes;
};

/// Nodes in an order in which values are defined before they are used.
struct Graph {
  std::string_view name;
  std::vector<Node> nodes;
  std::vector<Tensor> initializers;
  std::vector<ValueInfo> inputs;
  std::vector<ValueInfo> outputs;
  std::vector<ValueInfo> value_infos;
};

/// A set of operators that the model uses, and its version.
struct Opset {
  std::string_view domain;
  int64_t version = 0;
};

/// A key and its value.
struct Entry {
  std::string_view key;
  std::string_view value;
};

/// A whole file. Names and weights are views: into the mapped file, which `file` keeps alive, or
/// into the bytes that the caller gave.
struct Model {
  int64_t ir_version = 0;
  std::vector<Opset> opsets;
  std::string_view producer;
  std::string_view producer_version;
  Graph graph;
  int64_t functions = 0;      ///< how many functions the file defines; they are not read
  bool has_training = false;  ///< the file says how to train; that is not read
  std::vector<Entry> metadata;
  std::shared_ptr<const void> file;
};

}  // namespace hone::onnx
