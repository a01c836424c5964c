// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <deque>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "ops/onnx/read.h"
#include "tests/unit/onnx_models.h"

using namespace hone::onnx;
using namespace hone::tests;
using protozero::pbf_writer;
namespace fs = std::filesystem;

namespace {

/// A folder that is gone with the object.
struct Folder {
  Folder() {
    std::string name = (fs::temp_directory_path() / "hone-onnx-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path = name;
  }
  ~Folder() { fs::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  fs::path write(const std::string& name, std::string_view bytes) const {
    std::ofstream(path / name, std::ios::binary) << bytes;
    return path / name;
  }

  fs::path path;
};

/// The error of a file, which must be one.
std::string error_of(std::string_view bytes, const fs::path& folder = {}) {
  const hone::Result<Model> model = read(bytes, folder);
  REQUIRE_FALSE(model);
  return model.failure().message;
}

std::string with_initializer(std::string_view tensor) {
  return onnx_model(message([&](pbf_writer& graph) { add(graph, 5, tensor); }));
}

/// The error of a model with that initializer, from behind the place's name.
std::string tensor_error(std::string_view tensor, const fs::path& folder = {}) {
  const std::string text = error_of(with_initializer(tensor), folder);
  const std::string place = "graph.initializer[0] \"t\"";
  CHECK_MESSAGE(text.starts_with(place), text);
  const size_t at = text.find(": ");
  REQUIRE(at != text.npos);
  return text.substr(at + 2);
}

/// The data of a tensor, read as an initializer.
std::string data_of(std::string_view tensor) {
  const std::string bytes = with_initializer(tensor);
  const Model model = read(bytes).value();
  REQUIRE(model.graph.initializers.size() == 1);
  return std::string(model.graph.initializers[0].data);
}

template <class T>
std::string bytes_of_values(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

/// Graphs in each other: `depth` of them.
std::string nested_graphs(int depth) {
  std::string graph;
  for (int i = 1; i < depth; ++i) graph = onnx_graph_with(onnx_attribute(5, 6, graph));
  return onnx_model(graph);
}

void check_dims(const ValueInfo& value) {
  CHECK(value.kind == ValueInfo::kTensor);
  CHECK(value.type == DataType::kFloat);
  CHECK(value.has_shape);
  REQUIRE(value.shape.size() == 4);
  CHECK(value.shape[0].kind == Dim::kValue);
  CHECK(value.shape[0].value == 5);
  CHECK(value.shape[1].kind == Dim::kParameter);
  CHECK(value.shape[1].parameter == "batch");
  CHECK(value.shape[2].kind == Dim::kUnknown);
  CHECK(value.shape[3].kind == Dim::kUnknown);
}

const Attribute& attribute(const Model& model, std::string_view name) {
  for (const Attribute& found : model.graph.nodes[0].attributes) {
    if (found.name == name) return found;
  }
  FAIL("no attribute " << name);
  return model.graph.nodes[0].attributes[0];
}

}  // namespace

TEST_CASE("onnx: a model's members are those that were written") {
  const std::string bytes = onnx_sample();
  const Model model = read(bytes).value();
  CHECK(model.ir_version == 9);
  CHECK(model.producer == "producer");
  CHECK(model.producer_version == "1.0");
  REQUIRE(model.opsets.size() == 2);
  CHECK(model.opsets[0].domain == "com.example");
  CHECK(model.opsets[0].version == 3);
  CHECK(model.opsets[1].domain.empty());
  CHECK(model.opsets[1].version == 20);
  CHECK(model.functions == 1);
  CHECK_FALSE(model.has_training);
  REQUIRE(model.metadata.size() == 1);
  CHECK(model.metadata[0].key == "key");
  CHECK(model.metadata[0].value == "value");

  const Graph& graph = model.graph;
  CHECK(graph.name == "main");
  REQUIRE(graph.nodes.size() == 1);
  CHECK(graph.nodes[0].op_type == "Conv");
  CHECK(graph.nodes[0].domain == "ai.onnx");
  CHECK(graph.nodes[0].name == "first");
  CHECK(graph.nodes[0].inputs == std::vector<std::string_view>{"x", "", "w"});
  CHECK(graph.nodes[0].outputs == std::vector<std::string_view>{"y"});
  REQUIRE(graph.inputs.size() == 2);
  REQUIRE(graph.outputs.size() == 1);
  REQUIRE(graph.value_infos.size() == 1);
  CHECK(graph.inputs[0].name == "x");
  check_dims(graph.inputs[0]);
  check_dims(graph.outputs[0]);
  check_dims(graph.value_infos[0]);
  CHECK(graph.inputs[1].kind == ValueInfo::kSequence);
  CHECK_FALSE(graph.inputs[1].has_shape);

  REQUIRE(graph.initializers.size() == 6);
  const std::vector<Tensor>& t = graph.initializers;
  CHECK(t[0].type == DataType::kFloat);
  CHECK(t[0].dims == std::vector<int64_t>{3});
  CHECK(t[0].data == bytes_of_values<float>({1, 2, 3}));
  CHECK(t[1].data == "\xff\xff\x07");
  CHECK(t[2].data == bytes_of_values<int64_t>({-1, int64_t{1} << 50, 0}));
  CHECK(t[3].strings == std::vector<std::string_view>{"left", ""});
  CHECK(t[4].elements == 0);
  CHECK(t[4].dims == std::vector<int64_t>{2, 0, 3});
  CHECK(t[5].data == "\x21\x0f");
  // Raw data are not copied.
  CHECK(t[5].data.data() > bytes.data());
  CHECK(t[5].data.data() < bytes.data() + bytes.size());
}

TEST_CASE("onnx: attributes of every kind") {
  const std::string bytes = onnx_sample();
  const Model model = read(bytes).value();
  CHECK(model.graph.nodes[0].attributes.size() == 16);
  CHECK(attribute(model, "float").f == 2.5f);
  CHECK(attribute(model, "float").kind == AttributeKind::kFloat);
  CHECK(attribute(model, "int").i == -7);
  CHECK(attribute(model, "string").s == "text");
  for (const char* name : {"floats", "packed floats"}) {
    CHECK(attribute(model, name).floats == std::vector<float>{0.5f, -1});
  }
  for (const char* name : {"ints", "packed ints"}) {
    CHECK(attribute(model, name).ints == std::vector<int64_t>{1, -2, int64_t{1} << 40});
  }
  CHECK(attribute(model, "strings").strings == std::vector<std::string_view>{"one", "", "three"});
  REQUIRE(attribute(model, "tensor").tensors.size() == 1);
  CHECK(attribute(model, "tensor").tensors[0].data == "\x01\xff");
  CHECK(attribute(model, "tensors").tensors.size() == 2);
  REQUIRE(attribute(model, "graph").graphs.size() == 1);
  CHECK(attribute(model, "graph").graphs[0].name == "inner");
  check_dims(attribute(model, "graph").graphs[0].outputs.at(0));
  CHECK(attribute(model, "graphs").graphs.size() == 2);
  CHECK(attribute(model, "sparse tensor").kind == AttributeKind::kSparseTensor);
  CHECK(attribute(model, "sparse tensors").kind == AttributeKind::kSparseTensors);
  CHECK(attribute(model, "type").kind == AttributeKind::kType);
  CHECK(attribute(model, "types").kind == AttributeKind::kTypes);
}

TEST_CASE("onnx: an attribute without a type has that of its value, and numbers have a default") {
  std::deque<std::string> files;  // which the results point into
  const auto read_one = [&](std::string_view attribute) {
    files.push_back(onnx_model(onnx_graph_with(attribute)));
    return read(files.back()).value().graph.nodes[0].attributes[0];
  };
  CHECK(read_one(message([](pbf_writer& a) { a.add_int64(3, 4); })).kind == AttributeKind::kInt);
  CHECK(read_one(message([](pbf_writer& a) { a.add_int64(8, 4); })).ints ==
        std::vector<int64_t>{4});
  CHECK(read_one(message([](pbf_writer& a) { a.add_enum(20, 2); })).i == 0);
  CHECK(read_one(message([](pbf_writer& a) { a.add_enum(20, 7); })).ints.empty());
  // Values of other types do not count.
  const Attribute both = read_one(message([](pbf_writer& a) {
    a.add_float(2, 1);
    a.add_int64(3, 4);
    a.add_enum(20, 2);
  }));
  CHECK(both.i == 4);
  CHECK(both.f == 0);
  const Attribute reference = read_one(message([](pbf_writer& a) {
    add(a, 21, "outer");
    a.add_enum(20, 4);
  }));
  CHECK(reference.reference == "outer");
}

TEST_CASE("onnx: tensors of each type, raw and typed") {
  CHECK(data_of(onnx_raw(0 + 1, {2}, "12345678")) == "12345678");
  const auto typed = [](int32_t type, int64_t count, auto write) {
    std::string tensor = onnx_tensor(type, {count});
    pbf_writer writer(tensor);
    write(writer);
    return tensor;
  };
  // Packed and one by one: files have both.
  const auto check_int32s = [&](int32_t type, int64_t count, const std::vector<int32_t>& values,
                                std::string_view want) {
    CAPTURE(type);
    CHECK(data_of(typed(type, count, [&](pbf_writer& w) {
            w.add_packed_int32(5, values.begin(), values.end());
          })) == want);
    CHECK(data_of(typed(type, count, [&](pbf_writer& w) {
            for (const int32_t value : values) w.add_int32(5, value);
          })) == want);
    CHECK(data_of(onnx_raw(type, {count}, want)) == want);
  };
  const std::string bytes("\x00\x80\xff", 3), pairs("\x00\x00\x00\x80\xff\xff", 6);
  for (const int32_t type : {2, 3, 9, 17, 18, 19, 20, 24}) {
    check_int32s(type, 3, {0, 128, 255}, bytes);
    check_int32s(type, 3, {0, -128, -1}, bytes);
  }
  for (const int32_t type : {4, 5, 10, 16}) {
    check_int32s(type, 3, {0, 32768, 65535}, pairs);
    check_int32s(type, 3, {0, -32768, -1}, pairs);
  }
  for (const int32_t type : {21, 22, 23}) check_int32s(type, 3, {0x21, 0x0f}, "\x21\x0f");
  for (const int32_t type : {25, 26}) check_int32s(type, 5, {0xe4, 0x03}, "\xe4\x03");
  const std::vector<int32_t> ints = {0, -1, std::numeric_limits<int32_t>::min()};
  check_int32s(6, 3, ints, bytes_of_values(ints));

  const std::vector<int64_t> longs = {-1, std::numeric_limits<int64_t>::min(), 3};
  CHECK(data_of(typed(7, 3, [&](pbf_writer& w) {
          w.add_packed_int64(7, longs.begin(), longs.end());
        })) == bytes_of_values(longs));
  const std::vector<uint64_t> unsigned_longs = {~uint64_t{0}, 3};
  CHECK(data_of(typed(13, 2, [&](pbf_writer& w) {
          w.add_packed_uint64(11, unsigned_longs.begin(), unsigned_longs.end());
        })) == bytes_of_values(unsigned_longs));
  CHECK(data_of(typed(12, 1, [](pbf_writer& w) { w.add_uint64(11, 0xffffffff); })) ==
        "\xff\xff\xff\xff");
  const std::vector<float> floats = {1, -0.f, 3, 4};
  const std::vector<double> doubles = {1, -2, 3, 4};
  for (const int32_t type : {1, 14}) {
    CHECK(data_of(typed(type, type == 1 ? 4 : 2, [&](pbf_writer& w) {
            w.add_packed_float(4, floats.begin(), floats.end());
          })) == bytes_of_values(floats));
  }
  for (const int32_t type : {11, 15}) {
    CHECK(data_of(typed(type, type == 11 ? 4 : 2, [&](pbf_writer& w) {
            w.add_double(10, 1);  // the last two in one value
            w.add_double(10, -2);
            w.add_packed_double(10, doubles.begin() + 2, doubles.end());
          })) == bytes_of_values(doubles));
  }
  // A scalar has no dims, and an empty tensor has no data.
  CHECK(data_of(onnx_raw(1, {}, "1234")) == "1234");
  CHECK(data_of(onnx_tensor(1, {3, 0})).empty());
}

TEST_CASE("onnx: what is wrong with a tensor is told") {
  const auto typed = [](int32_t type, int64_t count, auto write) {
    std::string tensor = onnx_tensor(type, {count});
    pbf_writer writer(tensor);
    write(writer);
    return tensor;
  };
  CHECK(tensor_error(onnx_tensor(0, {2})) == "data_type is 0; known are 1 (float) to 26 (int2)");
  CHECK(tensor_error(onnx_tensor(27, {2})) == "data_type is 27; known are 1 (float) to 26 (int2)");
  CHECK(tensor_error(onnx_tensor(1, {2, 3})) ==
        "float[2,3] has no values; they stand in raw_data or float_data");
  CHECK(tensor_error(onnx_raw(1, {2, 3}, "1234")) == "raw_data has 4 bytes; float[2,3] has 24");
  CHECK(tensor_error(onnx_raw(22, {3}, "1")) == "raw_data has 1 bytes; int4[3] has 2");
  CHECK(tensor_error(onnx_raw(1, {0}, "1234")) == "raw_data has 4 bytes; float[0] has 0");
  CHECK(tensor_error(onnx_tensor(1, {2, -1})) == "the dim -1 is negative; write 0 or more");
  CHECK(tensor_error(onnx_tensor(1, std::vector<int64_t>(65, 1))) ==
        "this tensor has 65 dims; at most 64 are read");
  CHECK(data_of(onnx_raw(2, std::vector<int64_t>(64, 1), "1")) == "1");
  const int64_t large = int64_t{1} << 40;
  CHECK(tensor_error(onnx_tensor(1, {large, 2})) ==
        "the dims 1099511627776x2 make more than 2^40 elements");
  CHECK(tensor_error(onnx_tensor(1, {0, large, large})) ==
        "the dims 0x1099511627776x1099511627776 make more than 2^40 elements");
  CHECK(tensor_error(onnx_tensor(1, {std::numeric_limits<int64_t>::max()})) ==
        "the dims 9223372036854775807 make more than 2^40 elements");
  CHECK(tensor_error(onnx_tensor(1, {large})) ==
        "float[1099511627776] has no values; they stand in raw_data or float_data");
  CHECK(tensor_error(typed(1, 2, [](pbf_writer& w) { w.add_float(4, 1); })) ==
        "float_data has 1 values; float[2] has 2");
  CHECK(tensor_error(typed(14, 1, [](pbf_writer& w) { w.add_float(4, 1); })) ==
        "float_data has 1 values; complex64[1] has 2");
  CHECK(tensor_error(typed(1, 1, [](pbf_writer& w) { w.add_int32(5, 1); })) ==
        "the values of float[1] stand in int32_data; they stand in float_data or raw_data");
  CHECK(tensor_error(typed(8, 2, [](pbf_writer& w) { w.add_string(6, "a"); })) ==
        "string_data has 1 values; string[2] has 2");
  std::string both = onnx_raw(1, {1}, "1234");
  pbf_writer(both).add_float(4, 1);
  CHECK(tensor_error(both) == "the values of float[1] stand in float_data; they stand in raw_data");
  CHECK(tensor_error(typed(2, 1, [](pbf_writer& w) { w.add_int32(5, 256); })) ==
        "256 stands here, which does not fit uint8; -128 to 255 do");
  CHECK(tensor_error(typed(12, 1, [](pbf_writer& w) { w.add_uint64(11, 1ull << 32); })) ==
        "4294967296 stands here, which does not fit uint32; 0 to 4294967295 do");
  CHECK(tensor_error(typed(1, 1, [](pbf_writer& w) { w.add_enum(14, 2); })) ==
        "data_location is 2; it is 0 (here) or 1 (external)");
  CHECK(tensor_error(typed(1, 1, [](pbf_writer& w) { add(w, 3, ""); })) ==
        "a segment stands here, which parts of tensors and sequences have; whole tensors are read");
}

TEST_CASE("onnx: errors say where and what is accepted") {
  const std::string good = onnx_sample();
  CHECK(error_of("") == "at byte 0: there are no bytes here");
  CHECK(error_of(onnx_raw(1, {1}, "1234")) ==
        "ir_version at byte 1: a value with a length stands here; this field is a varint");
  CHECK(error_of(message([](pbf_writer& w) { w.add_int64(1, 8); })) ==
        "at byte 0: this message has 0 graphs and 1 ir_version; a model has one of each");
  CHECK(error_of(onnx_model("") + message([](pbf_writer& w) { add(w, 7, ""); })) ==
        "at byte 0: this message has 2 graphs and 1 ir_version; a model has one of each");
  CHECK(error_of(message([](pbf_writer& w) {
          w.add_int64(1, -1);
          add(w, 7, "");
        })) == "at byte 0: ir_version is -1; it is 1 or more");
  CHECK(error_of(onnx_model("") + message([](pbf_writer& w) { add(w, 8, ""); })) ==
        "opset_import[1] at byte 10: the version of the operators of domain \"\" is 0; it is 1 or "
        "more");
  const std::string damaged = "; the file is damaged, cut off or not of this format";
  CHECK(error_of(good.substr(0, good.size() - 20)) ==
        "metadata_props at byte 882: the value goes past the end of its message" + damaged);
  for (const char* bytes : {"\x0b", "\x07", "\x02\x01", "\xc2\xa3\x09"}) {  // wire types, tags
    CHECK(error_of(bytes) == "at byte 0: no field begins here" + damaged);
  }
  CHECK(error_of("\x08" + std::string(10, '\xff') + "\x01") ==
        "ir_version at byte 1: this number has more than 10 bytes" + damaged);
  CHECK(error_of(onnx_model(onnx_graph_with(onnx_attribute(6, 7, "12345")))) ==
        "graph.node[0] \"n\".attribute[0].floats at byte 26: the length is no multiple of the size "
        "of a value" +
            damaged);
  // The path goes through nodes and attributes, by the names they have.
  const std::string ints = message([](pbf_writer& a) {
    add(a, 1, "pads");
    a.add_float(8, 1);
    a.add_enum(20, 7);
  });
  CHECK(error_of(onnx_model(onnx_graph_with(ints))) ==
        "graph.node[0] \"n\".attribute[0].ints at byte 26: a value of 4 bytes stands here; this "
        "field is a varint, or several in one with a length");
  CHECK(
      error_of(onnx_model(onnx_graph_with(onnx_attribute(15, 4, "")))) ==
      "graph.node[0] \"n\".attribute[0] \"a\" at byte 19: the attribute's type is 15; known are 1 "
      "to 14");
  CHECK(
      error_of(onnx_model(onnx_graph_with(message([](pbf_writer& a) { add(a, 1, "a"); })))) ==
      "graph.node[0] \"n\".attribute[0] \"a\" at byte 19: this attribute has neither a type nor a "
      "value");
  CHECK(error_of(onnx_model(onnx_graph_with(onnx_attribute(4, 4, "")))) ==
        "graph.node[0] \"n\".attribute[0] \"a\" at byte 19: 0 values stand in t; this type has "
        "one");
  const std::string tensors = onnx_attribute(9, 10, onnx_raw(1, {1}, "1234")) +
                              message([](pbf_writer& a) { add(a, 10, onnx_raw(1, {1}, "123")); });
  CHECK(error_of(onnx_model(onnx_graph_with(tensors))) ==
        "graph.node[0] \"n\".attribute[0] \"a\".tensors[1] \"t\" at byte 43: raw_data has 3 bytes; "
        "float[1] has 4");
  // Names are those of the file, and may hold anything.
  const std::string strange =
      message([](pbf_writer& a) { add(a, 1, "q\"\n\x80" + std::string(99, 'x')); });
  CHECK(error_of(onnx_model(onnx_graph_with(strange)))
            .starts_with("graph.node[0] \"n\".attribute[0] \"q\\\"\\x0a\\x80" +
                         std::string(60, 'x') + "...\" at byte"));
  CHECK(error_of(onnx_model(message([](pbf_writer& g) { add(g, 1, ""); }))) ==
        "graph.node[0] at byte 10: this node has no op_type");
  CHECK(error_of(onnx_model(message([](pbf_writer& g) { add(g, 15, ""); }))) ==
        "graph at byte 8: this graph has sparse initializers; only dense ones are read");
  const auto dim = [](int64_t extent) {
    return onnx_model(message([&](pbf_writer& g) {
      pbf_writer value(g, 11), type(value, 2), tensor(type, 1), shape(tensor, 2);
      pbf_writer(shape, 1).add_int64(1, extent);
    }));
  };
  CHECK(read(dim(-1)));
  CHECK(error_of(dim(-2)) ==
        "graph.input[0].type.tensor_type.shape.dim[0].dim_value at byte 19: the extent -2 is "
        "negative; write 0 or more, or a name");
}

TEST_CASE("onnx: graphs nest as deep as the limit") {
  CHECK(read(nested_graphs(32)));
  const std::string text = error_of(nested_graphs(33));
  CHECK(text.ends_with("graphs are nested more than 32 deep here"));
  CHECK(text.starts_with("graph.node[0] \"n\".attribute[0] \"a\".g.node[0] \"n\"."));
}

TEST_CASE("onnx: a small file does not ask for much memory") {
  // Sixteen million integers of one byte each would take 128 MB.
  const std::string ints(size_t{16} << 20, '\0');
  // A node takes two bytes in the file at least, and many times as much in memory.
  std::string nodes;
  for (int i = 0; i < 2'000'000; ++i) nodes.append("\x0a\x00", 2);
  for (const std::string& bytes :
       {onnx_model(onnx_graph_with(onnx_attribute(7, 8, ints))), onnx_model(nodes)}) {
    const hone::Result<Model> model = read(bytes);
    REQUIRE_FALSE(model);
    CHECK(model.failure().code == hone::ErrorCode::kMemory);
    CHECK(model.failure().message.ends_with(
        "what this file describes takes more memory than its own size and 64 MB"));
  }
}

TEST_CASE("onnx: files of models and of tensors") {
  const Folder folder;
  const fs::path model_path = folder.write("model.onnx", onnx_sample());
  Tensor weights;
  {
    Model model = read_file(model_path).value();
    weights = model.graph.initializers[5];
  }
  // The tensor keeps the file mapped.
  CHECK(weights.data == "\x21\x0f");
  CHECK(weights.name == "t");
  std::string typed = onnx_tensor(1, {1});
  pbf_writer(typed).add_float(4, 1);
  for (const std::string& bytes : {onnx_raw(1, {1}, bytes_of_values<float>({1})), typed}) {
    const Tensor tensor = read_tensor_file(folder.write("input_0.pb", bytes)).value();
    CHECK(tensor.name == "t");
    CHECK(tensor.data == bytes_of_values<float>({1}));
  }
  const hone::Result<Model> missing = read_file(folder.path / "missing.onnx");
  REQUIRE_FALSE(missing);
  CHECK(missing.failure().code == hone::ErrorCode::kNotFound);
  CHECK(missing.failure().message ==
        (folder.path / "missing.onnx").string() + " cannot be read: No such file or directory");
  CHECK(read_file(folder.path).failure().message ==
        folder.path.string() + " cannot be read: it is not a regular file");
  const fs::path empty = folder.write("empty.onnx", "");
  CHECK(read_file(empty).failure().message ==
        empty.string() + ": at byte 0: there are no bytes here");
  CHECK(read_tensor_file(model_path).failure().code == hone::ErrorCode::kSyntax);
}

TEST_CASE("onnx: external data are read from the model's folder alone") {
  const Folder folder, elsewhere;
  folder.write("weights", "0123456789");
  elsewhere.write("secret", "0123456789");
  fs::create_directory(folder.path / "sub");
  folder.write("sub/more", "abcdefgh");
  fs::create_symlink(elsewhere.path / "secret", folder.path / "link");
  fs::create_directory_symlink(elsewhere.path, folder.path / "away");
  fs::create_symlink("weights", folder.path / "near");
  REQUIRE(::mkfifo((folder.path / "pipe").c_str(), 0600) == 0);
  using Entries = std::vector<std::pair<std::string, std::string>>;
  const auto tensor = [](const Entries& entries) { return onnx_external(2, {4}, entries); };
  const auto data = [&](const Entries& entries) {
    const fs::path path = folder.write("model.onnx", with_initializer(tensor(entries)));
    const Tensor read = read_file(path).value().graph.initializers[0];
    CHECK(read.name == "t");
    return std::string(read.data);
  };
  CHECK(data({{"location", "weights"}}) == "0123");
  CHECK(data({{"location", "weights"}, {"offset", "6"}}) == "6789");
  CHECK(data({{"location", "./weights"}, {"offset", "5"}, {"length", "4"}, {"checksum", "x"}}) ==
        "5678");
  CHECK(data({{"location", "near"}, {"offset", "1"}}) == "1234");
  CHECK(data({{"location", "sub/more"}}) == "abcd");

  const auto error = [&](const Entries& entries) {
    return tensor_error(tensor(entries), folder.path);
  };
  CHECK(error({}) == "external_data has no location; it names a file");
  for (const std::string& location : {(folder.path / "weights").string(), std::string(),
                                      std::string("../weights"), std::string("sub/../weights")}) {
    CHECK(error({{"location", location}}).ends_with("; a path below the model's folder is read"));
  }
  CHECK(error({{"location", std::string("weights\0x", 9)}}) ==
        "external data are in \"weights\\x00x\"; a path below the model's folder is read");
  for (const char* location : {"link", "away/secret"}) {
    CHECK(error({{"location", location}}) ==
          fmt::format("external data in \"{}\" are outside of the model's folder, where a link "
                      "leads; put the file itself there",
                      location));
  }
  CHECK(error({{"location", "none"}}) ==
        "external data in \"none\" cannot be read: No such file or directory");
  CHECK(error({{"location", "pipe"}}).ends_with("pipe cannot be read: it is not a regular file"));
  CHECK(error({{"location", "."}}).ends_with("cannot be read: it is not a regular file"));
  CHECK(error({{"location", "weights"}, {"offset", "7"}}) ==
        "4 bytes of external data begin at byte 7; \"weights\" has 10 bytes");
  CHECK(error({{"location", "weights"}, {"offset", "9223372036854775807"}}) ==
        "4 bytes of external data begin at byte 9223372036854775807; \"weights\" has 10 bytes");
  for (const char* offset : {"-1", "", "1x", "9223372036854775808"}) {
    CHECK(error({{"location", "weights"}, {"offset", offset}}) ==
          fmt::format("the offset \"{}\" of external data is no number of bytes; write digits",
                      offset));
  }
  CHECK(error({{"location", "weights"}, {"length", "5"}}) ==
        "the external data have 5 bytes; this tensor has 4");
  CHECK(tensor_error(tensor({{"location", "weights"}})) ==
        "external data are in \"weights\", and no folder was given to look for it");
  CHECK(tensor_error(onnx_external(8, {1}, {}), folder.path) == "strings cannot be external data");
}
