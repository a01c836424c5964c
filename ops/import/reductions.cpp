// SPDX-License-Identifier: Apache-2.0
// Reductions, normalisations and softmax.
#include <fmt/format.h>

#include <algorithm>

#include "ops/import/elementwise.h"
#include "ops/import/rows.h"

namespace hone::ops {
namespace {

/// How a node's input is gone over: some of its dims are reduced, the others stay.
struct Axes {
  std::vector<bool> reduced;  ///< per dim
  std::string all;            ///< declared dims of the input, `D0,D1,D2`
  std::string at;             ///< indices with reduced ones as `r1`
  std::string plain;          ///< indices of all dims, `i0,i1,i2`
  std::string over;           ///< the reduced indices, `r1`
  std::string kept;           ///< indices of dims that stay, `i0,i2`
  std::string count;          ///< reduced elements, `D1`

  explicit Axes(const ImportValue& x, std::vector<bool> which) : reduced(std::move(which)) {
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
  bool none() const { return over.empty(); }
};

/// The axes that a reduction names: an attribute, later an input.
std::vector<bool> reduced_axes(const ImportNode& node) {
  const ImportValue& x = node.input(0);
  std::vector<int64_t> axes = node.integers("axes", {});
  if (node.has(1)) axes = node.known(1, "axes");
  const bool all = axes.empty() && node.integer("noop_with_empty_axes", 0) == 0;
  std::vector<bool> reduced(x.shape.size(), all);
  for (const int64_t axis : axes) reduced.at(import_axis(axis, x.shape.size())) = true;
  return reduced;
}

/// A number of elements, in the type of arithmetic on a value.
std::string counted(const ImportValue& x, const std::string& count) {
  return fmt::format("cast<{}>({})", x.type == DType::kF64 ? "f64" : "f32", count);
}

/// The shape of a reduction's result, with its declaration and indices.
struct Reduced {
  ImportShape shape;
  std::string dims, at;
};

Reduced result_of(const ImportValue& x, const Axes& axes, bool keep) {
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
  const Reduced result = result_of(x, axes, node.integer("keepdims", 1) != 0);
  if (!is_float(x.type) &&
      (node.op() == "ReduceMean" || node.op() == "ReduceL2" || node.op() == "ReduceLogSum")) {
    throw Unsupported{"of integers"};
  }
  const std::string element =
      with_letters(std::string(row->before), {{'x', fmt::format("X[{}]", axes.at)}});
  const std::string reduced =
      axes.none() ? element : fmt::format("{}[{}]({})", row->reduction, axes.over, element);
  std::string text = with_letters(std::string(row->after), {{'n', counted(x, axes.count)}});
  text = with_letters(text, {{'t', "(" + reduced + ")"}});
  node.importer().make(node, 0, x.type, result.shape, {{&x, "X", axes.all}}, result.dims,
                       fmt::format("Y[{}] = {}", result.at, text));
}

void import_log_sum_exp(const ImportNode& node) {
  const ImportValue& x = node.input(0);
  const Axes axes(x, reduced_axes(node));
  const Reduced result = result_of(x, axes, node.integer("keepdims", 1) != 0);
  if (axes.none()) return node.importer().alias(node, 0, x);
  node.importer().make(
      node, 0, x.type, result.shape, {{&x, "X", axes.all}}, result.dims,
      fmt::format(
          "m[{0}] = max[{1}](X[{2}]); Y[{3}] = m[{0}] + log(sum[{1}](exp(X[{2}] - m[{0}])))",
          axes.kept, axes.over, axes.at, result.at));
}

void import_argument(const ImportNode& node) {
  const ImportValue& x = node.input(0);
  if (node.integer("select_last_index", 0) != 0) throw Unsupported{"the last of equal elements"};
  std::vector<bool> reduced(x.shape.size());
  reduced.at(import_axis(node.integer("axis", 0), x.shape.size())) = true;
  const Axes axes(x, reduced);
  const Reduced result = result_of(x, axes, node.integer("keepdims", 1) != 0);
  node.importer().make(
      node, 0, DType::kI64, result.shape, {{&x, "X", axes.all}}, result.dims,
      fmt::format("Y[{}] = {}[{}](X[{}])", result.at, node.op() == "ArgMax" ? "argmax" : "argmin",
                  axes.over, axes.at));
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

/// The dims of a parameter per channel.
ImportArgument per_channel(const ImportNode& node, size_t input, const char* name) {
  const ImportValue& v = node.input(input);
  if (v.shape.size() != 1) throw Unsupported{fmt::format("input {} is not of rank 1", input)};
  return {&v, name, "D1"};
}

void import_batch_normalization(const ImportNode& node) {
  const ImportValue& x = node.input(0);
  if (node.integer("training_mode", 0) != 0 || node.wants(1)) {
    throw Unsupported{"statistics of a batch, which training makes"};
  }
  if (x.shape.size() < 2) throw Unsupported{"its input has no channels"};
  const Axes a(x, std::vector<bool>(x.shape.size()));
  node.importer().make(node, 0, x.type, x.shape,
                       {{&x, "X", a.all},
                        per_channel(node, 1, "S"),
                        per_channel(node, 2, "B"),
                        per_channel(node, 3, "M"),
                        per_channel(node, 4, "V")},
                       a.all,
                       fmt::format("Y[{0}] = (X[{0}] - M[i1])*rsqrt(V[i1] + {1})*S[i1] + B[i1]",
                                   a.plain, import_number(node.number("epsilon", 1e-5))));
}

/// Mean 0 and variance 1 over the dims from `axis` on, of each channel for instances.
void import_layer_normalization(const ImportNode& node) {
  const ImportValue& x = node.input(0);
  if (node.wants(1) || node.wants(2)) throw Unsupported{"means or deviations are asked for"};
  const bool instance = node.op() == "InstanceNormalization";
  const size_t axis = instance ? 2 : import_axis(node.integer("axis", -1), x.shape.size());
  std::vector<bool> reduced(x.shape.size());
  for (size_t i = axis; i < x.shape.size(); ++i) reduced[i] = true;
  const Axes a(x, reduced);
  if (a.none()) throw Unsupported{"there is nothing to normalise over"};
  std::vector<ImportArgument> arguments{{&x, "X", a.all}};
  std::string text = fmt::format("(X[{0}] - m[{1}])*rsqrt(v[{1}] + {2})", a.plain, a.kept,
                                 import_number(node.number("epsilon", 1e-5)));
  for (const size_t input : {size_t{1}, size_t{2}}) {
    if (!node.has(input)) continue;
    const ImportValue& p = node.input(input);
    const std::string name = input == 1 ? "S" : "B";
    Broadcast at = instance ? Broadcast{"D1", "i1"} : broadcast(p.shape, x.shape);
    arguments.push_back({&p, name, at.dims});
    text += fmt::format("{}{}[{}]", input == 1 ? "*" : " + ", name, at.indices);
  }
  node.importer().make(
      node, 0, x.type, x.shape, arguments, a.all,
      fmt::format("m[{0}] = sum[{1}](X[{2}])/{3}; v[{0}] = sum[{1}]((X[{2}] - m[{0}])*"
                  "(X[{2}] - m[{0}]))/{3}; Y[{4}] = {5}",
                  a.kept, a.over, a.at, counted(x, a.count), a.plain, text));
}

void import_lrn(const ImportNode& node) {
  const ImportValue& x = node.input(0);
  const int64_t size = node.integer("size", 1), before = (size - 1) / 2;
  if (x.shape.size() < 2 || size < 1) throw Unsupported{"its input has no channels"};
  const Axes a(x, std::vector<bool>(x.shape.size()));
  std::string window = "i0,i1 + q_ - " + std::to_string(before);
  for (size_t i = 2; i < x.shape.size(); ++i) window += "," + import_index(i);
  node.importer().make(
      node, 0, x.type, x.shape, {{&x, "X", a.all}}, a.all,
      fmt::format("q[{0}] = X[{0}]*X[{0}]; s[{0}] = sum[q_ in 0..{1}](q[{2}] else 0); Y[{0}] = "
                  "X[{0}]/pow({3} + {4}*s[{0}], {5})",
                  a.plain, size, window, import_number(node.number("bias", 1)),
                  import_number(node.number("alpha", 1e-4) / static_cast<double>(size)),
                  import_number(node.number("beta", 0.75))));
}

}  // namespace

std::vector<ImportEntry> rows_of_reductions() {
  std::vector<ImportEntry> rows = {
      {"ArgMax", import_argument},
      {"ArgMin", import_argument},
      {"BatchNormalization", import_batch_normalization},
      {"InstanceNormalization", import_layer_normalization},
      {"LayerNormalization", import_layer_normalization},
      {"LogSoftmax", import_softmax},
      {"LRN", import_lrn},
      {"ReduceLogSumExp", import_log_sum_exp},
      {"Softmax", import_softmax},
  };
  for (const ReductionRow& r : kReductions) rows.push_back({r.op, import_reduction});
  return rows;
}

}  // namespace hone::ops
