// SPDX-License-Identifier: Apache-2.0
// The public face of graphs that are made in code: members that fill a GraphDraft.
#include "include/hone/graph_builder.h"

#include <fmt/format.h>

#include "include/hone/hone.h"
#include "runtime/engine/failure.h"
#include "runtime/model/graph_draft.h"
#include "runtime/model/model_state.h"

namespace hone {

using runtime::GraphDraft;
using runtime::value_or_raise;

std::string GraphTensor::name() const { return draft_ ? draft_->tensors[number_].name : ""; }

/// A float wherever it is written, also where it is whole.
std::string GraphArg::text_of(double number) {
  std::string text = fmt::format("{}", number);
  return text.find_first_of(".en") == text.npos ? text + ".0" : text;
}

GraphBuilder::GraphBuilder(std::string_view name) : draft_(std::make_shared<GraphDraft>()) {
  draft_->name = name;
  if (runtime::is_graph_name(name)) return;
  draft_->errors.push_back(fmt::format("`{}` cannot name a graph", name));
}

void GraphBuilder::add_ops(std::string_view text) {
  if (!draft_->added_ops.emplace(text).second) return;
  draft_->ops.append(text).append(text.ends_with('\n') ? "" : "\n");
}

GraphTensor GraphBuilder::input(std::string_view name, DType type, std::vector<GraphExtent> shape) {
  return {draft_, draft_->add_named({.kind = GraphDraft::Tensor::kInput,
                                     .name = std::string(name),
                                     .type = type,
                                     .shape = std::move(shape)})};
}

GraphTensor GraphBuilder::weight(std::string_view name, DType type,
                                 std::vector<GraphExtent> shape) {
  return {draft_, draft_->add_named({.kind = GraphDraft::Tensor::kWeight,
                                     .name = std::string(name),
                                     .type = type,
                                     .shape = std::move(shape)})};
}

GraphTensor GraphBuilder::weight(std::string_view name, DType type, std::vector<GraphExtent> shape,
                                 const TensorRef& data) {
  GraphTensor t = weight(name, type, std::move(shape));
  draft_->tensors[t.number_].data = data;
  return t;
}

GraphTensor GraphBuilder::weight(std::string_view name, const TensorRef& data) {
  std::vector<GraphExtent> shape;
  if (data.rank() < 0 || data.rank() > TensorRef::kMaxRank) {
    draft_->errors.push_back(
        fmt::format("the data of `{}` have no shape; give one beside them", name));
  } else {
    for (int i = 0; i < data.rank(); ++i) shape.emplace_back(data.extent(i));
  }
  return weight(name, data.type(), std::move(shape), data);
}

void GraphBuilder::add_node(std::string_view op, std::vector<GraphArg> args, NodeOptions options,
                            std::span<GraphTensor> results) {
  GraphDraft& d = *draft_;
  const bool named = runtime::is_graph_name(op);
  if (!named) d.errors.push_back(fmt::format("`{}` is no name of an op", op));
  d.take_words(op);
  GraphDraft::Node node;
  node.op = op;
  for (size_t i = 0; i < args.size(); ++i) {
    const GraphTensor* t = args[i].tensor();
    node.args.emplace_back(args[i].scalar());
    node.reads.push_back(t ? t->number_ : 0);
    if (!t && args[i].scalar().empty()) {
      d.errors.push_back(fmt::format("argument {} of `{}` is an empty text", i, op));
    } else if (t && t->draft_ != draft_) {
      d.errors.push_back(fmt::format("argument {} of `{}` is {}", i, op,
                                     t->draft_ ? "a tensor of another graph" : "no tensor"));
    } else if (t) {
      d.tensors[t->number_].read = true;
    } else {
      d.take_words(args[i].scalar());
    }
  }
  for (const auto& [name, value] : options.params) d.take_words(value);
  for (const auto& shape : options.shapes) {
    for (const GraphExtent& e : shape) d.take_words(e.text());
  }
  if (options.shapes.size() > results.size()) {
    d.errors.push_back(fmt::format("`{}` makes {} here, and shapes of {} are stated", op,
                                   results.size(), options.shapes.size()));
  }
  node.options = std::move(options);
  node.first = d.tensors.size();
  node.count = results.size();
  for (GraphTensor& r : results) r = {draft_, d.add_made(named ? op : "node")};
  d.nodes.push_back(std::move(node));
}

void GraphBuilder::output(std::string_view name, const GraphTensor& tensor) {
  GraphDraft& d = *draft_;
  const auto wrong = [&](std::string_view why) {
    d.errors.push_back(fmt::format("the output `{}` is {}", name, why));
  };
  if (!tensor.draft_) return wrong("no tensor");
  if (tensor.draft_ != draft_) return wrong("a tensor of another graph");
  GraphDraft::Tensor& t = d.tensors[tensor.number_];
  if (t.kind != GraphDraft::Tensor::kMade) {
    return wrong(fmt::format("`{}`, which no op makes", t.name));
  }
  if (t.output) return wrong(fmt::format("`{}`, which is an output already", t.name));
  t.output = true;
  d.outputs.push_back(tensor.number_);
  d.take_name(tensor.number_, name);
}

Result<std::string> GraphBuilder::try_text() const {
  if (draft_->errors.empty()) return draft_->text();
  return Failure{ErrorCode::kArgument, fmt::format("in the graph `{}`:\n  {}", draft_->name,
                                                   fmt::join(draft_->errors, "\n  "))};
}

std::string GraphBuilder::text() const { return value_or_raise(try_text()); }

std::vector<NamedTensor> GraphBuilder::weights() const {
  std::vector<NamedTensor> out;
  for (const GraphDraft::Tensor& t : draft_->tensors) {
    if (t.data) out.push_back({t.name, *t.data});
  }
  return out;
}

const std::string& GraphBuilder::name() const { return draft_->name; }

Result<Model> Engine::try_load(const GraphBuilder& graph, const ModelOptions& options) {
  const auto text = graph.try_text();
  if (!text) return text.failure();
  auto parsed = ops::parse_graph(*text, graph.name(), state_->library().get());
  if (!parsed) return parsed.failure();
  runtime::ModelFile file;
  file.graph = std::move(*parsed);
  file.weights = graph.weights();
  auto model = runtime::ModelState::load(*state_, file, options);
  if (!model) return model.failure();
  return Model(std::move(*model));
}

Model Engine::load(const GraphBuilder& graph, const ModelOptions& options) {
  return value_or_raise(try_load(graph, options));
}

}  // namespace hone
