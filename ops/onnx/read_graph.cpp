// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "ops/onnx/fields.h"
#include "ops/onnx/message.h"
#include "ops/onnx/reader.h"

namespace hone::onnx {
namespace {

/// Chosen: control flow nests a few levels, and each takes some of the stack (not measured).
constexpr int kMostGraphs = 32;

void read_node(std::string_view bytes, Context& context, Node& node) {
  const Overview overview(bytes, NodeFields::kAll, context);
  node.name = overview.bytes(NodeFields::kName);
  node.op_type = overview.bytes(NodeFields::kOpType);
  node.domain = overview.bytes(NodeFields::kDomain);
  context.name(node.name.empty() ? node.op_type : node.name);
  if (node.op_type.empty()) context.refuse("this node has no op_type");
  context.reserve(node.inputs, overview.count(NodeFields::kInput));
  context.reserve(node.outputs, overview.count(NodeFields::kOutput));
  context.reserve(node.attributes, overview.count(NodeFields::kAttribute));
  Message message(bytes, NodeFields::kAll, context);
  while (message.next()) {
    const std::string_view value = message.bytes();
    if (message.tag() == NodeFields::kInput) node.inputs.push_back(value);
    if (message.tag() == NodeFields::kOutput) node.outputs.push_back(value);
    if (message.tag() == NodeFields::kAttribute) {
      context.within(static_cast<int64_t>(node.attributes.size()),
                     [&] { read_attribute(value, context, node.attributes.emplace_back()); });
    }
  }
}

/// Reads the next message of a list in place.
template <class T, class Read>
void read_next(std::vector<T>& list, std::string_view bytes, Context& context, const Read& read) {
  context.within(static_cast<int64_t>(list.size()),
                 [&] { read(bytes, context, list.emplace_back()); });
}

}  // namespace

void read_graph(std::string_view bytes, Context& context, Graph& graph) {
  if (context.graphs() > kMostGraphs) {
    context.refuse(fmt::format("graphs are nested more than {} deep here", kMostGraphs));
  }
  const Overview overview(bytes, GraphFields::kAll, context);
  graph.name = overview.bytes(GraphFields::kName);
  context.name(graph.name);
  if (overview.count(GraphFields::kSparseInitializer) > 0) {
    context.refuse("this graph has sparse initializers; only dense ones are read",
                   ErrorCode::kUnsupported);
  }
  context.reserve(graph.nodes, overview.count(GraphFields::kNode));
  context.reserve(graph.initializers, overview.count(GraphFields::kInitializer));
  context.reserve(graph.inputs, overview.count(GraphFields::kInput));
  context.reserve(graph.outputs, overview.count(GraphFields::kOutput));
  context.reserve(graph.value_infos, overview.count(GraphFields::kValueInfo));
  Message message(bytes, GraphFields::kAll, context);
  while (message.next()) {
    const std::string_view value = message.bytes();
    switch (message.tag()) {
      case GraphFields::kNode:
        read_next(graph.nodes, value, context, read_node);
        break;
      case GraphFields::kInitializer:
        read_next(graph.initializers, value, context, read_tensor);
        break;
      case GraphFields::kInput:
        read_next(graph.inputs, value, context, read_value_info);
        break;
      case GraphFields::kOutput:
        read_next(graph.outputs, value, context, read_value_info);
        break;
      case GraphFields::kValueInfo:
        read_next(graph.value_infos, value, context, read_value_info);
        break;
      default:
        break;
    }
  }
}

Entry read_entry(std::string_view bytes, Context& context) {
  const Overview overview(bytes, EntryFields::kAll, context);
  return {overview.bytes(EntryFields::kKey), overview.bytes(EntryFields::kValue)};
}

}  // namespace hone::onnx
