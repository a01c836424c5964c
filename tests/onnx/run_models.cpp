// SPDX-License-Identifier: Apache-2.0
// Runs ONNX's tests: each is a folder with a model, tensors that it is given, and those that it
// makes. Prints a line for each: `pass`, `FAIL why` or `none why`, where there is no op for it.
// HONE_TEST_TARGET says what to compile for, `cuda`; else this CPU.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <set>
#include <string>
#include <vector>

#include "include/hone/hone.h"
#include "jit/interp/scalar.h"
#include "ops/import/importer.h"
#include "ops/onnx/read.h"

namespace fs = std::filesystem;
using hone::DType;
using hone::NamedTensor;
using hone::TensorRef;

namespace {

/// Fixed by: ONNX's own tests.
constexpr double kRelative = 1e-3, kAbsolute = 1e-7;
/// Of Fourier transforms, beside their greatest element.
/// Chosen: sums of a few hundred terms in f32 (not measured).
constexpr double kTransformed = 1e-6;
/// Of types whose mantissa is shorter than that.
/// Fixed by: bits of their mantissas.
constexpr double kNarrow = 2e-2;

/// A tensor of a test's file, in aligned memory.
struct TestTensor {
  std::vector<int64_t> memory, shape;
  DType type = DType::kF32;
  int64_t elements = 0;

  TensorRef ref() { return {static_cast<void*>(memory.data()), type, shape}; }
};

/// `type` is that of the model: files have bf16 as integers, and bools as bytes.
hone::Result<TestTensor> read_tensor(const fs::path& path, hone::onnx::DataType type) {
  auto read = hone::onnx::read_tensor_file(path);
  if (!read) return read.failure();
  TestTensor out;
  out.type = hone::ops::import_type(type);
  out.shape = read->dims;
  out.elements = read->elements;
  if (read->data.size() != static_cast<size_t>(bytes_of_row(out.type, out.elements))) {
    return hone::Failure{hone::ErrorCode::kUnsupported, path.string() + " is of another type"};
  }
  const std::string data =
      is_packed(out.type) ? hone::ops::rows_of_packed(*read) : std::string(read->data);
  out.memory.resize(data.size() / sizeof(int64_t) + 1);
  if (!data.empty()) std::memcpy(out.memory.data(), data.data(), data.size());
  return out;
}

/// An element of less than a byte. Rows begin at whole bytes.
double packed_element(const TestTensor& t, int64_t i) {
  const int64_t row = t.shape.empty() ? 1 : t.shape.back(), column = i % row,
                in_byte = elements_per_byte(t.type), bits = bit_width_of(t.type);
  const auto* bytes = reinterpret_cast<const uint8_t*>(t.memory.data());
  const int byte = bytes[i / row * bytes_of_row(t.type, row) + column / in_byte];
  const int value = (byte >> (bits * (column % in_byte))) & ((1 << bits) - 1);
  return !is_unsigned(t.type) && value >> (bits - 1) != 0 ? value - (1 << bits) : value;
}

double element(const TestTensor& t, int64_t i) {
  if (is_packed(t.type)) return packed_element(t, i);
  return is_float(t.type) ? hone::jit::read_float(t.type, t.memory.data(), i)
                          : static_cast<double>(hone::jit::read_int(t.type, t.memory.data(), i));
}

/// The greatest element of a transform, on which the errors of all its elements depend.
double greatest(const TestTensor& t) {
  double most = 0;
  for (int64_t i = 0; i < t.elements; ++i) most = std::max(most, std::abs(element(t, i)));
  return most;
}

std::string difference(const TestTensor& got, const TestTensor& want, bool transformed) {
  const double relative = is_narrow_float(want.type) ? kNarrow : kRelative;
  const double absolute =
      transformed ? std::max(kAbsolute, kTransformed * greatest(want)) : kAbsolute;
  for (int64_t i = 0; i < want.elements; ++i) {
    const double a = element(got, i), b = element(want, i);
    const bool same = a == b || (std::isnan(a) && std::isnan(b));
    if (!same && !(std::abs(a - b) <= absolute + relative * std::abs(b))) {
      return fmt::format("FAIL element {} is {}, not {}", i, a, b);
    }
  }
  return "pass";
}

/// Files of old versions list weights among the inputs; tests have no values for them.
bool is_initializer(const hone::onnx::Graph& graph, std::string_view name) {
  return std::any_of(graph.initializers.begin(), graph.initializers.end(),
                     [&](const hone::onnx::Tensor& t) { return t.name == name; });
}

bool is_transform(const hone::onnx::Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const hone::onnx::Node& n) {
    return n.op_type == "DFT" || n.op_type == "STFT";
  });
}

/// Whether a test's tensor has the shape that its model declares; some have not.
bool fits(const hone::onnx::ValueInfo& info, const std::vector<int64_t>& shape) {
  for (size_t i = 0; i < info.shape.size(); ++i) {
    const hone::onnx::Dim& d = info.shape[i];
    if (i >= shape.size() || (d.kind == hone::onnx::Dim::kValue && d.value != shape[i])) {
      return false;
    }
  }
  return !info.has_shape || shape.size() == info.shape.size();
}

/// What the tests of one run have besides.
struct Mode {
  bool known = false;  ///< all inputs are known at load
};

