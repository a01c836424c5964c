// SPDX-License-Identifier: Apache-2.0
// Constants, and what is known of shapes before a call.
#include <algorithm>

#include "ops/import/rows.h"

namespace hone::ops {
namespace {

void import_constant(const ImportNode& node) {
  const onnx::Tensor* value = node.tensor("value");
  if (value) return node.importer().constant(node, 0, *value);
  if (node.has_attribute("value_int")) {
    return node.importer().know(node, 0, {node.integer("value_int", 0)}, {}, DType::kI64);
  }
  if (node.has_attribute("value_ints")) {
    const std::vector<int64_t> all = node.integers("value_ints", {});
    return node.importer().know(node, 0, all, {static_cast<int64_t>(all.size())}, DType::kI64);
  }
  throw Unsupported{"its value is no tensor and no integers"};
}

void import_shape(const ImportNode& node) {
  const ImportValue& x = node.input(0);
  std::vector<int64_t> dims;
  for (const ImportExtent& e : x.shape) {
    if (!e.fixed()) throw Unsupported{"the shape has a dim that calls tell"};
    dims.push_back(e.times);
  }
  const auto rank = static_cast<int64_t>(dims.size());
  const auto place = [&](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + rank : i, 0, rank); };
  const int64_t begin = place(node.integer("start", 0)), end = place(node.integer("end", rank));
  const std::vector<int64_t> some(dims.begin() + begin, dims.begin() + std::max(begin, end));
  node.importer().know(node, 0, some, {static_cast<int64_t>(some.size())}, DType::kI64);
}

void import_size(const ImportNode& node) {
  int64_t elements = 1;
  for (const ImportExtent& e : node.input(0).shape) {
    if (!e.fixed()) throw Unsupported{"the shape has a dim that calls tell"};
    elements *= e.times;
  }
  node.importer().know(node, 0, {elements}, {}, DType::kI64);
}

}  // namespace

std::vector<ImportEntry> rows_of_shapes() {
  return {{"Constant", import_constant}, {"Shape", import_shape}, {"Size", import_size}};
}

}  // namespace hone::ops
