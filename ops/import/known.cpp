// SPDX-License-Identifier: Apache-2.0
// What is computed before a call, of numbers that are known then: as on shapes, sizes and scales.
#include "ops/import/known.h"

#include <algorithm>
#include <cstdlib>

#include "ops/import/elementwise.h"

namespace hone::ops {
namespace {

bool is_arithmetic(std::string_view op) {
  return op == "Add" || op == "Sub" || op == "Mul" || op == "Div";
}

std::vector<int64_t> dims_of(const ImportShape& shape) {
  std::vector<int64_t> dims;
  for (const ImportExtent& e : shape) dims.push_back(e.times);
  return dims;
}

/// Whether these are the numbers of the file: large ones are cut where they are read.
bool exact(const std::vector<int64_t>& values) {
  return std::all_of(values.begin(), values.end(),
                     [](int64_t v) { return std::abs(v) < kMostInteger; });
}

/// An integer as a type holds it.
int64_t wrapped(int64_t v, DType type) {
  if (type == DType::kBool) return v != 0 ? 1 : 0;
  if (type == DType::kI64) return v;
  const int64_t cut = v & ((int64_t{1} << bit_width_of(type)) - 1);
  const bool negative = !is_unsigned(type) && cut >> (bit_width_of(type) - 1) != 0;
  return negative ? cut - (int64_t{1} << bit_width_of(type)) : cut;
}

/// What comes of two sizes, if that is a size.
std::optional<ImportExtent> combined(std::string_view op, const ImportExtent& a,
                                     const ImportExtent& b) {
  if (op == "Add") return a.and_of(b);
  if (op == "Sub") return a.without(b);
  if (op == "Mul" && (a.fixed() || b.fixed())) return import_elements({a, b}, 0, 2);
  if (op == "Div" && b.fixed() && b.times > 0) return a.divided(b.times);
  return {};
}

bool compute_sizes(const ImportNode& node) {
  const ImportValue &a = node.input(0), &b = node.input(1);
  const auto left = sizes_of(a), right = sizes_of(b);
  if (!(a.sizes || b.sizes) || !left || !right || left->empty() || right->empty()) return false;
  const ImportShape shape = broadcast_shape({&a, &b});
  if (shape.size() > 1) return false;
  ImportShape values;
  for (size_t i = 0; i < std::max(left->size(), right->size()); ++i) {
    auto value = combined(node.op(), (*left)[left->size() == 1 ? 0 : i],
                          (*right)[right->size() == 1 ? 0 : i]);
    if (!value) return false;
    values.push_back(*std::move(value));
  }
  node.importer().size(node, 0, std::move(values), dims_of(shape), a.type);
  return true;
}

bool compare(std::string_view op, int64_t x, int64_t y) {
  if (op == "Equal") return x == y;
  if (op == "Greater") return x > y;
  if (op == "GreaterOrEqual") return x >= y;
  if (op == "Less") return x < y;
  if (op == "LessOrEqual") return x <= y;
  if (op == "And") return x != 0 && y != 0;
  if (op == "Or") return x != 0 || y != 0;
  return (x != 0) != (y != 0);
}

bool is_comparison(std::string_view op) {
  constexpr std::string_view kAll[] = {"And",  "Equal",       "Greater", "GreaterOrEqual",
                                       "Less", "LessOrEqual", "Or",      "Xor"};
  return std::find(std::begin(kAll), std::end(kAll), op) != std::end(kAll);
}

/// What an operator makes of two integers; `y` is not 0 where it divides.
int64_t combined(std::string_view op, int64_t x, int64_t y) {
  if (op == "Add") return x + y;
  if (op == "Sub") return x - y;
  if (op == "Mul") return import_product(x, y);
  if (op == "Div") return x / y;
  if (op == "Max") return std::max(x, y);
  if (op == "Min") return std::min(x, y);
  return compare(op, x, y) ? 1 : 0;
}

bool compute_integers(const ImportNode& node) {
  const std::string_view op = node.op();
  const ImportValue &a = node.input(0), &b = node.input(1);
  if (!a.known || !b.known || a.known->empty() || b.known->empty()) return false;
  if (!exact(*a.known) || !exact(*b.known)) return false;
  const ImportShape shape = broadcast_shape({&a, &b});
  if (shape.size() > 1) return false;
  const DType type = is_comparison(op) ? DType::kBool : a.type;
  std::vector<int64_t> values;
  const size_t count = std::max(a.known->size(), b.known->size());
  for (size_t i = 0; i < count; ++i) {
    const int64_t x = (*a.known)[a.known->size() == 1 ? 0 : i];
    const int64_t y = (*b.known)[b.known->size() == 1 ? 0 : i];
    if (op == "Div" && y == 0) return false;
    values.push_back(wrapped(combined(op, x, y), type));
  }
  node.importer().know(node, 0, std::move(values), dims_of(shape), type);
  return true;
}

/// One float and another, in their type.
bool compute_number(const ImportNode& node) {
  const std::string_view op = node.op();
  const ImportValue &a = node.input(0), &b = node.input(1);
  if (!a.number || !b.number || a.type != DType::kF32 || b.type != DType::kF32) return false;
  const auto x = static_cast<float>(*a.number), y = static_cast<float>(*b.number);
  const float value = op == "Add" ? x + y : op == "Sub" ? x - y : op == "Mul" ? x * y : x / y;
  Importer& importer = node.importer();
  importer.constant(node, 0,
                    importer.tensor_of(DType::kF32, dims_of(broadcast_shape({&a, &b})),
                                       {static_cast<double>(value)}));
  return true;
}

}  // namespace

bool compute_known(const ImportNode& node) {
  if (node.op() == "Neg" && node.input(0).known) {
    const ImportValue& a = node.input(0);
    if (!exact(*a.known)) return false;
    std::vector<int64_t> values;
    for (const int64_t v : *a.known) values.push_back(wrapped(-v, a.type));
    node.importer().know(node, 0, std::move(values), dims_of(a.shape), a.type);
    return true;
  }
  if (node.op() == "Not" && node.input(0).known) {
    std::vector<int64_t> values;
    for (const int64_t v : *node.input(0).known) values.push_back(v == 0 ? 1 : 0);
    node.importer().know(node, 0, std::move(values), dims_of(node.input(0).shape), DType::kBool);
    return true;
  }
  const bool ends = node.op() == "Max" || node.op() == "Min";
  if (node.inputs() != 2 || node.version() < 7) return false;
  if (ends || is_comparison(node.op())) return compute_integers(node);
  if (!is_arithmetic(node.op())) return false;
  return compute_integers(node) || compute_sizes(node) || compute_number(node);
}

bool cast_known(const ImportNode& node, DType to) {
  const ImportValue& a = node.input(0);
  if (a.sizes && (to == DType::kI64 || to == DType::kI32)) {
    node.importer().size(node, 0, *a.sizes, dims_of(a.shape), to);
    return true;
  }
  if (!a.known || !exact(*a.known)) return false;
  if (!is_float(to)) {
    std::vector<int64_t> values;
    for (const int64_t v : *a.known) values.push_back(wrapped(v, to));
    node.importer().know(node, 0, std::move(values), dims_of(a.shape), to);
    return true;
  }
  if (size_of(to) < 4) return false;
  Importer& importer = node.importer();
  importer.constant(node, 0,
                    importer.tensor_of(to, dims_of(a.shape), {a.known->begin(), a.known->end()}));
  return true;
}

}  // namespace hone::ops
