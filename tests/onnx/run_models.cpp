// SPDX-License-Identifier: Apache-2.0
// Runs ONNX's tests: each is a folder with a model, tensors that it is given, and those that it
// makes. Prints a line for each: `pass`, `FAIL why` or `none why`, where there is no op for it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <iostream>
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

hone::Result<TestTensor> read_tensor(const fs::path& path) {
  auto read = hone::onnx::read_tensor_file(path);
  if (!read) return read.failure();
  TestTensor out;
  out.type = hone::ops::import_type(read->type);
  out.shape = read->dims;
  out.elements = read->elements;
  out.memory.resize(read->data.size() / sizeof(int64_t) + 1);
  if (!read->data.empty()) std::memcpy(out.memory.data(), read->data.data(), read->data.size());
  return out;
}

double element(const TestTensor& t, int64_t i) {
  return is_float(t.type) ? hone::jit::read_float(t.type, t.memory.data(), i)
                          : static_cast<double>(hone::jit::read_int(t.type, t.memory.data(), i));
}

std::string difference(const TestTensor& got, const TestTensor& want) {
  const double relative = is_float(want.type) && size_of(want.type) < 4 ? kNarrow : kRelative;
  for (int64_t i = 0; i < want.elements; ++i) {
    const double a = element(got, i), b = element(want, i);
    const bool same = a == b || (std::isnan(a) && std::isnan(b));
    if (!same && !(std::abs(a - b) <= kAbsolute + relative * std::abs(b))) {
      return fmt::format("FAIL element {} is {}, not {}", i, a, b);
    }
  }
  return "pass";
}

std::string run(hone::Engine& engine, const fs::path& folder) {
  const auto file = hone::onnx::read_file(folder / "model.onnx");
  if (!file) return "none " + file.failure().message;
  const fs::path data = folder / "test_data_set_0";
  std::vector<TestTensor> tensors, results;
  std::vector<NamedTensor> inputs, outputs;
  tensors.reserve(file->graph.inputs.size());
  results.reserve(file->graph.outputs.size());
  for (size_t i = 0; i < file->graph.inputs.size(); ++i) {
    auto t = read_tensor(data / fmt::format("input_{}.pb", i));
    if (!t) return "none " + t.failure().message;
    t->type = hone::ops::import_type(file->graph.inputs[i].type);
    tensors.push_back(std::move(*t));
    inputs.push_back({file->graph.inputs[i].name, tensors.back().ref()});
  }
  const std::string path = (folder / "model.onnx").string();
  auto model = engine.try_load(path);
  if (!model && model.failure().message.find("not known before a call") != std::string::npos) {
    // Shapes, axes and the like that the file takes for inputs.
    hone::ModelOptions options;
    std::erase_if(inputs, [&](const NamedTensor& t) {
      const bool known = !is_float(t.tensor.type()) || t.tensor.count() == 1;
      if (known) options.known.push_back(t);
      return known;
    });
    model = engine.try_load(path, options);
  }
  if (!model) {
    const bool unsupported = model.failure().code == hone::ErrorCode::kUnsupported;
    return (unsupported ? "none " : "FAIL ") + model.failure().message;
  }
  std::vector<TestTensor> wanted;
  for (size_t i = 0; i < file->graph.outputs.size(); ++i) {
    auto t = read_tensor(data / fmt::format("output_{}.pb", i));
    if (!t) return "none " + t.failure().message;
    t->type = hone::ops::import_type(file->graph.outputs[i].type);
    results.push_back(*t);
    std::fill(results.back().memory.begin(), results.back().memory.end(), -1);
    outputs.push_back({file->graph.outputs[i].name, results.back().ref()});
    wanted.push_back(std::move(*t));
  }
  const auto done = model->try_run(inputs, outputs);
  if (!done) return "FAIL " + done.failure().message;
  for (size_t i = 0; i < wanted.size(); ++i) {
    const std::string told = difference(results[i], wanted[i]);
    if (told != "pass") return told;
  }
  return "pass";
}

}  // namespace

int main(int argc, char** argv) {
  hone::EngineOptions options;
  options.cache = ":memory:";
  options.threads = 1;
  hone::Engine engine(options);
  for (int i = 1; i < argc; ++i) {
    const fs::path folder = argv[i];
    std::string told;
    try {
      told = run(engine, folder);
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
