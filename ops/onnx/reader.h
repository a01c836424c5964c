// SPDX-License-Identifier: Apache-2.0
// The readers of the format's messages; each may throw, inside guarded().
#pragma once

#include <string_view>

#include "ops/onnx/context.h"
#include "ops/onnx/model.h"

namespace hone::onnx {

/// Reads a TensorProto with its data.
void read_tensor(std::string_view bytes, Context& context, Tensor& tensor);

/// The bytes of external data: `wanted` many, where the entries of `external_data` say.
struct ExternalData {
  std::string_view bytes;
  std::shared_ptr<const void> owner;
};
ExternalData read_external(const std::vector<Entry>& entries, int64_t wanted, Context& context);

/// Reads a ValueInfoProto.
void read_value_info(std::string_view bytes, Context& context, ValueInfo& value);

/// Reads an AttributeProto, and the graphs in it.
void read_attribute(std::string_view bytes, Context& context, Attribute& attribute);

/// Reads a GraphProto.
void read_graph(std::string_view bytes, Context& context, Graph& graph);

/// Reads a StringStringEntryProto.
Entry read_entry(std::string_view bytes, Context& context);

}  // namespace hone::onnx
