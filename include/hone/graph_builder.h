// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "hone/dtype.h"
#include "hone/error.h"
#include "hone/export.h"
#include "hone/model.h"
#include "hone/tensor.h"

namespace hone {

namespace runtime {
struct GraphDraft;
}  // namespace runtime

/// A tensor of a graph that is being built. A cheap handle.
class HONE_API GraphTensor {
 public:
  /// A handle to nothing.
  GraphTensor() = default;
  /// Its name in the text of the graph. What the builder named by itself it may name anew, where
  /// the caller takes the name for something else.
  std::string name() const;

 private:
  friend class GraphBuilder;
  GraphTensor(std::shared_ptr<const runtime::GraphDraft> draft, size_t number)
      : draft_(std::move(draft)), number_(number) {}
  std::shared_ptr<const runtime::GraphDraft> draft_;
  size_t number_ = 0;
};

/// The extent of a tensor along one dim: a number of elements, a dim of the graph, `"B"`, or made
/// of both, `"2*B + 1"`.
class HONE_API GraphExtent {
 public:
  GraphExtent(std::integral auto elements) : text_(std::to_string(elements)) {}  // NOLINT: implicit
  GraphExtent(const char* text) : text_(text) {}                                 // NOLINT: implicit
  GraphExtent(std::string text) : text_(std::move(text)) {}                      // NOLINT: implicit
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

/// An argument of an op: a tensor, or a scalar. That is a number, or an expression of numbers and
/// dims, `"rsqrt(cast<f32>(C))"`.
class HONE_API GraphArg {
 public:
  GraphArg(GraphTensor tensor) : value_(std::move(tensor)) {}  // NOLINT: implicit
  GraphArg(std::floating_point auto number)                    // NOLINT: implicit
      : value_(text_of(static_cast<double>(number))) {}        // in full
  GraphArg(std::integral auto number)                          // NOLINT: implicit
      : value_(std::is_same_v<decltype(number), bool> ? (number ? "true" : "false")
                                                      : std::to_string(number)) {}
  GraphArg(const char* text) : value_(std::string(text)) {}  // NOLINT: implicit
  GraphArg(std::string text) : value_(std::move(text)) {}    // NOLINT: implicit
  /// The tensor; null for a scalar.
  const GraphTensor* tensor() const { return std::get_if<GraphTensor>(&value_); }
  /// The text of a scalar; empty for a tensor.
  std::string_view scalar() const {
    const auto* text = std::get_if<std::string>(&value_);
    return text ? *text : std::string_view();
  }

 private:
  static std::string text_of(double number);
  std::variant<GraphTensor, std::string> value_;
};

/// What a use of an op states besides its arguments; all optional.
struct NodeOptions {
  /// Parameters of the op: `{{"S", "2"}, {"T", "f16"}}`.
  std::vector<std::pair<std::string, std::string>> params = {};
  /// The extents of each result, where the arguments do not tell them: `{{12, "S", 64}}`. Empty
  /// texts stand for what they do tell.
  std::vector<std::vector<GraphExtent>> shapes = {};
};

/// Makes the text of a graph, op by op, for Engine::load. A cheap handle: copies build the same
/// graph. One thread builds at a time.
///
/// What is wrong is no error here: try_text and Engine::try_load tell all of it.
class HONE_API GraphBuilder {
 public:
  explicit GraphBuilder(std::string_view name);

  /// Adds the ops and functions of a text, as in a .hone file without cases. Nodes can use them,
  /// besides those of the engine. A text that was added before is there already.
  void add_ops(std::string_view text);

  /// A tensor that calls give.
  GraphTensor input(std::string_view name, DType type, std::vector<GraphExtent> shape);
  /// A tensor that ModelOptions::weights gives.
  GraphTensor weight(std::string_view name, DType type, std::vector<GraphExtent> shape);
  /// One with its data, which stay the caller's until the graph is loaded. Options that have the
  /// name go before.
  GraphTensor weight(std::string_view name, DType type, std::vector<GraphExtent> shape,
                     const TensorRef& data);
  /// The same, with dtype and shape of the data.
  GraphTensor weight(std::string_view name, const TensorRef& data);

  /// A use of an op, `add("fc_relu", {x, w, b})`, which makes one tensor.
  GraphTensor add(std::string_view op, std::vector<GraphArg> args, NodeOptions options = {}) {
    return add<1>(op, std::move(args), std::move(options))[0];
  }
  /// The same of an op that makes several: `auto [y, z] = g.add<2>("halves", {x})`.
  template <size_t kResults>
  std::array<GraphTensor, kResults> add(std::string_view op, std::vector<GraphArg> args,
                                        NodeOptions options = {}) {
    std::array<GraphTensor, kResults> results;
    add_node(op, std::move(args), std::move(options), results);
    return results;
  }

  /// Makes what an op made an output, by this name.
  void output(std::string_view name, const GraphTensor& tensor);

  /// The text for Engine::load_graph: ops, then the graph. Throws Error, kArgument, with all that
  /// was wrong.
  std::string text() const;
  Result<std::string> try_text() const;
  /// The weights whose data were given. Names live as long as the builder.
  std::vector<NamedTensor> weights() const;
  /// The name of the graph.
  const std::string& name() const;

 private:
  void add_node(std::string_view op, std::vector<GraphArg> args, NodeOptions options,
                std::span<GraphTensor> results);
  std::shared_ptr<runtime::GraphDraft> draft_;
};

}  // namespace hone
