// SPDX-License-Identifier: Apache-2.0
#include "ops/import/axes.h"

#include <fmt/format.h>

#include <algorithm>

namespace hone::ops {

Axes::Axes(const ImportValue& x, std::vector<bool> which) : reduced(std::move(which)) {
  std::vector<std::string> dims, indices, own, sums, stays, product;
  for (size_t i = 0; i < x.shape.size(); ++i) {
    dims.push_back(import_dim(i));
    own.push_back(import_index(i));
    indices.push_back(reduced[i] ? fmt::format("r{}", i) : own.back());
    (reduced[i] ? sums : stays).push_back(indices.back());
    if (reduced[i]) product.push_back(dims.back());
  }
  all = joined(dims);
  at = joined(indices);
  plain = joined(own);
  over = joined(sums);
  kept = joined(stays);
  count = product.empty() ? "1" : fmt::format("{}", fmt::join(product, "*"));
}

std::vector<bool> reduced_axes(const ImportNode& node) {
  const ImportValue& x = node.input(0);
  std::vector<int64_t> axes = node.integers("axes", {});
  if (node.has(1)) axes = node.known(1, "axes");
  const bool all = axes.empty() && node.integer("noop_with_empty_axes", 0) == 0;
  std::vector<bool> reduced(x.shape.size(), all);
  for (const int64_t axis : axes) reduced.at(import_axis(axis, x.shape.size())) = true;
  return reduced;
}

std::string counted(const ImportValue& x, const std::string& count) {
  return fmt::format("cast<{}>({})", x.type == DType::kF64 ? "f64" : "f32", count);
}

Reduced reduced_shape(const ImportValue& x, const Axes& axes, bool keep) {
  Reduced out;
  std::vector<std::string> dims, at;
  for (size_t i = 0; i < x.shape.size(); ++i) {
    if (axes.reduced[i] && !keep) continue;
    out.shape.push_back(axes.reduced[i] ? ImportExtent{1, ""} : x.shape[i]);
    dims.push_back(axes.reduced[i] ? "1" : import_dim(i));
    at.push_back(axes.reduced[i] ? fmt::format("u{}", i) : import_index(i));
  }
  out.dims = joined(dims);
  out.at = joined(at);
  return out;
}

}  // namespace hone::ops
