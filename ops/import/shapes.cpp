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

/// Without a value its elements are f32 zeros.
void import_filled(const ImportNode& node) {
  onnx::Tensor zero;
  zero.type = onnx::DataType::kFloat;
  zero.data = std::string_view("\0\0\0\0", sizeof(float));
  const onnx::Tensor* value = node.tensor("value");
  if (value && value->elements != 1) throw Unsupported{"its value has several elements"};
  Importer& importer = node.importer();
  importer.constant(node, 0, importer.fill(value ? *value : zero, node.known(0, "dims")));
}

void import_range(const ImportNode& node) {
  const int64_t begin = node.known(0, "ends").at(0), end = node.known(1, "ends").at(0),
                step = node.known(2, "steps").at(0);
  if (step == 0) throw Unsupported{"a step of 0"};
  const int64_t count = std::max<int64_t>((end - begin + step - (step > 0 ? 1 : -1)) / step, 0);
  if (count > (int64_t{1} << 20)) throw Unsupported{"a range of more than a million"};
  std::vector<int64_t> all;
  for (int64_t i = 0; i < count; ++i) all.push_back(begin + i * step);
  node.importer().know(node, 0, all, {count}, node.input(0).type);
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
    elements = import_product(elements, e.times);
  }
  node.importer().know(node, 0, {elements}, {}, DType::kI64);
}

}  // namespace

std::vector<ImportEntry> rows_of_shapes() {
  return {{"Constant", import_constant},
          {"ConstantOfShape", import_filled},
          {"Range", import_range},
          {"Shape", import_shape},
          {"Size", import_size}};
}

}  // namespace hone::ops
