// SPDX-License-Identifier: Apache-2.0
// Models of ONNX on a GPU, which is the emulated one, against the same files on this CPU. The files
// are made by protozero's writer.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "tests/cuda/on_gpu.h"

using namespace hone;
using namespace hone::tests;
using protozero::pbf_writer;

namespace {

/// Numbers of ONNX's types.
/// Fixed by: onnx.proto.
constexpr int32_t kFloat = 1, kUint8 = 2, kInt8 = 3;
constexpr int32_t kInts = 7;

/// A model of one graph under construction.
class OnnxFile {
 public:
  struct Ints {
    std::string_view name;
    std::vector<int64_t> values;
  };

  void node(std::string_view op, const std::vector<std::string_view>& reads, std::string_view makes,
            const std::vector<Ints>& attributes = {}) {
    pbf_writer node(graph_, 1);
    for (const std::string_view r : reads) put(node, 1, r);
    put(node, 2, makes);
    put(node, 4, op);
    for (const Ints& a : attributes) {
      pbf_writer attribute(node, 5);
      put(attribute, 1, a.name);
      for (const int64_t v : a.values) attribute.add_int64(8, v);
      attribute.add_enum(20, kInts);
    }
  }
  template <class T>
  void weight(std::string_view name, int32_t type, const std::vector<int64_t>& dims,
              const std::vector<T>& values) {
    pbf_writer tensor(graph_, 5);
    tensor.add_packed_int64(1, dims.begin(), dims.end());
    tensor.add_int32(2, type);
    put(tensor, 8, name);
    put(tensor, 9, {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)});
  }
  /// A tensor of calls; the dim -1 is `batch`.
  void given(std::string_view name, bool output, const std::vector<int64_t>& dims) {
    pbf_writer value(graph_, output ? 12 : 11);
    put(value, 1, name);
    pbf_writer type(value, 2), tensor(type, 1);
    tensor.add_int32(1, kFloat);
    pbf_writer shape(tensor, 2);
    for (const int64_t d : dims) {
      pbf_writer dim(shape, 1);
      if (d < 0) put(dim, 2, "batch");
      if (d >= 0) dim.add_int64(1, d);
    }
  }
  void write(const std::string& path) {
    std::string model;
    {
      pbf_writer writer(model);
      writer.add_int64(1, 8);
      pbf_writer(writer, 8).add_int64(2, 17);
      put(writer, 7, bytes_);
    }
    std::ofstream(path, std::ios::binary) << model;
  }

 private:
  static void put(pbf_writer& writer, uint32_t tag, std::string_view bytes) {
    writer.add_bytes(tag, bytes.data(), bytes.size());
  }

  std::string bytes_;
  pbf_writer graph_{bytes_};
};

std::vector<float> cosine(size_t n, float step, float scale = 1) {
  std::vector<float> v(n);
  for (size_t i = 0; i < n; ++i) v[i] = scale * std::cos(step * static_cast<float>(i));
  return v;
}

/// A file that goes with the test.
struct TemporaryModel {
  explicit TemporaryModel(std::string name) : path(std::move(name)) {}
  ~TemporaryModel() { std::remove(path.c_str()); }
  TemporaryModel(const TemporaryModel&) = delete;
  TemporaryModel& operator=(const TemporaryModel&) = delete;
  std::string path;
};

/// The output of a model on its input.
std::vector<float> output_of(const Model& model, const std::vector<float>& x,
                             const std::vector<int64_t>& x_shape,
                             const std::vector<int64_t>& y_shape) {
  size_t count = 1;
  for (const int64_t d : y_shape) count *= static_cast<size_t>(d);
  std::vector<float> y(count);
  const NamedTensor in[] = {{"x", TensorRef(x.data(), std::span(x_shape))}};
  const NamedTensor out[] = {{"y", TensorRef(y.data(), std::span(y_shape))}};
  model.run(in, out);
  return y;
}

/// The largest difference, as a share of the largest element.
double apart(const std::vector<float>& got, const std::vector<float>& want) {
  double most = 0, largest = 0;
  for (size_t i = 0; i < want.size(); ++i) {
    most = std::max(most, std::abs(double{got[i]} - want[i]));
    largest = std::max(largest, std::abs(double{want[i]}));
  }
  return most / largest;
}

