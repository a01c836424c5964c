// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/model_file.h"

#include <fmt/format.h>

#include <cstring>
#include <fstream>
#include <sstream>

#include "ops/import/import.h"
#include "ops/onnx/read.h"

namespace hone::runtime {
namespace {

constexpr std::string_view kGraph = ".graph", kOnnx = ".onnx";

/// Fixed by: the widest element.
constexpr size_t kElementAlignment = 8;

Result<ModelFile> read_graph(const std::string& path, const ops::Library* library) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) return Failure{ErrorCode::kNotFound, fmt::format("cannot read {}", path)};
  std::ostringstream text;
  text << stream.rdbuf();
  auto graph = ops::parse_graph(text.str(), path, library);
  if (!graph) return graph.failure();
  ModelFile out;
  out.graph = std::move(*graph);
  return out;
}

/// A weight where its elements can be read: a copy of what lies at odd bytes.
const void* aligned(const ops::ImportedWeight& w, std::vector<std::shared_ptr<const void>>& kept) {
  kept.push_back(w.owner);
  if (reinterpret_cast<uintptr_t>(w.data.data()) % kElementAlignment == 0) return w.data.data();
  auto copy = std::make_shared<std::vector<int64_t>>(w.data.size() / kElementAlignment + 1);
  std::memcpy(copy->data(), w.data.data(), w.data.size());
  const void* data = copy->data();
  kept.push_back(std::move(copy));
  return data;
}

/// Elements of less than a byte as files have them, of rows that begin at whole bytes.
void put_side_by_side(onnx::Tensor& t, const TensorRef& of) {
  const int64_t row = t.dims.empty() ? 1 : t.dims.back();
  const int64_t bytes = row == 0 ? 0 : t.elements / row * bytes_of_row(of.type(), row);
  const auto data = std::make_shared<std::string>(
      ops::side_by_side({static_cast<const char*>(of.data()), static_cast<size_t>(bytes)},
                        of.type(), t.dims, t.elements));
  t.data = *data;
  t.owner = data;
}

/// The tensors as the importer takes them. They must outlive the graph's weights.
Result<ops::ImportedConstants> constants_of(std::span<const NamedTensor> known) {
  ops::ImportedConstants out;
  for (const NamedTensor& k : known) {
    onnx::Tensor t;
    t.type = ops::onnx_type(k.tensor.type());
    if (t.type == onnx::DataType::kUndefined || k.tensor.rank() == TensorRef::kFlat) {
      return Failure{ErrorCode::kArgument,
                     fmt::format("`{}` is known by a dense tensor with its shape, of a type that "
                                 "ONNX has",
                                 k.name)};
    }
    for (int i = 0; i < k.tensor.rank(); ++i) t.dims.push_back(k.tensor.extent(i));
    t.elements = k.tensor.count();
    t.data = {static_cast<const char*>(k.tensor.data()),
              static_cast<size_t>(t.elements * size_of(k.tensor.type()))};
    if (is_packed(k.tensor.type())) put_side_by_side(t, k.tensor);
    out.emplace(std::string(k.name), std::move(t));
  }
  return out;
}

Result<ModelFile> read_onnx(const std::string& path, const ops::Library* library,
                            std::span<const NamedTensor> known) {
  auto model = onnx::read_file(path);
  if (!model) return model.failure();
  return model_of_onnx(std::make_shared<const onnx::Model>(std::move(*model)), path, library,
                       known);
}

}  // namespace

Result<ModelFile> model_of_onnx(std::shared_ptr<const onnx::Model> model, const std::string& origin,
                                const ops::Library* library, std::span<const NamedTensor> known) {
  const auto constants = constants_of(known);
  if (!constants) return constants.failure();
  auto imported = ops::import_onnx(*model, *constants);
  if (!imported) {
    return Failure{imported.failure().code, origin + ": " + imported.failure().message};
  }
  auto graph = ops::parse_graph(imported->text, origin + " as a graph", library);
  if (!graph) return graph.failure();
  ModelFile out;
  out.graph = std::move(*graph);
  out.kept.push_back(std::move(model));
  out.weight_names.reserve(imported->weights.size());
  for (const ops::ImportedWeight& w : imported->weights) {
    out.weight_names.push_back(w.name);
    out.weights.push_back(
        {out.weight_names.back(), TensorRef(aligned(w, out.kept), w.type, w.shape)});
  }
  for (const auto* side : {&imported->inputs, &imported->outputs}) {
    for (const ops::ImportedName& n : *side) out.names[n.graph] = n.file;
  }
  return out;
}

bool is_model_file(std::string_view path) {
  return path.ends_with(kGraph) || path.ends_with(kOnnx);
}

Result<ModelFile> read_model_file(const std::string& path, const ops::Library* library,
                                  std::span<const NamedTensor> known) {
  if (path.ends_with(kGraph)) return read_graph(path, library);
  if (path.ends_with(kOnnx)) return read_onnx(path, library, known);
  return Failure{
      ErrorCode::kArgument,
      fmt::format("{} is no model: its name ends in neither {} nor {}", path, kGraph, kOnnx)};
}

}  // namespace hone::runtime
