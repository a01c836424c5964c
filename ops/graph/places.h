// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "jit/ir/facts.h"
#include "ops/graph/graph.h"

namespace hone::ops {

/// Places of elements in dense tensors, as polynomials. These mention dims of a graph, and loops
/// over the indices of a node's first statement.
class Places {
 public:
  /// Both outlive the places.
  Places(const GraphNode& node, const std::vector<ir::Dim>& dims);

  /// How many elements a tensor has.
  ir::Poly elements(const std::vector<ir::Expr>& shape) const;
  /// Loops go over the dims of `shape`.
  void define_loops(const std::vector<ir::Expr>& shape);
  /// An extent of the graph.
  ir::Poly extent(const ir::Expr& e) const;
  /// An index of the node's op; nothing where it is no number of indices and dims.
  std::optional<ir::Poly> index(const Term& t) const;
  /// The place of the element at `indices`; nothing where one is no number of indices and dims.
  std::optional<ir::Poly> of(const std::vector<ir::Expr>& shape,
                             const std::vector<Term>& indices) const;

 private:
  ir::Expr fixed(const ir::Expr& extent) const;
  /// An index of the op in dims of the graph and loops.
  ir::Expr outside(const ir::Expr& index) const;

  const GraphNode& node_;
  const std::vector<ir::Dim>& dims_;
  ir::Facts facts_;
  std::map<std::string, int> loops_;
  std::vector<bool> single_;  ///< per loop, once defined: it has one value
};

}  // namespace hone::ops