/// The dims that calls tell, each over a range from its extent on: `batch=8..16`.
std::string open_dims(const hone::onnx::Graph& graph, const std::vector<NamedTensor>& inputs) {
  std::set<std::string> ranges;
  for (const hone::onnx::ValueInfo& input : graph.inputs) {
    for (const NamedTensor& t : inputs) {
      for (size_t i = 0; t.name == input.name && i < input.shape.size(); ++i) {
        const hone::onnx::Dim& d = input.shape[i];
        if (d.kind != hone::onnx::Dim::kParameter) continue;
        const int64_t extent = t.tensor.extent(static_cast<int>(i));
        ranges.insert(fmt::format("{}={}..{}", d.parameter, extent, 2 * extent));
      }
    }
  }
  return fmt::format("{}", fmt::join(ranges, " "));
}

bool has_open_dims(const hone::onnx::Graph& graph) {
  return std::any_of(graph.inputs.begin(), graph.inputs.end(), [](const auto& input) {
    return std::any_of(input.shape.begin(), input.shape.end(), [](const hone::onnx::Dim& d) {
      return d.kind == hone::onnx::Dim::kParameter;
    });
  });
}

/// Shapes, axes and the like that the file takes for inputs are known where the model wants it:
/// integers and single numbers, then short lists of floats too. They leave `inputs`.
hone::Result<hone::Model> load(hone::Engine& engine, const hone::onnx::Graph& graph,
                               const std::string& path, const Mode& mode,
                               std::vector<NamedTensor>& inputs) {
  hone::ModelOptions options;
  if (mode.known) options.known = std::move(inputs), inputs.clear();
  options.dims = open_dims(graph, inputs);
  auto model = engine.try_load(path, options);
  for (const int64_t most : {1, 8}) {
    if (model || model.failure().message.find("not known before a call") == std::string::npos)
      break;
    std::erase_if(inputs, [&](const NamedTensor& t) {
      const bool known = !is_float(t.tensor.type()) || t.tensor.count() <= most;
      if (known) options.known.push_back(t);
      return known;
    });
    options.dims = open_dims(graph, inputs);
    model = engine.try_load(path, options);
  }
  return model;
}

std::string run(hone::Engine& engine, const Mode& mode, const fs::path& folder) {
  const auto file = hone::onnx::read_file(folder / "model.onnx");
  if (!file) return "none " + file.failure().message;
  const fs::path data = folder / "test_data_set_0";
  std::vector<TestTensor> tensors, results;
  std::vector<NamedTensor> inputs, outputs;
  tensors.reserve(file->graph.inputs.size());
  results.reserve(file->graph.outputs.size());
  for (const hone::onnx::ValueInfo& input : file->graph.inputs) {
    if (is_initializer(file->graph, input.name)) continue;
    auto t = read_tensor(data / fmt::format("input_{}.pb", tensors.size()), input.type);
    if (!t) return "none " + t.failure().message;
    if (!fits(input, t->shape)) return fmt::format("none its {} has not its shape", input.name);
    tensors.push_back(std::move(*t));
    inputs.push_back({input.name, tensors.back().ref()});
  }
  const std::string path = (folder / "model.onnx").string();
  auto model = load(engine, file->graph, path, mode, inputs);
  if (!model) {
    // A dim that weights fix is none that calls tell. What is cut by numbers may be shorter.
    const std::string& why = model.failure().message;
    const bool narrower =
        has_open_dims(file->graph) && (why.find("and for") != std::string::npos ||
                                       why.find("state smaller ranges") != std::string::npos);
    const bool unsupported = narrower || model.failure().code == hone::ErrorCode::kUnsupported;
    return (unsupported ? "none " : "FAIL ") + model.failure().message;
  }
  std::vector<TestTensor> wanted;
  for (size_t i = 0; i < file->graph.outputs.size(); ++i) {
    auto t = read_tensor(data / fmt::format("output_{}.pb", i), file->graph.outputs[i].type);
    if (!t) return "none " + t.failure().message;
    results.push_back(*t);
    std::fill(results.back().memory.begin(), results.back().memory.end(), -1);
    outputs.push_back({file->graph.outputs[i].name, results.back().ref()});
    wanted.push_back(std::move(*t));
  }
  // Where data tell a shape, it is that of the file, whose tensor has no more room.
  std::vector<hone::TensorShape> shapes(outputs.size());
  const auto done = model->try_run(inputs, outputs, {.shapes = shapes});
  if (!done) return "FAIL " + done.failure().message;
  for (size_t i = 0; i < wanted.size(); ++i) {
    const auto* begin = shapes[i].extents.data();
    if (std::vector<int64_t>(begin, begin + shapes[i].rank) != wanted[i].shape) {
      return fmt::format("FAIL output {} is [{}], not [{}]", i,
                         fmt::join(begin, begin + shapes[i].rank, ","),
                         fmt::join(wanted[i].shape, ","));
    }
    const std::string told = difference(results[i], wanted[i], is_transform(file->graph));
    if (told != "pass") return told;
  }
  return "pass";
}

}  // namespace

int main(int argc, char** argv) {
  hone::EngineOptions options;
  options.cache = ":memory:";
  options.threads = 1;
  if (const char* target = std::getenv("HONE_TEST_TARGET")) options.target = target;
  hone::Engine engine(options);
  Mode mode;
  mode.known = argc > 1 && std::string_view(argv[1]) == "--known";
  for (int i = mode.known ? 2 : 1; i < argc; ++i) {
    const fs::path folder = argv[i];
    std::string told;
    try {
      told = run(engine, mode, folder);
    } catch (const hone::ops::Unsupported& u) {
      told = "none " + u.why;
    } catch (const std::exception& e) {
      told = fmt::format("FAIL {}", e.what());
    }
    std::replace(told.begin(), told.end(), '\n', ' ');
    std::cout << folder.filename().string() << " " << told << "\n" << std::flush;
  }
  return 0;
}
