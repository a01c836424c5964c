// SPDX-License-Identifier: Apache-2.0
#include "bench/peers/onnx_model.h"

#include <protozero/pbf_writer.hpp>

namespace hone::bench {
namespace {

using protozero::pbf_writer;

/// Writes a message's field of text.
void add_text(pbf_writer& message, unsigned field, std::string_view text) {
  message.add_string(field, text.data(), text.size());
}

/// Writes a ValueInfoProto: a name, a type, a shape.
void add_value(pbf_writer& graph, unsigned field, std::string_view name, const jit::TensorView& v) {
  pbf_writer value(graph, field);
  add_text(value, 1, name);
  pbf_writer type(value, 2), tensor(type, 1);
  tensor.add_int32(1, onnx_type_of(v.type));
  pbf_writer shape(tensor, 2);
  for (const int64_t extent : v.shape) pbf_writer(shape, 1).add_int64(1, extent);
}

/// The value of an attribute, each kind by its own field and number of a type.
struct AttributeValue {
  pbf_writer& attribute;

  void operator()(int64_t i) {
    attribute.add_int64(3, i);
    attribute.add_enum(20, 2);
  }
  void operator()(float f) {
    attribute.add_float(2, f);
    attribute.add_enum(20, 1);
  }
  void operator()(std::string_view s) {
    add_text(attribute, 4, s);
    attribute.add_enum(20, 3);
  }
  void operator()(const std::vector<int64_t>& numbers) {
    for (const int64_t n : numbers) attribute.add_int64(8, n);
    attribute.add_enum(20, 7);
  }
};

}  // namespace

int onnx_type_of(DType type) {
  switch (type) {
    case DType::kF32:
      return 1;
    case DType::kU8:
      return 2;
    case DType::kI8:
      return 3;
    case DType::kI16:
      return 5;
    case DType::kI32:
      return 6;
    case DType::kI64:
      return 7;
    case DType::kBool:
      return 9;
    case DType::kF16:
      return 10;
    case DType::kF64:
      return 11;
    case DType::kBF16:
      return 16;
    default:
      return 0;
  }
}

OnnxModel::OnnxModel() {
  pbf_writer graph(graph_);
  add_text(graph, 2, "problem");
}

void OnnxModel::add_input(std::string_view name, const jit::TensorView& v) {
  pbf_writer graph(graph_);
  add_value(graph, 11, name, v);
}

void OnnxModel::add_output(std::string_view name, const jit::TensorView& v) {
  pbf_writer graph(graph_);
  add_value(graph, 12, name, v);
}

void OnnxModel::add_constant(std::string_view name, const jit::TensorView& v) {
  pbf_writer graph(graph_), tensor(graph, 5);
  for (const int64_t extent : v.shape) tensor.add_int64(1, extent);
  tensor.add_int32(2, onnx_type_of(v.type));
  add_text(tensor, 8, name);
  tensor.add_bytes(9, static_cast<const char*>(v.data), static_cast<size_t>(bytes_of(v)));
}

void OnnxModel::add_node(std::string_view type, const std::vector<std::string_view>& inputs,
                         std::string_view output, const std::vector<OnnxAttribute>& attributes) {
  pbf_writer graph(graph_), node(graph, 1);
  for (const std::string_view input : inputs) add_text(node, 1, input);
  add_text(node, 2, output);
  add_text(node, 4, type);
  for (const OnnxAttribute& a : attributes) {
    pbf_writer attribute(node, 5);
    add_text(attribute, 1, a.name);
    std::visit(AttributeValue{attribute}, a.value);
  }
}

std::string OnnxModel::bytes() const {
  std::string out;
  pbf_writer model(out);
  model.add_int64(1, 9);  // of the format: ir_version
  pbf_writer(model, 8).add_int64(2, 20);
  model.add_message(7, graph_);
  return out;
}

}  // namespace hone::bench
