// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string_view>

#include "include/hone/error.h"
#include "ops/onnx/model.h"

namespace hone::onnx {

/// Reads a model (a ModelProto). The bytes must outlive the result. External data are looked for
/// in `folder`; without a folder they are refused.
///
/// Beyond the bytes, a result takes at most as much memory again and 64 MB. A file that asks for
/// more is refused.
Result<Model> read(std::string_view bytes, const std::filesystem::path& folder = {});

/// Maps a file and reads the model in it. The file must not shrink while the result lives.
Result<Model> read_file(const std::filesystem::path& path);

/// Maps a file and reads the single tensor in it (a TensorProto), such as ONNX's test data.
Result<Tensor> read_tensor_file(const std::filesystem::path& path);

}  // namespace hone::onnx
