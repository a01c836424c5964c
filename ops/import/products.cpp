// SPDX-License-Identifier: Apache-2.0
// Matrix products and convolutions.
#include <fmt/format.h>

#include <algorithm>

#include "ops/import/convolution.h"
#include "ops/import/elementwise.h"
#include "ops/import/rows.h"
#include "ops/import/windows.h"

namespace hone::ops {
namespace {

/// The dims before the last two, as those of a value.
ImportValue outer(const ImportValue& v) {
  ImportValue out;
  if (v.shape.size() > 2) out.shape.assign(v.shape.begin(), v.shape.end() - 2);
  return out;
}

std::string listed(const std::string& ahead, const std::string& last) {
  return ahead.empty() || last.empty() ? ahead + last : ahead + "," + last;
}

void import_matmul(const ImportNode& node) {
  const ImportValue &a = node.input(0), &b = node.input(1);
  const Product p = product_of(a, b);
  node.importer().make(node, 0, a.type, p.shape, {{&a, "A", p.of_a}, {&b, "B", p.of_b}}, p.of_y,
                       fmt::format("Y[{}] = sum[k](A[{}] * B[{}])", p.at_y, p.at_a, p.at_b));
}

void import_gemm(const ImportNode& node) {
  const ImportValue &a = node.input(0), &b = node.input(1);
  if (a.shape.size() != 2 || b.shape.size() != 2) throw Unsupported{"operands are no matrices"};
  if (!is_float(a.type)) throw Unsupported{"matrices of integers"};
  const bool turn_a = node.integer("transA", 0) != 0, turn_b = node.integer("transB", 0) != 0;
  const ImportShape shape{a.shape[turn_a ? 1 : 0], b.shape[turn_b ? 0 : 1]};
  const double alpha = node.number("alpha", 1), beta = node.number("beta", 1);
  std::vector<ImportArgument> arguments{{&a, "A", turn_a ? "K,D0" : "D0,K"},
                                        {&b, "B", turn_b ? "D1,K" : "K,D1"}};
  std::string text =
      fmt::format("sum[k](A[{}] * B[{}])", turn_a ? "k,i0" : "i0,k", turn_b ? "i1,k" : "k,i1");
  if (alpha != 1) text = fmt::format("{}*{}", import_number(alpha), text);
  if (node.has(2) && beta != 0) {
    const ImportValue& c = node.input(2);
    const Broadcast at = broadcast(c.shape, shape);
    arguments.push_back({&c, "C", at.dims});
    text += beta == 1 ? fmt::format(" + C[{}]", at.indices)
                      : fmt::format(" + {}*C[{}]", import_number(beta), at.indices);
  }
  node.importer().make(node, 0, a.type, shape, arguments, "D0,D1", "Y[i0,i1] = " + text);
}

/// The reads of a convolution: of its input, and of the channels that a group has.
struct Channels {
  std::string input, reduced, weight;
};

Channels channels_of(const ImportValue& x, const ImportValue& w, int64_t groups) {
  const ImportExtent &in = x.shape[1], &out = w.shape[0], &each = w.shape[1];
  if (!in.fixed() || !out.fixed() || !each.fixed() || groups < 1 ||
      in.times != import_product(groups, each.times) || out.times % groups != 0) {
    throw Unsupported{fmt::format("{} channels, {} weights of {} and {} groups do not fit",
                                  in.text(), out.text(), each.text(), groups)};
  }
  if (groups == 1) return {"c", "c", "c"};
  const int64_t results = out.times / groups;
  const std::string group = results == 1 ? "i1" : fmt::format("i1/{}", results);
  if (each.times == 1) return {group, "", "0"};
  return {fmt::format("{}*({}) + c", each.times, group), fmt::format("c in 0..{}", each.times),
          "c"};
}

void import_conv(const ImportNode& node) {
  const ImportValue &x = node.input(0), &w = node.input(1);
  const Convolution c = convolution_of(node, x, w);
  std::vector<ImportArgument> arguments{{&x, "X", c.of_x}, {&w, "W", c.of_w}};
  std::string text = fmt::format(
      "sum[{}]({} * W[{}])", c.over,
      c.padded ? fmt::format("(X[{}] else 0)", c.at_x) : fmt::format("X[{}]", c.at_x), c.at_w);
  if (node.has(2)) {
    arguments.push_back({&node.input(2), "B", c.channels});
    text += " + B[i1]";
  }
  node.importer().make(node, 0, x.type, c.shape, arguments, c.of_y,
                       fmt::format("Y[{}] = {}", c.at_y, text));
}

}  // namespace

Product product_of(const ImportValue& a, const ImportValue& b) {
  if (a.shape.empty() || b.shape.empty()) throw Unsupported{"a product of a scalar"};
  const ImportValue over_a = outer(a), over_b = outer(b);
  Product p;
  p.shape = broadcast_shape({&over_a, &over_b});
  const Broadcast in_a = broadcast(over_a.shape, p.shape), in_b = broadcast(over_b.shape, p.shape),
                  in_y = declared(p.shape);
  const bool rows = a.shape.size() > 1, columns = b.shape.size() > 1;
  // Indices of rows and columns stand behind those of the batch.
  p.row = rows ? import_index(p.shape.size()) : "";
  p.column = columns ? import_index(p.shape.size() + (rows ? 1 : 0)) : "";
  if (rows) p.shape.push_back(a.shape[a.shape.size() - 2]);
  if (columns) p.shape.push_back(b.shape.back());
  p.of_a = listed(in_a.dims, rows ? "M,K" : "K");
  p.of_b = listed(in_b.dims, columns ? "K,N" : "K");
  p.of_y = listed(in_y.dims, listed(rows ? "M" : "", columns ? "N" : ""));
  p.at_a = listed(in_a.indices, rows ? p.row + ",k" : "k");
  p.at_b = listed(in_b.indices, columns ? "k," + p.column : "k");
  p.at_y = listed(in_y.indices, listed(p.row, p.column));
  return p;
}

Convolution convolution_of(const ImportNode& node, const ImportValue& x, const ImportValue& w) {
  if (w.shape.size() < 3 || w.shape.size() != x.shape.size()) {
    throw Unsupported{"its weights are of another rank than its input"};
  }
  std::vector<int64_t> taps;
  for (size_t i = 2; i < w.shape.size(); ++i) taps.push_back(import_fixed(w.shape[i]));
  const auto windows = import_windows(node, x, taps);
  const int64_t groups = node.integer("group", 1);
  const Channels c = channels_of(x, w, groups);
  Convolution out;
  out.shape = {x.shape[0], w.shape[0]};
  // Channels of groups are numbers where indices are divided by them.
  const bool alone = groups > 1 && w.shape[0].is(groups) && w.shape[1].is(1), named = groups == 1;
  out.channels = named || alone ? "D1" : w.shape[0].text();
  std::vector<std::string> of_x{"D0", alone   ? "D1"
                                      : named ? "C"
                                              : x.shape[1].text()},
      of_w{out.channels, named ? "C" : w.shape[1].text()}, of_y{"D0", out.channels},
      at_x{"i0", c.input}, at_w{"i1", c.weight}, at_y{"i0", "i1"}, over;
  if (!c.reduced.empty()) over.push_back(c.reduced);
  for (size_t i = 0; i < windows.size(); ++i) {
    const ImportWindow& window = windows[i];
    const std::string tap = fmt::format("r{}", i);
    of_x.push_back(window.input_text(import_dim(i + 2)));
    of_w.push_back(std::to_string(window.taps));
    of_y.push_back(window.results_text(import_dim(i + 2)));
    at_x.push_back(window.position(import_index(i + 2), tap));
    at_w.push_back(tap);
    at_y.push_back(import_index(i + 2));
    over.push_back(tap);
    out.shape.push_back(window.results);
    out.padded |= window.padded;
  }
  out.of_x = joined(of_x);
  out.of_w = joined(of_w);
  out.of_y = joined(of_y);
  out.at_x = joined(at_x);
  out.at_w = joined(at_w);
  out.at_y = joined(at_y);
  out.over = joined(over);
  return out;
}

std::vector<ImportEntry> rows_of_products() {
  return {{"Conv", import_conv}, {"Gemm", import_gemm}, {"MatMul", import_matmul}};
}

}  // namespace hone::ops
