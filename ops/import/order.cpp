// SPDX-License-Identifier: Apache-2.0
// Elements in another order: the greatest ones, and sequences turned round.
#include <fmt/format.h>

#include "ops/import/rows.h"

namespace hone::ops {
namespace {

/// Until version 9 the number is an attribute. Of equal elements the first comes first.
void import_top(const ImportNode& node) {
  const ImportValue& x = node.input(0);
  const size_t rank = x.shape.size(), axis = import_axis(node.integer("axis", -1), rank);
  const int64_t k = node.version() < 10 ? node.integer("k", 0) : node.known(1, "numbers").at(0);
  if (rank == 0 || k < 1 || k > import_fixed(x.shape[axis])) {
    throw Unsupported{
        fmt::format("the {} greatest of {}", k, rank == 0 ? "a scalar" : x.shape[axis].text())};
  }
  ImportShape shape = x.shape;
  shape[axis] = {k, ""};
  std::vector<std::string> in = import_dims(x.shape), out = in, at = import_indices(x.shape), rows;
  in[axis] = x.shape[axis].text();
  out[axis] = std::to_string(k);
  const std::string here = joined(at);
  for (size_t i = 0; i < rank; ++i) {
    if (i != axis) rows.push_back(at[i]);
  }
  // Rows are over the last dim; of a vector there is one.
  const std::string row = rows.empty() ? "u in 0..1" : joined(rows),
                    ahead = rows.empty() ? "0" : row;
  at[axis] = "j";
  // Wide enough that the smallest are the greatest of what is turned round.
  const std::string read = fmt::format("X[{}]", joined(at));
  const bool largest = node.integer("largest", 1) != 0;
  const DType type = is_float(x.type) ? (x.type == DType::kF64 ? DType::kF64 : DType::kF32)
                                      : (x.type == DType::kI64 ? DType::kI64 : DType::kI32);
  const std::string turned = largest ? read : is_float(type) ? "-" + read : "~" + read;
  const std::string place = fmt::format("p[{},{}]", ahead, import_index(axis));
  at[axis] = place;
  std::string text = fmt::format("t: {0}[{1},j] = {2}; _, p[{1},k in 0..{3}] = topk_rows(t)",
                                 name_of(type), row, turned, k);
  std::vector<ImportResult> results;
  if (node.wants(0)) {
    results.push_back({0, x.type, shape, "Y", joined(out)});
    text += fmt::format("; Y[{}] = X[{}] else 0", here, joined(at));
  }
  if (node.wants(1)) {
    results.push_back({1, DType::kI64, shape, "P", joined(out)});
    text += fmt::format("; P[{}] = {}", here, place);
  }
  node.importer().make(node, results, {{&x, "X", joined(in)}}, text);
}

void import_reverse_sequence(const ImportNode& node) {
  const ImportValue &x = node.input(0), &lengths = node.input(1);
  const size_t rank = x.shape.size(), time = import_axis(node.integer("time_axis", 0), rank),
               batch = import_axis(node.integer("batch_axis", 1), rank);
  if (rank < 2 || time == batch) throw Unsupported{"its input has no sequences"};
  std::vector<std::string> at = import_indices(x.shape);
  const std::string here = joined(at), dims = joined(import_dims(x.shape)), t = at[time],
                    n = fmt::format("N[{}]", at[batch]);
  at[time] = fmt::format("select({0} < {1}, {1} - 1 - {0}, {0})", t, n);
  node.importer().make(node, 0, x.type, x.shape,
                       {{&x, "X", dims}, {&lengths, "N", import_dim(batch)}}, dims,
                       fmt::format("Y[{}] = X[{}] else 0", here, joined(at)));
}

}  // namespace

std::vector<ImportEntry> rows_of_order() {
  return {{"ReverseSequence", import_reverse_sequence}, {"TopK", import_top}};
}

}  // namespace hone::ops
