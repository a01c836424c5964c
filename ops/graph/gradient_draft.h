// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ops/graph/graph.h"
#include "ops/graph/pieces.h"
#include "ops/graph/written_node.h"

namespace hone::ops {

/// A graph and the nodes that are to make its gradients, until it is a text.
class GradientDraft {
 public:
  GradientDraft(const Graph& graph, const Library* library);

  /// A tensor: those of the graph come first, with their numbers.
  struct Value {
    std::string name;  ///< empty: chosen at the end, like `wanted`
    std::string wanted;
    DType type = DType::kF32;
    std::vector<ir::Expr> shape;
    bool given = false;  ///< by calls
  };
  const Value& value(int v) const { return values_[static_cast<size_t>(v)]; }

  /// What names of an op are in the graph, while its parts become nodes.
  struct Names {
    std::map<std::string, int> values;
    const WrittenNode* node;  ///< its scalars, parameters and dims
    std::string prefix;       ///< of names of values between
  };

  /// Node `n` of the graph as `node` has it. Its parts are known from now on, and found by `add`.
  void take_apart(int n, const WrittenNode& node);
  /// Adds the parts of an op as nodes, but those that are there already. What they make is in
  /// `names` then.
  void add(const Op& op, Names& names);
  /// A node of one op by itself, which makes one tensor as `like` is.
  int add_node(const Op& op, const std::vector<int>& reads, int like, const std::string& wanted);
  /// What a node makes is called like this, where no other has the name.
  void want(int v, const std::string& name) { values_[static_cast<size_t>(v)].wanted = name; }
  /// A new input.
  int add_input(const std::string& name, int like);
  /// Value `v`, which a node of its own is to make, as an output of that name.
  void add_output(int v, const std::string& name);
  /// What the graph makes stays an output.
  void keep_output(int v) { outputs_.push_back(v); }
  /// Is the name one of a tensor or a dim?
  bool has_name(const std::string& name) const;

  /// The graph's weight `v` becomes an input.
  void as_input(int v) { as_inputs_.push_back(v); }
  std::string text(const std::string& name);

 private:
  struct Node {
    Op op;
    std::vector<Given> given;
    std::vector<int> reads;     ///< a value for each argument; -1: a scalar
    std::vector<Term> scalars;  ///< for each argument
    std::vector<int> makes;
    bool live = false;
  };

  void add_piece(const Piece& piece, Names& names, std::vector<Node>& to, bool known);
  Op own_op(const Op& op);
  int add_value(const std::string& wanted, DType type, std::vector<ir::Expr> shape);
  bool is_stated(const Node& node, size_t result) const;
  void find_live();
  bool mark(std::vector<Node>& nodes);
  void mark_reads(const Node& node);
  void name_values();
  std::string fresh(const std::string& wanted) const;
  std::string left_of(const Node& node, size_t result) const;
  std::string text_of(const Node& node) const;
  std::string text_of(const GraphNode& node) const;
  std::string ops_text() const;
  std::string arguments_text() const;
  bool is_live(int v) const { return v >= 0 && live_[static_cast<size_t>(v)]; }

  const Graph& graph_;
  const Library* library_;
  std::vector<Value> values_;
  std::vector<std::vector<Node>> parts_;  ///< of the graph's nodes, where they were taken apart
  std::vector<bool> cut_;                 ///< nodes of the graph that stand in parts
  std::vector<bool> whole_;               ///< nodes of the graph that stand as they are
  std::vector<Node> nodes_;               ///< of gradients
  std::map<std::string, std::vector<int>> known_;  ///< what nodes make, by what they compute
  std::map<std::string, Op> ops_;                  ///< by their texts under one name
  std::vector<Op> order_;                          ///< the same, as they came
  std::vector<bool> live_;                         ///< per value
  std::vector<int> inputs_, outputs_, as_inputs_;
};

}  // namespace hone::ops
