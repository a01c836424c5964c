// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/quantize_samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "ops/import/import.h"
#include "ops/onnx/read.h"

namespace hone::runtime {
namespace {

namespace fs = std::filesystem;

/// One tensor of a sample.
struct Input {
  TensorMemory memory;
  std::vector<int64_t> shape;
};

std::string file_name(std::string name) {
  for (char& c : name) {
    if (c == '/' || c == ':') c = '_';
  }
  return name + ".npy";
}

Result<Input> read_pb(const fs::path& path, DType type) {
  const auto tensor = onnx::read_tensor_file(path);
  if (!tensor) return tensor.failure();
  if (tensor->type != ops::onnx_type(type)) {
    return Failure{ErrorCode::kArgument,
                   fmt::format("{}: its elements are {}; {} is accepted", path.string(),
                               onnx::name_of(tensor->type), name_of(type))};
  }
  Input out;
  out.memory = TensorMemory(tensor->data.size());
  std::memcpy(out.memory.data(), tensor->data.data(), tensor->data.size());
  out.shape = tensor->dims;
  return out;
}

Result<Done> check_shape(const std::string& path, const Param& p, const Input& in) {
  bool fits = p.shape.size() == in.shape.size();
  std::string wanted;
  for (size_t i = 0; i < p.shape.size(); ++i) {
    const int64_t extent = p.shape[i].value;
    fits = fits && (extent < 0 || extent == in.shape[i]);
    wanted += (i > 0 ? ", " : "") + (extent < 0 ? p.shape[i].text : std::to_string(extent));
  }
  if (fits) return Done();
  return Failure{ErrorCode::kArgument, fmt::format("{}: its shape is ({}); `{}` takes ({})", path,
                                                   fmt::join(in.shape, ", "), p.name, wanted)};
}

}  // namespace

Result<std::vector<std::string>> sample_folders(const std::string& folder) {
  std::error_code error;
  std::vector<std::string> out;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (at->is_directory()) out.push_back(at->path().string());
  }
  if (error) {
    return Failure{ErrorCode::kNotFound,
                   fmt::format("{} is no folder that can be read: {}", folder, error.message())};
  }
  std::sort(out.begin(), out.end());
  if (out.empty()) out.push_back(folder);
  return out;
}

Result<Sample> read_sample(const std::string& folder, const std::vector<Param>& inputs) {
  Sample out;
  out.path = folder;
  for (size_t k = 0; k < inputs.size(); ++k) {
    const Param& p = inputs[k];
    fs::path path = fs::path(folder) / file_name(p.name);
    Input in;
    if (fs::exists(path)) {
      auto array = read_npy(path.string(), p.type);
      if (!array) return array.failure();
      in = {std::move(array->memory), std::move(array->shape)};
    } else {
      const std::string npy = path.string();
      path = fs::path(folder) / fmt::format("input_{}.pb", k);
      if (!fs::exists(path)) {
        return Failure{ErrorCode::kNotFound,
                       fmt::format("there is neither {} nor {}, for the input `{}`", npy,
                                   path.string(), p.name)};
      }
      auto read = read_pb(path, p.type);
      if (!read) return read.failure();
      in = *std::move(read);
    }
    if (auto f = check_shape(path.string(), p, in); !f) return f.failure();
    out.memory.push_back(std::move(in.memory));
    out.shapes.push_back(std::move(in.shape));
  }
  return out;
}

}  // namespace hone::runtime
