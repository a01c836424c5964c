// SPDX-License-Identifier: Apache-2.0
// Constants, and what is known of shapes before a call.
#include <algorithm>
#include <cmath>

#include "ops/import/rows.h"

namespace hone::ops {
namespace {

/// Elements of a range.
/// Chosen: more than sequences have places (not measured).
constexpr int64_t kMostInRange = int64_t{1} << 20;

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
  Importer& importer = node.importer();
  if (node.has_attribute("value_float")) {
    const double one = node.number("value_float", 0);
    return importer.constant(node, 0, importer.tensor_of(DType::kF32, {}, {one}));
  }
  if (node.has_attribute("value_floats")) {
    const std::vector<double> all = node.numbers("value_floats");
    const auto count = static_cast<int64_t>(all.size());
    return importer.constant(node, 0, importer.tensor_of(DType::kF32, {count}, all));
  }
  throw Unsupported{"its value is neither a tensor nor numbers"};
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

/// Of floats, in f64: the last is the one before the end.
void make_range(const ImportNode& node) {
  const DType type = node.input(0).type;
  const double begin = node.numbers(0, "ends").at(0), end = node.numbers(1, "ends").at(0),
               step = node.numbers(2, "steps").at(0);
  const double count = std::max(std::ceil((end - begin) / step), 0.0);
  if (!(count <= static_cast<double>(kMostInRange))) {
    throw Unsupported{"a range without an end, or of more than a million"};
  }
  std::vector<double> all;
  for (int64_t i = 0; i < static_cast<int64_t>(count); ++i) {
    all.push_back(begin + static_cast<double>(i) * step);
  }
  Importer& importer = node.importer();
  importer.constant(node, 0, importer.tensor_of(type, {static_cast<int64_t>(count)}, all));
}

void import_range(const ImportNode& node) {
  if (is_float(node.input(0).type)) return make_range(node);
  const int64_t begin = node.known(0, "ends").at(0), end = node.known(1, "ends").at(0),
                step = node.known(2, "steps").at(0);
  if (step == 0) throw Unsupported{"a step of 0"};
  for (const int64_t v : {begin, end, step}) {
    // What is known of integers ends there.
    if (std::abs(v) >= kMostInteger) throw Unsupported{"a range of integers beyond 2^40"};
  }
  const int64_t count = std::max<int64_t>((end - begin + step - (step > 0 ? 1 : -1)) / step, 0);
  if (count > kMostInRange) throw Unsupported{"a range of more than a million"};
  std::vector<int64_t> all;
  for (int64_t i = 0; i < count; ++i) all.push_back(begin + i * step);
  node.importer().know(node, 0, all, {count}, node.input(0).type);
}

void import_shape(const ImportNode& node) {
  const ImportValue& x = node.input(0);
  const auto rank = static_cast<int64_t>(x.shape.size());
  const auto place = [&](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + rank : i, 0, rank); };
  const int64_t begin = place(node.integer("start", 0)), end = place(node.integer("end", rank));
  ImportShape some(x.shape.begin() + begin, x.shape.begin() + std::max(begin, end));
  const auto count = static_cast<int64_t>(some.size());
  node.importer().size(node, 0, std::move(some), {count}, DType::kI64);
}

void import_size(const ImportNode& node) {
  const ImportShape& shape = node.input(0).shape;
  node.importer().size(node, 0, {import_elements(shape, 0, shape.size())}, {}, DType::kI64);
}

/// Ones on a diagonal of a matrix of the input's shape.
void import_eye(const ImportNode& node) {
  const ImportValue& x = node.input(0);
  if (x.shape.size() != 2) throw Unsupported{"its input is no matrix"};
  const int64_t rows = import_fixed(x.shape[0]), columns = import_fixed(x.shape[1]),
                k = node.integer("k", 0), given = node.integer("dtype", 0);
  const DType type = given == 0 ? x.type : import_type(static_cast<onnx::DataType>(given));
  if (import_product(rows, columns) > kMostInRange) {
    throw Unsupported{"a matrix of more than a million"};
  }
  std::vector<double> all(static_cast<size_t>(rows * columns));
  for (int64_t i = 0; i < rows; ++i) {
    if (i + k >= 0 && i + k < columns) all[static_cast<size_t>(i * columns + i + k)] = 1;
  }
  Importer& importer = node.importer();
  importer.constant(node, 0, importer.tensor_of(type, {rows, columns}, all));
}

}  // namespace

std::vector<ImportEntry> rows_of_shapes() {
  return {{"Constant", import_constant}, {"ConstantOfShape", import_filled},
          {"EyeLike", import_eye},       {"Range", import_range},
          {"Shape", import_shape},       {"Size", import_size}};
}

}  // namespace hone::ops
