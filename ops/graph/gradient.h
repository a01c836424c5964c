// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "ops/graph/graph.h"

namespace hone::ops {

/// Which gradients of a graph are made, and from which values.
struct GraphGradientRequest {
  /// A value of one element, by which the gradients are. Empty: of all outputs that are floats, and
  /// their gradients are inputs, `dY` of `Y`.
  std::string loss = {};
  /// What to differentiate by: inputs, weights, and what nodes make. Empty: all weights of floats
  /// from which the loss is made.
  std::vector<std::string> wrt = {};
  /// What the graph makes besides the gradients. Empty: its outputs.
  std::vector<std::string> outputs = {};
  /// An input that is the gradient of the loss, such as a loss scale. It is added where the graph
  /// has none. Empty: the gradient is 1.
  std::string scale = {};
};

/// The text of a graph that makes the outputs and the gradients, `dW` of each `W` asked for:
///   h = fc_relu(x, w, b); L = loss(h, labels)
/// becomes
///   h = fc_relu(x, w, b); L = loss(h, labels)
///   L_seed = seed(); dh = loss_grad(h, labels, L_seed)
///   h_dY_sum = fc_relu_grad_dY_sum(h, dh); dw = fc_relu_grad_dW(x, h_dY_sum)
/// Nodes go back in reverse order, each by the adjoint of its op (ops/gradient). Contributions to a
/// value add up. An adjoint with contractions stands in parts. A part that computes the same as a
/// node is that node. Where it computes the same as a part of a node, that node stands in parts
/// too.
///
/// Weights that the gradients are by become inputs, since steps of training change them. Fails with
/// kNotFound for names that the graph does not have. kArgument is for a loss of several elements,
/// and for a value that does not lead to the loss; kUnsupported for a node without derivative.
Result<std::string> graph_gradient(const Graph& graph, const GraphGradientRequest& request,
                                   const Library* library = nullptr);

}  // namespace hone::ops
