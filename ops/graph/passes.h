// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "jit/ir/program.h"
#include "ops/graph/graph.h"

namespace hone::ops {

/// The graph with those of its nodes for which `keeps` has true, in their order. Values that lose
/// their maker stay, for those who know them otherwise.
Graph with_nodes(Graph graph, const std::vector<bool>& keeps);

/// Nodes of the same op on the same values are one:
///   a = relu(x); b = relu(x); y = add(a, b)   to   a = relu(x); y = add(a, a)
Graph without_repeats(Graph graph);

/// What nothing reads is not computed:
///   a = relu(x); b = gelu(x); y = tanh(b)   to   b = gelu(x); y = tanh(b)
Graph without_unread(Graph graph);

/// Per value: the number that all elements of a constant of 8 bits are; none of other values.
using KnownBytes = std::vector<std::optional<int>>;

/// Is it of use that node `after` stands for `before`? Their values are those of the graph.
using IntegersGain =
    std::function<bool(const Graph&, const GraphNode& before, const GraphNode& after)>;

/// Sums of products of numbers that 8 bits stand for are sums of integers, scaled once. With
/// constants za, sa, B and sb
///   a[i,k] = (cast<f32>(A[i,k]) - cast<f32>(za[]))*sa[]
///   b[k,j] = cast<f32>(B[k,j])*sb[j]
///   y[i,j] = sum[k](a[i,k]*b[k,j])
/// becomes
///   c[j] = za[]*sum[k](B[k,j])
///   s[j] = sa[]*sb[j]
///   y[i,j] = cast<f32>(sum[k](A[i,k]*B[k,j]) - c[j])*s[j]
/// where c and s are computed at load. What reads outside of `a` reads the zero point outside of A.
/// Sums of integers about zero points, as in MatMulInteger, are split alike.
///
/// A sum is left alone where it may not fit in 32 bits, and where a scale or zero point differs
/// among its terms. The sum of integers is exact, and its product with the scales is rounded a few
/// times. The sum of floats is rounded at each term, so results differ by that error.
///
/// `dims` says what the graph's dims are, `known` what zero points are. A node stays as it is where
/// `gains` has false.
Graph with_integer_sums(Graph graph, const std::vector<ir::Dim>& dims, KnownBytes known,
                        const IntegersGain& gains = {});

}  // namespace hone::ops
