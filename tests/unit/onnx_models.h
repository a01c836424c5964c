// SPDX-License-Identifier: Apache-2.0
// Files of ONNX made by protozero's writer, which shares no code with the reader's side.
#pragma once

#include <cstdint>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hone::tests {

/// The bytes of a message that `fill(writer)` writes.
template <class Fill>
std::string message(const Fill& fill) {
  std::string out;
  protozero::pbf_writer writer(out);
  fill(writer);
  return out;
}

/// Adds a field of text or of a message.
void add(protozero::pbf_writer& writer, uint32_t tag, std::string_view bytes);

/// A ModelProto of one graph.
std::string onnx_model(std::string_view graph);
/// A GraphProto of one node `Op`, named "n", with that attribute.
std::string onnx_graph_with(std::string_view attribute);
/// An AttributeProto `a` whose value stands in the field `tag`.
std::string onnx_attribute(int32_t kind, uint32_t tag, std::string_view bytes);
/// A TensorProto "t" without data.
std::string onnx_tensor(int32_t type, const std::vector<int64_t>& dims);
/// The same with raw data.
std::string onnx_raw(int32_t type, const std::vector<int64_t>& dims, std::string_view bytes);
/// The same with data in a file, as the keys and values say.
std::string onnx_external(int32_t type, const std::vector<int64_t>& dims,
                          const std::vector<std::pair<std::string, std::string>>& entries);
/// A ModelProto with all that is read: attributes of every kind, tensors raw and typed, nested
/// graphs, declared shapes.
std::string onnx_sample();

}  // namespace hone::tests