/// Convolutions, a maximum, a mean and a dense layer.
void write_convolutions(const std::string& path) {
  OnnxFile file;
  file.node("Conv", {"x", "f1", "b1"}, "a", {{"pads", {1, 1, 1, 1}}});
  file.node("Relu", {"a"}, "b");
  file.node("MaxPool", {"b"}, "c", {{"kernel_shape", {2, 2}}, {"strides", {2, 2}}});
  file.node("Conv", {"c", "f2"}, "d");
  file.node("Relu", {"d"}, "e");
  file.node("GlobalAveragePool", {"e"}, "g");
  file.node("Flatten", {"g"}, "h");
  file.node("Gemm", {"h", "w", "v"}, "y");
  file.weight("f1", kFloat, {6, 3, 3, 3}, cosine(162, 0.7f, 0.3f));
  file.weight("b1", kFloat, {6}, cosine(6, 0.5f));
  file.weight("f2", kFloat, {8, 6, 3, 3}, cosine(432, 1.3f, 0.3f));
  file.weight("w", kFloat, {8, 5}, cosine(40, 0.9f));
  file.weight("v", kFloat, {5}, cosine(5, 0.2f));
  file.given("x", false, {-1, 3, 10, 8});
  file.given("y", true, {-1, 5});
  file.write(path);
}

/// A dense layer of 8 bits between QuantizeLinear and DequantizeLinear.
void write_bytes(const std::string& path) {
  OnnxFile file;
  file.node("QuantizeLinear", {"x", "sx", "zx"}, "q");
  file.node("DequantizeLinear", {"q", "sx", "zx"}, "a");
  file.node("DequantizeLinear", {"w8", "sw", "zw"}, "w");
  file.node("MatMul", {"a", "w"}, "m");
  file.node("Relu", {"m"}, "y");
  std::vector<int8_t> w(24 * 16);
  for (size_t i = 0; i < w.size(); ++i) w[i] = static_cast<int8_t>(i * 37 % 251 - 125);
  file.weight("w8", kInt8, {24, 16}, w);
  file.weight("sw", kFloat, {}, std::vector<float>{0.01f});
  file.weight("zw", kInt8, {}, std::vector<int8_t>{0});
  file.weight("sx", kFloat, {}, std::vector<float>{0.015f});
  file.weight("zx", kUint8, {}, std::vector<uint8_t>{128});
  file.given("x", false, {-1, 24});
  file.given("y", true, {-1, 16});
  file.write(path);
}

}  // namespace

TEST_CASE("device onnx: a net of convolutions, fused and node by node") {
  const OnGpu gpu;
  const TemporaryModel file("device-convolutions.onnx");
  write_convolutions(file.path);
  Engine host(EngineOptions{.cache = ":memory:", .threads = 1});
  const Model want = host.load(file.path, {.dims = "batch=1..3"});
  Engine engine = gpu_engine();
  for (const bool fuse : {true, false}) {
    const Model model = engine.load(file.path, {.dims = "batch=1..3", .fuse = fuse});
    for (const int64_t batch : {int64_t{3}, int64_t{2}}) {
      const std::vector<int64_t> in{batch, 3, 10, 8}, out{batch, 5};
      const std::vector<float> x = cosine(static_cast<size_t>(batch) * 240, 0.37f);
      const std::vector<float> expected = output_of(want, x, in, out);
      // Launch by launch, then as a graph.
      for (int i = 0; i < 2; ++i) CHECK(apart(output_of(model, x, in, out), expected) < 1e-5);
    }
  }
}

TEST_CASE("device onnx: a layer of 8 bits, whose sums a CPU has in integers") {
  const OnGpu gpu;
  const TemporaryModel file("device-bytes.onnx");
  write_bytes(file.path);
  Engine host(EngineOptions{.cache = ":memory:", .threads = 1});
  Engine engine = gpu_engine();
  const std::vector<int64_t> in{4, 24}, out{4, 16};
  const std::vector<float> x = cosine(96, 0.37f);
  const std::vector<float> want = output_of(host.load(file.path, {.dims = "batch=4"}), x, in, out);
  const std::vector<float> got = output_of(engine.load(file.path, {.dims = "batch=4"}), x, in, out);
  CHECK(apart(got, want) < 1e-5);
}
