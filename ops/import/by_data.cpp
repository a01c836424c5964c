// SPDX-License-Identifier: Apache-2.0
// Operators that make tensors of a size that data tell: functions of the host, where the data are
// not known before a call.
#include <fmt/format.h>

#include <algorithm>

#include "ops/import/rows.h"

namespace hone::ops {
namespace {

/// Places of what is not 0, where that is known.
void know_non_zero(const ImportNode& node) {
  const std::vector<int64_t>& values = node.known(0, "elements");
  std::vector<int64_t> places, all;
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] != 0) places.push_back(static_cast<int64_t>(i));
  }
  const ImportShape& shape = node.input(0).shape;
  auto behind = static_cast<int64_t>(values.size());
  for (const ImportExtent& e : shape) {
    behind /= std::max<int64_t>(e.times, 1);
    for (const int64_t p : places) all.push_back(p / behind % e.times);
  }
  node.importer().know(node, 0, all,
                       {static_cast<int64_t>(shape.size()), static_cast<int64_t>(places.size())},
                       DType::kI64);
}

/// Indices of what is not 0, a column for each element.
void import_non_zero(const ImportNode& node) {
  const ImportValue& x = node.input(0);
  if (x.known) return know_non_zero(node);
  if (x.shape.empty()) throw Unsupported{"its input has no dims"};
  const auto rank = static_cast<int64_t>(x.shape.size());
  Importer& importer = node.importer();
  importer.call(node, "nonzero", {{0, DType::kI64, {{rank, ""}, importer.data_dim(node)}, "", ""}},
                {&x});
}

/// The elements that a condition names, where that is known: of the whole tensor without an axis.
void compress_known(const ImportNode& node) {
  const ImportValue& x = node.input(0);
  const std::vector<int64_t>& wanted = node.known(1, "conditions");
  std::vector<int64_t> places;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] != 0) places.push_back(static_cast<int64_t>(i));
  }
  const auto count = static_cast<int64_t>(places.size());
  const bool flat = !node.has_attribute("axis");
  const size_t rank = x.shape.size(), axis = flat ? 0 : import_axis(node.integer("axis", 0), rank);
  const ImportExtent all = flat ? import_elements(x.shape, 0, rank) : x.shape[axis];
  if (static_cast<int64_t>(wanted.size()) > import_fixed(all)) {
    throw Unsupported{"its condition is longer than its input"};
  }
  ImportValue ids;
  ids.type = DType::kI64;
  ids.shape = {{count, ""}};
  ids.known = places;
  ImportShape shape = flat ? ImportShape{{count, ""}} : x.shape;
  if (!flat) shape[axis] = {count, ""};
  std::vector<std::string> in = import_dims(x.shape), out = import_dims(shape),
                           at = import_indices(x.shape);
  out[axis] = std::to_string(count);
  const std::string place = fmt::format("J[{}]", import_index(axis));
  if (!flat) at[axis] = place;
  int64_t behind = import_fixed(all);
  for (size_t i = 0; flat && i < rank; ++i) {
    behind /= std::max<int64_t>(x.shape[i].times, 1);
    in[i] = x.shape[i].text();
    at[i] = fmt::format("{}/{}%{}", place, behind, x.shape[i].times);
  }
  node.importer().make(node, 0, x.type, shape,
                       {{&x, "X", joined(in)}, {&ids, "J", std::to_string(count)}}, joined(out),
                       fmt::format("Y[{}] = X[{}]{}", joined(import_indices(shape)), joined(at),
                                   flat ? " else 0" : ""));
}

void import_compress(const ImportNode& node) {
  const ImportValue &x = node.input(0), &condition = node.input(1);
  if (condition.known) return compress_known(node);
  const bool flat = !node.has_attribute("axis");
  const size_t axis = flat ? 0 : import_axis(node.integer("axis", 0), x.shape.size());
  if (condition.shape.size() != 1) throw Unsupported{"its condition has not one dim"};
  Importer& importer = node.importer();
  ImportShape shape = flat ? ImportShape(1) : x.shape;
  shape[axis] = importer.data_dim(node);
  importer.call(node, flat ? "compress" : fmt::format("compress<axis={}>", axis),
                {{0, x.type, shape, "", ""}}, {&x, &condition});
}

/// Slices that differ, and three lists of integers about them.
void import_unique(const ImportNode& node) {
  const ImportValue& x = node.input(0);
  const bool flat = !node.has_attribute("axis");
  const size_t rank = x.shape.size(), axis = flat ? 0 : import_axis(node.integer("axis", 0), rank);
  const int64_t sorted = node.integer("sorted", 1) != 0 ? 1 : 0;
  Importer& importer = node.importer();
  const ImportExtent count = importer.data_dim(node);
  ImportShape shape = flat ? ImportShape(1) : x.shape, places(1);
  shape[axis] = count;
  // A product of open dims is none of the importer's extents.
  if (node.wants(2)) places[0] = flat ? import_elements(x.shape, 0, rank) : x.shape[axis];
  importer.call(node,
                flat ? fmt::format("unique<sorted={}>", sorted)
                     : fmt::format("unique<axis={}, sorted={}>", axis, sorted),
                {{0, x.type, shape, "", ""},
                 {1, DType::kI64, {count}, "", ""},
                 {2, DType::kI64, places, "", ""},
                 {3, DType::kI64, {count}, "", ""}},
                {&x});
}

/// An input that may be left out: then it is one number.
ImportValue number_or(const ImportNode& node, size_t input, DType type) {
  if (node.has(input)) return node.input(input);
  ImportValue out;
  out.type = type;
  out.shape = {{1, ""}};
  out.tensor = &node.importer().tensor_of(type, {1}, {0});
  return out;
}

void import_suppression(const ImportNode& node) {
  const ImportValue &boxes = node.input(0), &scores = node.input(1);
  const ImportValue most = number_or(node, 2, DType::kI64),
                    overlap = number_or(node, 3, DType::kF32);
  std::vector<const ImportValue*> reads{&boxes, &scores, &most, &overlap};
  if (node.has(4)) reads.push_back(&node.input(4));
  // How many rows there may be follows from a limit that is known.
  int64_t limit = node.has(2) ? -1 : 0;
  if (most.known && most.known->size() == 1) limit = std::max<int64_t>(most.known->at(0), -1);
  std::string call = fmt::format("non_max_suppression<center={}",
                                 node.integer("center_point_box", 0) != 0 ? 1 : 0);
  if (limit >= 0) call += fmt::format(", limit={}", limit);
  Importer& importer = node.importer();
  importer.call(node, call + ">", {{0, DType::kI64, {importer.data_dim(node), {3, ""}}, "", ""}},
                reads);
}

}  // namespace

std::vector<ImportEntry> rows_of_data() {
  return {{"Compress", import_compress},
          {"NonMaxSuppression", import_suppression},
          {"NonZero", import_non_zero},
          {"Unique", import_unique}};
}

}  // namespace hone::ops
