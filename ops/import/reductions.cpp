// SPDX-License-Identifier: Apache-2.0
// Reductions and softmax.
#include <fmt/format.h>

#include <algorithm>

#include "ops/import/axes.h"
#include "ops/import/rows.h"

namespace hone::ops {
namespace {

/// `before` of each element, reduced by `reduction`, then `after` of the result as `t`.
struct ReductionRow {
  std::string_view op, reduction, before, after;
};

constexpr ReductionRow kReductions[] = {
    {"ReduceL1", "sum", "abs(x)", "t"},     {"ReduceL2", "sum", "x*x", "sqrt(t)"},
    {"ReduceLogSum", "sum", "x", "log(t)"}, {"ReduceMax", "max", "x", "t"},
    {"ReduceMean", "sum", "x", "t/n"},      {"ReduceMin", "min", "x", "t"},
    {"ReduceProd", "prod", "x", "t"},       {"ReduceSum", "sum", "x", "t"},
    {"ReduceSumSquare", "sum", "x*x", "t"},
};

void import_reduction(const ImportNode& node) {
  const auto* row = std::find_if(std::begin(kReductions), std::end(kReductions),
                                 [&](const ReductionRow& r) { return r.op == node.op(); });
  const ImportValue& x = node.input(0);
  const Axes axes(x, reduced_axes(node));
  const Reduced result = reduced_shape(x, axes, node.integer("keepdims", 1) != 0);
  if (is_int(x.type) &&
      (node.op() == "ReduceMean" || node.op() == "ReduceL2" || node.op() == "ReduceLogSum")) {
    throw Unsupported{"of integers"};
  }
  std::string reduction(row->reduction);
  if (x.type == DType::kBool) {
    // Of bools the greatest says whether one holds, the least whether all do.
    if (reduction != "max" && reduction != "min") throw Unsupported{"of bools"};
    reduction = reduction == "max" ? "any" : "all";
  }
  const std::string element =
      with_letters(std::string(row->before), {{'x', fmt::format("X[{}]", axes.at)}});
  const std::string reduced =
      axes.none() ? element : fmt::format("{}[{}]({})", reduction, axes.over, element);
  std::string text = with_letters(std::string(row->after), {{'n', counted(x, axes.count)}});
  text = with_letters(text, {{'t', "(" + reduced + ")"}});
  node.importer().make(node, 0, x.type, result.shape, {{&x, "X", axes.all}}, result.dims,
                       fmt::format("Y[{}] = {}", result.at, text));
}

void import_log_sum_exp(const ImportNode& node) {
  const ImportValue& x = node.input(0);
  const Axes axes(x, reduced_axes(node));
  const Reduced result = reduced_shape(x, axes, node.integer("keepdims", 1) != 0);
  if (axes.none()) return node.importer().alias(node, 0, x);
  node.importer().make(
      node, 0, x.type, result.shape, {{&x, "X", axes.all}}, result.dims,
      fmt::format(
          "m[{0}] = max[{1}](X[{2}]); Y[{3}] = m[{0}] + log(sum[{1}](exp(X[{2}] - m[{0}])))",
          axes.kept, axes.over, axes.at, result.at));
}

void import_argument(const ImportNode& node) {
  const ImportValue& x = node.input(0);
  const size_t axis = import_axis(node.integer("axis", 0), x.shape.size());
  std::vector<bool> reduced(x.shape.size());
  reduced.at(axis) = true;
  const Axes axes(x, reduced);
  const Reduced result = reduced_shape(x, axes, node.integer("keepdims", 1) != 0);
  const char* reduction = node.op() == "ArgMax" ? "argmax" : "argmin";
  std::string text = fmt::format("{}[{}](X[{}])", reduction, axes.over, axes.at);
  if (node.integer("select_last_index", 0) != 0) {
    // The last of equal elements is the first from the end.
    std::vector<std::string> at = import_indices(x.shape);
    at[axis] = fmt::format("{} - 1 - {}", axes.count, axes.over);
    text = fmt::format("{0} - 1 - {1}[{2} in 0..{0}](X[{3}])", axes.count, reduction, axes.over,
                       joined(at));
  }
  node.importer().make(node, 0, DType::kI64, result.shape, {{&x, "X", axes.all}}, result.dims,
                       fmt::format("Y[{}] = {}", result.at, text));
}

/// Until version 12 all dims from the axis on are one; then it is the axis alone.
void import_softmax(const ImportNode& node) {
  const ImportValue& x = node.input(0);
  const bool old = node.version() < 13;
  const size_t axis = import_axis(node.integer("axis", old ? 1 : -1), x.shape.size());
  std::vector<bool> reduced(x.shape.size());
  for (size_t i = axis; i < x.shape.size(); ++i) reduced[i] = old || i == axis;
  const Axes a(x, reduced);
  if (a.none()) throw Unsupported{"of a scalar"};
  const std::string text =
      node.op() == "Softmax"
          ? fmt::format(
                "m[{0}] = max[{1}](X[{2}]); e[{3}] = exp(X[{3}] - m[{0}]); "
                "s[{0}] = sum[{1}](e[{2}]); Y[{3}] = e[{3}]/s[{0}]",
                a.kept, a.over, a.at, a.plain)
          : fmt::format(
                "m[{0}] = max[{1}](X[{2}]); s[{0}] = sum[{1}](exp(X[{2}] - m[{0}])); "
                "Y[{3}] = X[{3}] - m[{0}] - log(s[{0}])",
                a.kept, a.over, a.at, a.plain);
  node.importer().make(node, 0, x.type, x.shape, {{&x, "X", a.all}}, a.all, text);
}

}  // namespace

std::vector<ImportEntry> rows_of_reductions() {
  std::vector<ImportEntry> rows = {
      {"ArgMax", import_argument},    {"ArgMin", import_argument},
      {"LogSoftmax", import_softmax}, {"ReduceLogSumExp", import_log_sum_exp},
      {"Softmax", import_softmax},
  };
  for (const ReductionRow& r : kReductions) rows.push_back({r.op, import_reduction});
  return rows;
}

}  // namespace hone::ops
