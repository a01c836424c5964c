// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "include/hone/graph_builder.h"

namespace hone::runtime {

/// What a GraphBuilder has so far.
struct GraphDraft {
  struct Tensor {
    enum Kind : uint8_t { kInput, kWeight, kMade };
    Kind kind = kMade;
    std::string name;
    bool own_name = false;  ///< made here, not by the caller
    DType type = DType::kF32;
    std::vector<GraphExtent> shape = {};
    std::optional<TensorRef> data = {};
    bool read = false;
    bool output = false;
  };

  struct Node {
    std::string op;
    std::vector<std::string> args;  ///< texts of scalars; empty: the tensor in `reads`
    std::vector<size_t> reads;      ///< tensors, one for each argument
    NodeOptions options;
    size_t first = 0;  ///< of the tensors that it makes
    size_t count = 0;
  };

  std::string name;
  std::string ops;             ///< their texts, each ending with a line
  std::deque<Tensor> tensors;  ///< names stay where they are
  std::vector<Node> nodes;
  std::vector<size_t> outputs;
  std::map<std::string, size_t, std::less<>> names;  ///< of tensors
  std::map<std::string, int, std::less<>> numbers;   ///< of tensors named after an op, per op
  std::set<std::string, std::less<>> words;          ///< names in expressions, and of ops
  std::set<std::string, std::less<>> added_ops;
  std::vector<std::string> errors;

  /// Adds a tensor, and gives it the caller's name.
  size_t add_named(Tensor t);
  /// Adds a tensor that `op` makes, with a name that nothing has.
  size_t add_made(std::string_view op);
  /// Gives a tensor the caller's name. Whatever was named so here gets another name.
  void take_name(size_t tensor, std::string_view name);
  /// Sees to it that nothing that was named here has a name of this expression.
  void take_words(std::string_view expression);
  /// The text, ops first. Only where there are no errors.
  std::string text() const;

 private:
  std::string fresh_name(std::string_view op);
  void rename(std::string_view name);
  std::string text_of(const Node& node) const;
  std::string left_of(size_t tensor, const std::vector<GraphExtent>* shape) const;
};

/// Whether the language takes it for the name of a tensor or a graph.
bool is_graph_name(std::string_view name);

}  // namespace hone::runtime
