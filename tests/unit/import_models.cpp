// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/import_models.h"

#include <doctest/doctest.h>

#include "ops/graph/graph.h"

namespace hone::tests::models {

using ops::import_onnx;

onnx::ValueInfo tensor(std::string_view name, const std::vector<int64_t>& dims) {
  onnx::ValueInfo info;
  info.name = name;
  info.kind = onnx::ValueInfo::kTensor;
  info.type = onnx::DataType::kFloat;
  info.has_shape = true;
  for (const int64_t d : dims) {
    onnx::Dim dim;
    dim.kind = d < 0 ? onnx::Dim::kParameter : onnx::Dim::kValue;
    dim.value = d;
    if (d < 0) dim.parameter = "batch";
    info.shape.push_back(dim);
  }
  return info;
}

onnx::Node node(std::string_view op, std::vector<std::string_view> inputs,
                std::vector<std::string_view> outputs,
                const std::vector<std::pair<std::string_view, std::vector<int64_t>>>& ints) {
  onnx::Node n;
  n.op_type = op;
  n.inputs = std::move(inputs);
  n.outputs = std::move(outputs);
  for (const auto& [name, values] : ints) {
    onnx::Attribute a;
    a.name = name;
    a.i = values.empty() ? 0 : values[0];
    a.ints = values;
    n.attributes.push_back(a);
  }
  return n;
}

onnx::Tensor integers(std::string_view name, const std::vector<int64_t>& values) {
  static std::vector<std::vector<int64_t>> kept;
  kept.push_back(values);
  onnx::Tensor t;
  t.name = name;
  t.type = onnx::DataType::kInt64;
  t.dims = {static_cast<int64_t>(values.size())};
  t.elements = t.dims[0];
  t.data = {reinterpret_cast<const char*>(kept.back().data()), values.size() * sizeof(int64_t)};
  return t;
}

onnx::Tensor floats(std::string_view name, const std::vector<float>& values) {
  static std::vector<std::vector<float>> kept;
  kept.push_back(values);
  onnx::Tensor t;
  t.name = name;
  t.type = onnx::DataType::kFloat;
  t.dims = {static_cast<int64_t>(values.size())};
  t.elements = t.dims[0];
  t.data = {reinterpret_cast<const char*>(kept.back().data()), values.size() * sizeof(float)};
  return t;
}

onnx::Node with_word(onnx::Node n, std::string_view name, std::string_view word) {
  onnx::Attribute a;
  a.name = name;
  a.s = word;
  n.attributes.push_back(a);
  return n;
}

onnx::Model model(std::vector<onnx::ValueInfo> inputs, std::vector<onnx::Node> nodes,
                  std::string_view output, std::vector<onnx::Tensor> initializers) {
  onnx::Model m;
  m.opsets = {{"", 17}};
  m.graph.inputs = std::move(inputs);
  m.graph.nodes = std::move(nodes);
  m.graph.initializers = std::move(initializers);
  m.graph.outputs = {tensor(output, {})};
  return m;
}

std::string text_of(const onnx::Model& m) {
  const auto graph = import_onnx(m);
  if (!graph) return graph.failure().message;
  const auto parsed = ops::parse_graph(graph->text);
  CHECK_MESSAGE(parsed, (parsed ? "" : parsed.failure().message));
  return graph->text;
}

bool says(const std::string& text, const std::string& part) {
  const bool found = text.find(part) != std::string::npos;
  if (!found) MESSAGE("`" << part << "` is not in: " << text);
  return found;
}

}  // namespace hone::tests::models
