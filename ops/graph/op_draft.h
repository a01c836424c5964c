// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ops/graph/passes.h"

namespace hone::ops {

/// A graph whose nodes get other ops, and what is known of its values.
struct RewrittenGraph {
  Graph graph;
  std::vector<bool> constant;       ///< per value: made of constants alone
  std::vector<int> maker;           ///< per value: a node of `from`, or -1
  std::vector<GraphNode> from;      ///< as they were
  std::map<std::string, Op> op_of;  ///< ops made here, by their text under one name

  /// Takes the nodes out of a graph.
  explicit RewrittenGraph(Graph given);

  const GraphValue& value(int v) const { return graph.values[static_cast<size_t>(v)]; }
  /// The op of `d`, among the graph's own by a name like `base`; none where it is not right.
  std::optional<Op> own_op(Definition d, const std::string& base);
  /// A value that a node is to make of constants.
  int add_value(DType type, std::vector<ir::Expr> shape);
};

/// An op under way that is to stand for the one of a node. Copies go on from where it is.
class OpDraft {
 public:
  OpDraft(RewrittenGraph& graph, const GraphNode& node);

  Definition d;
  std::vector<GraphNode> before;  ///< nodes that make constants for it

  /// The value that an input is; -1: it is none.
  int value_of(const std::string& name) const;
  /// The input that is value `v`, declared with `shape`; it may be there already.
  std::string input(int v, const std::vector<Term>& shape, const std::string& wanted);
  /// An extent of the op in dims of the graph; null where it is made of something else.
  ir::Expr extent(const Term& t) const;
  /// The declared extent of what `name` indexes by itself in `t`.
  std::optional<Term> extent_by(const Term& t, const std::string& name) const;
  /// A part of a statement, or where constants alone make it a read of what a node before makes.
  Term constant_part(const Statement& s, const Term& part, const char* type);
  /// The node of the draft in the place of its own; none where the op is not right.
  std::optional<GraphNode> node() const;

 private:
  void use_names(const Term& t);
  std::string fresh(const std::string& wanted);
  bool finish(GraphNode& out, const Op& op, const Definition& of) const;

  RewrittenGraph* graph_;
  const GraphNode* node_;
  std::map<std::string, int> values_;  ///< by the name of an input
  std::set<std::string> used_;         ///< names of the op, and those made here
};

}  // namespace hone::ops
