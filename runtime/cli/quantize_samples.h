// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "include/hone/error.h"
#include "include/hone/param.h"
#include "runtime/cli/npy.h"

namespace hone::runtime {

/// The inputs of one call of a model.
struct Sample {
  std::string path;
  std::vector<TensorMemory> memory;
  std::vector<std::vector<int64_t>> shapes;
};

/// The folders of the samples in `folder`, sorted by name; the folder itself where it has none.
Result<std::vector<std::string>> sample_folders(const std::string& folder);

/// Reads a tensor for each of `inputs`: `NAME.npy`, or else ONNX's `input_K.pb` where it is number
/// K. In file names `_` stands for `/` and `:`. Fails where a file is missing or does not fit.
Result<Sample> read_sample(const std::string& folder, const std::vector<Param>& inputs);

}  // namespace hone::runtime
