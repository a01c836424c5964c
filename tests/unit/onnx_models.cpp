// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/onnx_models.h"

namespace hone::tests {

using protozero::pbf_writer;

void add(pbf_writer& writer, uint32_t tag, std::string_view bytes) {
  writer.add_bytes(tag, bytes.data(), bytes.size());
}

std::string onnx_model(std::string_view graph) {
  return message([&](pbf_writer& model) {
    model.add_int64(1, 8);
    pbf_writer(model, 8).add_int64(2, 17);
    add(model, 7, graph);
  });
}

std::string onnx_graph_with(std::string_view attribute) {
  const std::string node = message([&](pbf_writer& writer) {
    add(writer, 3, "n");
    add(writer, 4, "Op");
    add(writer, 5, attribute);
  });
  return message([&](pbf_writer& graph) { add(graph, 1, node); });
}

std::string onnx_attribute(int32_t kind, uint32_t tag, std::string_view bytes) {
  return message([&](pbf_writer& attribute) {
    add(attribute, 1, "a");
    attribute.add_enum(20, kind);
    add(attribute, tag, bytes);
  });
}

std::string onnx_tensor(int32_t type, const std::vector<int64_t>& dims) {
  return message([&](pbf_writer& tensor) {
    tensor.add_packed_int64(1, dims.begin(), dims.end());
    tensor.add_int32(2, type);
    add(tensor, 8, "t");
  });
}

std::string onnx_raw(int32_t type, const std::vector<int64_t>& dims, std::string_view bytes) {
  std::string out = onnx_tensor(type, dims);
  pbf_writer tensor(out);
  add(tensor, 9, bytes);
  return out;
}

std::string onnx_external(int32_t type, const std::vector<int64_t>& dims,
                          const std::vector<std::pair<std::string, std::string>>& entries) {
  std::string out = onnx_tensor(type, dims);
  pbf_writer tensor(out);
  for (const auto& [key, value] : entries) {
    pbf_writer entry(tensor, 13);
    add(entry, 1, key);
    add(entry, 2, value);
  }
  tensor.add_enum(14, 1);
  return out;
}

namespace {

void add_value_info(pbf_writer& graph, uint32_t tag, std::string_view name) {
  pbf_writer value(graph, tag);
  add(value, 1, name);
  pbf_writer type(value, 2), tensor(type, 1);
  tensor.add_int32(1, 1);
  pbf_writer shape(tensor, 2);
  pbf_writer(shape, 1).add_int64(1, 5);
  pbf_writer(shape, 1).add_string(2, "batch");
  add(shape, 1, "");
  pbf_writer(shape, 1).add_int64(1, -1);
}

void add_number_attributes(pbf_writer& node) {
  const auto begin = [&](pbf_writer& attribute, std::string_view name, int32_t kind) {
    add(attribute, 1, name);
    attribute.add_enum(20, kind);
  };
  const float floats[] = {0.5f, -1};
  const int64_t ints[] = {1, -2, int64_t{1} << 40};
  {
    pbf_writer attribute(node, 5);
    begin(attribute, "float", 1);
    attribute.add_float(2, 2.5f);
  }
  {
    pbf_writer attribute(node, 5);
    begin(attribute, "int", 2);
    attribute.add_int64(3, -7);
  }
  {
    pbf_writer attribute(node, 5);
    begin(attribute, "packed floats", 6);
    attribute.add_packed_float(7, std::begin(floats), std::end(floats));
  }
  {
    pbf_writer attribute(node, 5);
    begin(attribute, "floats", 6);
    for (const float value : floats) attribute.add_float(7, value);
  }
  {
    pbf_writer attribute(node, 5);
    begin(attribute, "packed ints", 7);
    attribute.add_packed_int64(8, std::begin(ints), std::end(ints));
  }
  {
    pbf_writer attribute(node, 5);
    begin(attribute, "ints", 7);
    for (const int64_t value : ints) attribute.add_int64(8, value);
  }
}

void add_message_attributes(pbf_writer& node) {
  const std::string tensor = onnx_raw(3, {2}, "\x01\xff");
  const std::string graph = message([](pbf_writer& inner) {
    add(inner, 2, "inner");
    add_value_info(inner, 12, "y");
  });
  struct Row {
    std::string_view name;
    int32_t kind;
    uint32_t tag;
    std::vector<std::string_view> values;
  };
  const Row rows[] = {
      {"string", 3, 4, {"text"}},
      {"tensor", 4, 5, {tensor}},
      {"graph", 5, 6, {graph}},
      {"strings", 8, 9, {"one", "", "three"}},
      {"tensors", 9, 10, {tensor, tensor}},
      {"graphs", 10, 11, {graph, graph}},
      {"sparse tensor", 11, 22, {""}},
      {"sparse tensors", 12, 23, {"", ""}},
      {"type", 13, 14, {""}},
      {"types", 14, 15, {""}},
  };
  for (const Row& row : rows) {
    pbf_writer attribute(node, 5);
    for (const std::string_view value : row.values) add(attribute, row.tag, value);
    attribute.add_enum(20, row.kind);
    add(attribute, 1, row.name);
  }
}

}  // namespace

std::string onnx_sample() {
  const float floats[] = {1, 2, 3};
  const int32_t bytes[] = {-1, 255, 7};
  const int64_t longs[] = {-1, int64_t{1} << 50, 0};
  std::string floats_typed = onnx_tensor(1, {3}), bytes_typed = onnx_tensor(3, {3}),
              longs_typed = onnx_tensor(7, {3, 1}), texts = onnx_tensor(8, {2});
  pbf_writer(floats_typed).add_packed_float(4, std::begin(floats), std::end(floats));
  pbf_writer(bytes_typed).add_packed_int32(5, std::begin(bytes), std::end(bytes));
  pbf_writer(longs_typed).add_packed_int64(7, std::begin(longs), std::end(longs));
  pbf_writer(texts).add_string(6, "left");
  pbf_writer(texts).add_string(6, "");
  const std::string graph = message([&](pbf_writer& out) {
    add(out, 2, "main");
    {
      pbf_writer node(out, 1);
      for (const char* name : {"x", "", "w"}) add(node, 1, name);
      add(node, 2, "y");
      add(node, 3, "first");
      add(node, 4, "Conv");
      add(node, 7, "ai.onnx");
      add(node, 6, "documentation");
      add_number_attributes(node);
      add_message_attributes(node);
    }
    for (const std::string& tensor : {floats_typed, bytes_typed, longs_typed, texts}) {
      add(out, 5, tensor);
    }
    add(out, 5, onnx_raw(10, {2, 0, 3}, ""));
    add(out, 5, onnx_raw(22, {3}, "\x21\x0f"));
    add_value_info(out, 11, "x");
    add_value_info(out, 12, "y");
    add_value_info(out, 13, "z");
    {
      pbf_writer value(out, 11), type(value, 2);
      add(type, 4, "");  // a sequence
    }
  });
  return message([&](pbf_writer& model) {
    model.add_int64(1, 9);
    add(model, 2, "producer");
    add(model, 3, "1.0");
    {
      pbf_writer opset(model, 8);
      add(opset, 1, "com.example");
      opset.add_int64(2, 3);
    }
    pbf_writer(model, 8).add_int64(2, 20);
    add(model, 7, graph);
    {
      pbf_writer entry(model, 14);
      add(entry, 1, "key");
      add(entry, 2, "value");
    }
    add(model, 25, "");
    model.add_fixed64(1000, 1);  // a field of the future
  });
}

}  // namespace hone::tests
