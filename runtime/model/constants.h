// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "include/hone/model.h"
#include "ops/graph/passes.h"
#include "runtime/model/host_engine.h"

namespace hone::runtime {

/// The tensors of a graph that calls do not change, while the model is loaded.
class Constants {
 public:
  /// Every weight of the graph comes once, and nothing else does.
  static Result<Constants> take(const ops::Graph& graph, const ModelOptions& options);

  /// Of a value that is one.
  const TensorRef& at(int v) const { return tensors_.at(v); }

  /// A value that is one, dense and of the shape that the graph has for it. Fails where it has
  /// another type or shape, or calls tell its extents.
  Result<TensorRef> dense(const ops::Graph& graph, int v, const std::vector<ir::Dim>& dims);

  /// The elements of a value that is one; none where they do not lie densely.
  std::optional<std::span<const std::byte>> bytes(int v) const;

  /// Of small constants of 8 bits.
  ops::KnownBytes known_bytes(const ops::Graph& graph) const;

  /// Computes what is made of constants alone, where it is no much larger than they are. Its values
  /// are constants then, and its nodes are gone:
  ///   `b = scale(w); y = matmul(x, b)` with a weight w to `y = matmul(x, b)` with a weight b.
  /// So are functions of the host, whose dims have one value in `dims` then.
  Result<ops::Graph> fold(ops::Graph graph, std::vector<ir::Dim>& dims, HostEngine& host);

 private:
  bool folds(const ops::Graph& graph, const ops::GraphNode& node,
             const std::vector<ir::Dim>& dims) const;
  Result<bool> compute(const ops::Graph& graph, int n, const std::vector<ir::Dim>& dims,
                       HostEngine& host);
  Result<bool> compute_host(const ops::Graph& graph, const ops::GraphNode& node,
                            std::vector<ir::Dim>& dims);
  void* take(size_t bytes);
  TensorRef make(const ops::GraphValue& v, const std::vector<ir::Dim>& dims);

  std::map<int, TensorRef> tensors_;  ///< by value
  std::vector<std::unique_ptr<std::byte[]>> made_;
};

}  // namespace hone::runtime
