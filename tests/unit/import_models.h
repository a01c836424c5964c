// SPDX-License-Identifier: Apache-2.0
// Models of ONNX made in memory, for the importer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ops/import/import.h"

namespace hone::tests::models {

/// An input of f32; -1 stands for the dim `batch`.
onnx::ValueInfo tensor(std::string_view name, const std::vector<int64_t>& dims);
/// A node with attributes of integers, each both as one and as a list.
onnx::Node node(std::string_view op, std::vector<std::string_view> inputs,
                std::vector<std::string_view> outputs,
                const std::vector<std::pair<std::string_view, std::vector<int64_t>>>& ints = {});
/// An initializer of integers; the data live as long as the program.
onnx::Tensor integers(std::string_view name, const std::vector<int64_t>& values);
/// The same of floats.
onnx::Tensor floats(std::string_view name, const std::vector<float>& values);
/// A node with an attribute that is a word.
onnx::Node with_word(onnx::Node n, std::string_view name, std::string_view word);
/// A model of one output, of operators of version 17.
onnx::Model model(std::vector<onnx::ValueInfo> inputs, std::vector<onnx::Node> nodes,
                  std::string_view output, std::vector<onnx::Tensor> initializers = {});
/// The graph's text, which is checked, or why there is none.
std::string text_of(const onnx::Model& m);
/// Is `part` in a text? Where not, the test's log has both.
bool says(const std::string& text, const std::string& part);

}  // namespace hone::tests::models
