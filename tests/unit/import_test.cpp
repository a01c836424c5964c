// SPDX-License-Identifier: Apache-2.0
// Models of ONNX as graphs: what becomes of nodes, what is known before a call, what is told.
#include "ops/import/import.h"

#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "ops/graph/graph.h"

namespace onnx = hone::onnx;
using hone::ops::import_onnx;
using hone::ops::ImportedGraph;

namespace {

onnx::ValueInfo tensor(std::string_view name, std::vector<int64_t> dims) {
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
                std::vector<std::pair<std::string_view, std::vector<int64_t>>> ints = {}) {
  onnx::Node n;
  n.op_type = op;
  n.inputs = std::move(inputs);
  n.outputs = std::move(outputs);
  for (auto& [name, values] : ints) {
    onnx::Attribute a;
    a.name = name;
    a.i = values.empty() ? 0 : values[0];
    a.ints = values;
    n.attributes.push_back(a);
  }
  return n;
}

/// An initializer of integers; the data live as long as the program.
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

onnx::Model model(std::vector<onnx::ValueInfo> inputs, std::vector<onnx::Node> nodes,
                  std::string_view output, std::vector<onnx::Tensor> initializers = {}) {
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
  const auto parsed = hone::ops::parse_graph(graph->text);
  CHECK_MESSAGE(parsed, (parsed ? "" : parsed.failure().message));
  return graph->text;
}

bool says(const std::string& text, const std::string& part) {
  const bool found = text.find(part) != std::string::npos;
  if (!found) MESSAGE("`" << part << "` is not in: " << text);
  return found;
}

}  // namespace

TEST_CASE("import: elements broadcast, and equal nodes are one op") {
  const std::string text =
      text_of(model({tensor("a", {-1, 3, 4}), tensor("b", {3, 1})},
                    {node("Add", {"a", "b"}, {"c"}), node("Add", {"c", "b"}, {"d"})}, "d"));
  CHECK(says(text,
             "op onnx_add(A: f32[D0,D1,D2], B: f32[D1,1]) -> (Y: f32[D0,D1,D2]) { "
             "Y[i0,i1,i2] = A[i0,i1,i2] + B[i1,0] }"));
  CHECK(!says(text.substr(0, text.find("onnx_output")), "onnx_add_2"));
  CHECK(says(text, "graph onnx(a: f32[batch,3,4], b: f32[3,1]) -> (d_out: f32[batch,3,4])"));
}

TEST_CASE("import: what is computed of shapes is known before a call") {
  const std::string text = text_of(model(
      {tensor("a", {2, 3, 4})},
      {node("Shape", {"a"}, {"s"}), node("Gather", {"s", "zero"}, {"n"}),
       node("Concat", {"n", "rest"}, {"t"}, {{"axis", {0}}}), node("Reshape", {"a", "t"}, {"y"})},
      "y", {integers("zero", {0}), integers("rest", {-1})}));
  CHECK(says(text, "-> (y_out: f32[2,12])"));
  CHECK(!says(text.substr(text.find("graph")), "const"));
}

TEST_CASE("import: windows and groups of channels") {
  const std::string text =
      text_of(model({tensor("x", {1, 4, 8, 8}), tensor("w", {6, 2, 3, 3})},
                    {node("Conv", {"x", "w"}, {"y"},
                          {{"group", {2}}, {"pads", {1, 1, 1, 1}}, {"strides", {2, 2}}})},
                    "y"));
  CHECK(says(text,
             "sum[c in 0..2,r0,r1]((X[i0,2*(i1/3) + c,2*i2 + r0 - 1,2*i3 + r1 - 1] else 0) * "
             "W[i1,c,r0,r1])"));
  CHECK(says(text, "(y_out: f32[1,6,4,4])"));
}

TEST_CASE("import: all that has no op is told, what follows from it is not") {
  const std::string told =
      text_of(model({tensor("x", {2, 3})},
                    {node("NonZero", {"x"}, {"p"}), node("Relu", {"p"}, {"q"}),
                     node("Loop", {"x"}, {"r"}), node("Reshape", {"x", "x"}, {"y"})},
                    "y"));
  CHECK(says(told, "NonZero `p`: there is no op for it"));
  CHECK(says(told, "Loop `r`: there is no op for it"));
  CHECK(says(told, "Reshape `y`: its dims are not known before a call"));
  CHECK(told.find("Relu") == std::string::npos);
  const std::string shapes = text_of(
      model({tensor("x", {2, 3}), tensor("z", {4, 3})},
            {node("Add", {"x", "z"}, {"y"}), node("Softmax", {"x"}, {"s"}, {{"axis", {7}}})}, "y"));
  CHECK(says(shapes, "Add `y`: extents 2 and 4 do not broadcast"));
  CHECK(says(shapes, "Softmax `s`: there is no axis 7 of 2"));
}
