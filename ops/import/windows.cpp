// SPDX-License-Identifier: Apache-2.0
#include "ops/import/windows.h"

#include <fmt/format.h>

#include <algorithm>

#include "ops/import/rows.h"

namespace hone::ops {
namespace {

/// Fixed by: ONNX, whose dims of images come after those of batch and channels.
constexpr size_t kFirst = 2;

/// What `auto_pad` adds on both sides so that there is a result for each `stride` elements.
void pad_alike(ImportWindow& w, bool lower) {
  if (!w.input.fixed() && w.stride != 1) {
    throw Unsupported{"auto_pad of strides wants sizes that are known before a call"};
  }
  // Without strides it is the same for all sizes.
  const int64_t n = w.input.fixed() ? w.input.times : 1, results = (n + w.stride - 1) / w.stride;
  const int64_t all = std::max<int64_t>(
      (results - 1) * w.stride + import_product(w.taps - 1, w.dilation) + 1 - n, 0);
  w.before = lower ? (all + 1) / 2 : all / 2;
  w.after = all - w.before;
}

void count_results(ImportWindow& w, bool up) {
  const int64_t reach = import_product(w.taps - 1, w.dilation) + 1;
  if (!w.input.fixed()) {
    if (up && (w.stride != 1 || w.after >= reach)) import_fixed(w.input);
    w.results = w.results_over(w.input);
    w.padded = w.before > 0 || w.after > 0;
    return;
  }
  const int64_t n = w.input.times, room = n + w.before + w.after - reach;
  int64_t results = room < 0 ? 0 : room / w.stride + 1;
  if (up && room >= 0) {
    if (room % w.stride != 0) ++results;
    // None begins behind the input. One is left out, as shape inference does since release 1.16.
    if (import_product(results - 1, w.stride) >= n + w.before) --results;
  }
  w.results = {results, ""};
  w.padded = w.before > 0 || import_product(results - 1, w.stride) + reach - w.before > n;
}

std::string indices_of(size_t dims) {
  std::string out;
  for (size_t i = 0; i < dims; ++i) out += (i > 0 ? "," : "") + import_index(i);
  return out;
}

std::string taps_of(const std::vector<ImportWindow>& windows) {
  std::vector<std::string> all;
  for (size_t i = 0; i < windows.size(); ++i)
    all.push_back(fmt::format("r{} in 0..{}", i, windows[i].taps));
  return joined(all);
}

/// A pooling's declarations.
struct Pooling {
  std::vector<ImportWindow> windows;
  std::string input, result, at;
  ImportShape shape;
  bool padded = false;
};

Pooling pooling_of(const ImportNode& node, const std::vector<int64_t>& taps) {
  const ImportValue& x = node.input(0);
  Pooling out;
  out.windows = import_windows(node, x, taps);
  out.input = out.result = "D0,D1";
  out.at = "i0,i1";
  out.shape = {x.shape[0], x.shape[1]};
  for (size_t i = 0; i < out.windows.size(); ++i) {
    const ImportWindow& w = out.windows[i];
    out.input += "," + w.input_text(import_dim(kFirst + i));
    out.result += "," + w.results_text(import_dim(kFirst + i));
    out.at += "," + w.position(import_index(kFirst + i), fmt::format("r{}", i));
    out.shape.push_back(w.results);
    out.padded |= w.padded;
  }
  return out;
}

/// What stands outside of the input, where no maximum is.
std::string least_of(DType type) {
  if (is_float(type)) return "-inf";
  if (type != DType::kI8 && type != DType::kU8) throw Unsupported{"maxima of wide integers"};
  return type == DType::kI8 ? "-128" : "0";
}

/// Places of maxima in the whole tensor: the first that is the greatest, a NaN before all.
void make_places(const ImportNode& node, const Pooling& p) {
  const ImportValue& x = node.input(0);
  const size_t rank = x.shape.size();
  const bool by_columns = node.integer("storage_order", 0) != 0;
  if (by_columns && rank != kFirst + 2) throw Unsupported{"places by columns of no image"};
  std::string place = "0", inside = "true";
  int64_t all = 1;
  for (size_t i = kFirst; i < rank; ++i) {
    const ImportWindow& w = p.windows[i - kFirst];
    const int64_t extent = import_fixed(w.input);
    const std::string at = w.position(import_index(i), fmt::format("r{}", i - kFirst));
    place = fmt::format("({})*{} + ({})", place, extent, at);
    if (w.padded) inside += fmt::format(" && {0} >= 0 && {0} < {1}", at, extent);
    all = import_product(all, extent);
  }
  const std::string result = indices_of(rank), taps = taps_of(p.windows),
                    read = fmt::format("(X[{}] else {})", p.at, least_of(x.type));
  const std::string found = fmt::format("q[{}]", result);
  const int64_t high = x.shape[kFirst].times, wide = x.shape[rank - 1].times;
  node.importer().make(
      node, 1, DType::kI64, p.shape, {{&x, "X", p.input}}, p.result,
      fmt::format(
          "m[{0}] = max[{1}]({2}); q[{0}] = min[{1}](select({3} && ({2} == m[{0}] || {2} != "
          "{2}), {4}, {5})); Y[{0}] = (i0*D1 + i1)*{5} + {6}",
          result, taps, read, inside, place, all,
          by_columns ? fmt::format("{0}%{1}*{2} + {0}/{1}", found, wide, high) : found));
}

void import_max_pool(const ImportNode& node) {
  const ImportValue& x = node.input(0);
  const Pooling p = pooling_of(node, node.integers("kernel_shape", {}));
  node.importer().make(
      node, 0, x.type, p.shape, {{&x, "X", p.input}}, p.result,
      fmt::format("Y[{}] = max[{}]({})", indices_of(p.shape.size()), taps_of(p.windows),
                  p.padded ? fmt::format("X[{}] else {}", p.at, least_of(x.type))
                           : fmt::format("X[{}]", p.at)));
  if (node.wants(1)) make_places(node, p);
}

/// Elements go back to their places in a tensor of zeros. These count the elements of the smallest
/// tensor that has such windows; the result may be larger.
void import_max_unpool(const ImportNode& node) {
  const ImportValue &x = node.input(0), &places = node.input(1);
  const std::vector<int64_t> taps = node.integers("kernel_shape", {});
  const size_t dims = taps.size(), rank = x.shape.size();
  const auto strides = node.integers("strides", std::vector<int64_t>(dims, 1)),
             pads = node.integers("pads", std::vector<int64_t>(2 * dims, 0));
  if (dims == 0 || rank != kFirst + dims || strides.size() != dims || pads.size() != 2 * dims) {
    throw Unsupported{"kernel, strides or pads are of another rank"};
  }
  std::vector<int64_t> counted{import_fixed(x.shape[0]), import_fixed(x.shape[1])};
  for (size_t i = 0; i < dims; ++i) {
    counted.push_back(import_product(import_fixed(x.shape[kFirst + i]) - 1, strides[i]) + taps[i] -
                      pads[i] - pads[dims + i]);
    if (counted.back() < 1) throw Unsupported{"there is nothing to put back"};
  }
  const std::vector<int64_t> wanted = node.has(2) ? node.known(2, "sizes") : counted;
  if (wanted.size() != rank) throw Unsupported{"its sizes are of another rank"};
  ImportShape shape;
  std::vector<std::string> in, out, at(rank);
  const std::string read = indices_of(rank);
  int64_t behind = 1;
  for (size_t i = rank; i-- > 0;) {
    const std::string place = fmt::format("J[{}]/{}", read, behind);
    at[i] = i == 0 ? place : fmt::format("({})%{}", place, counted[i]);
    behind = import_product(behind, counted[i]);
    if (i == 0 || counted[i] != 1) continue;
    if (!x.shape[i].is(1)) throw Unsupported{"windows that lie in their padding"};
    at[i] = import_index(i);
  }
  for (size_t i = 0; i < rank; ++i) {
    shape.push_back({wanted[i], ""});
    in.push_back(x.shape[i].text());
    out.push_back(shape[i].text());
  }
  node.importer().make(node, 0, x.type, shape, {{&x, "X", joined(in)}, {&places, "J", joined(in)}},
                       joined(out), fmt::format("Y[{}] else skip = X[{}]", joined(at), read));
}

/// How many taps of a window lie in the input, of `extent`. It begins at `begin`.
std::string taps_inside(const ImportWindow& w, const std::string& begin,
                        const std::string& extent) {
  if (!w.padded) return std::to_string(w.taps);
  if (w.dilation == 1)
    return fmt::format("(min({0} + {1}, {2}) - max({0}, 0))", begin, w.taps, extent);
  // Taps before a place are the distance to it by the dilation, rounded up.
  const auto before = [&](const std::string& place) {
    return fmt::format("({} - ({}) + {})/{}", place, begin, w.dilation - 1, w.dilation);
  };
  return fmt::format("(min({}, {}) - max(0, {}))", w.taps, before(extent), before("0"));
}

/// How many taps of a window lie in the input or its padding. The last window may end behind both.
std::string taps_padded(const ImportWindow& w, const std::string& begin) {
  const int64_t reach = import_product(w.taps - 1, w.dilation) + 1;
  const bool open = !w.input.fixed();
  const int64_t end = open ? 0 : w.input.times + w.after;
  if (open || import_product(w.results.times - 1, w.stride) + reach - w.before <= end) {
    return std::to_string(w.taps);
  }
  return fmt::format("min({}, ({} - ({}) + {})/{})", w.taps, end, begin, w.dilation - 1,
                     w.dilation);
}

/// With padding counted, the mean is over the taps that lie in it too, but over none behind it.
/// Release 1.18 of ONNX corrected a test of 1.17 that counted these.
void import_average_pool(const ImportNode& node) {
  const ImportValue& x = node.input(0);
  const Pooling p = pooling_of(node, node.integers("kernel_shape", {}));
  const bool all = node.integer("count_include_pad", 0) != 0;
  std::string count;
  for (size_t i = 0; i < p.windows.size(); ++i) {
    const ImportWindow& w = p.windows[i];
    count += count.empty() ? "" : "*";
    const std::string begin = w.position(import_index(kFirst + i), "0");
    count +=
        all ? taps_padded(w, begin) : taps_inside(w, begin, w.input_text(import_dim(kFirst + i)));
  }
  node.importer().make(
      node, 0, x.type, p.shape, {{&x, "X", p.input}}, p.result,
      fmt::format("Y[{}] = sum[{}](X[{}]{})/cast<{}>({})", indices_of(p.shape.size()),
                  taps_of(p.windows), p.at, p.padded ? " else 0" : "",
                  x.type == DType::kF64 ? "f64" : "f32", count));
}

/// The elements' part in a norm, and the norm of the sum of these.
struct Norm {
  std::string element, root;  ///< of `x`, and of `t`
};

Norm norm_of(const ImportNode& node) {
  // Version 1 has a float.
  const double p =
      node.version() < 2 ? node.number("p", 2) : static_cast<double>(node.integer("p", 2));
  if (!(p > 0)) throw Unsupported{fmt::format("a norm by the power {}", p)};
  if (p == 1) return {"abs(x)", "t"};
  if (p == 2) return {"x*x", "sqrt(t)"};
  return {fmt::format("pow(abs(x), {})", import_number(p)),
          fmt::format("pow(t, {})", import_number(1 / p))};
}

/// `reads` of a window as the norm of them, summed over `over`.
std::string norm_over(const Norm& norm, const std::string& over, const std::string& read) {
  const std::string sum =
      fmt::format("sum[{}]({})", over, with_letters(norm.element, {{'x', read}}));
  return with_letters(norm.root, {{'t', sum}});
}

/// What lies outside of the input counts as 0.
void import_norm_pool(const ImportNode& node) {
  const ImportValue& x = node.input(0);
  if (!is_float(x.type)) throw Unsupported{"norms of integers"};
  const Pooling p = pooling_of(node, node.integers("kernel_shape", {}));
  const std::string read =
      p.padded ? fmt::format("(X[{}] else 0)", p.at) : fmt::format("X[{}]", p.at);
  node.importer().make(node, 0, x.type, p.shape, {{&x, "X", p.input}}, p.result,
                       fmt::format("Y[{}] = {}", indices_of(p.shape.size()),
                                   norm_over(norm_of(node), taps_of(p.windows), read)));
}

void import_global_pool(const ImportNode& node) {
  const ImportValue& x = node.input(0);
  if (x.shape.size() <= kFirst) throw Unsupported{"its input has no dims to go over"};
  ImportShape shape{x.shape[0], x.shape[1]};
  std::vector<std::string> in{"D0", "D1"}, out{"D0", "D1"}, at{"i0", "i1"}, over;
  std::string count;
  for (size_t i = kFirst; i < x.shape.size(); ++i) {
    shape.push_back({1, ""});
    in.push_back(import_dim(i));
    out.push_back("1");
    at.push_back(fmt::format("r{}", i));
    over.push_back(at.back());
    count += (count.empty() ? "" : "*") + import_dim(i);
  }
  const std::string all = joined(over), read = fmt::format("X[{}]", joined(at));
  std::string value = fmt::format("max[{}]({})", all, read);
  if (node.op() == "GlobalLpPool") value = norm_over(norm_of(node), all, read);
  if (node.op() == "GlobalAveragePool") {
    value = fmt::format("sum[{}]({})/cast<{}>({})", all, read,
                        x.type == DType::kF64 ? "f64" : "f32", count);
  }
  node.importer().make(node, 0, x.type, shape, {{&x, "X", joined(in)}}, joined(out),
                       fmt::format("Y[{}] = {}", indices_of(shape.size()), value));
}

}  // namespace

ImportExtent ImportWindow::results_over(const ImportExtent& elements) const {
  const int64_t reach = import_product(taps - 1, dilation) + 1;
  return elements.more(before + after - reach).divided(stride).more(1);
}

bool ImportWindow::has_formula() const {
  return !input.fixed() || (results.times > 0 && results_over(input) == results &&
                            padded == (before > 0 || after > 0));
}

std::string ImportWindow::input_text(const std::string& dim) const {
  return has_formula() ? dim : input.text();
}

std::string ImportWindow::results_text(const std::string& dim) const {
  return has_formula() ? results_over({1, dim}).text() : results.text();
}

std::string ImportWindow::position(const std::string& result, const std::string& tap) const {
  std::string text = stride == 1 ? result : fmt::format("{}*{}", stride, result);
  if (tap != "0") text += dilation == 1 ? " + " + tap : fmt::format(" + {}*{}", dilation, tap);
  return before == 0 ? text : fmt::format("{} - {}", text, before);
}

std::vector<ImportWindow> import_windows(const ImportNode& node, const ImportValue& x,
                                         const std::vector<int64_t>& taps) {
  const size_t dims = taps.size();
  if (x.shape.size() != kFirst + dims || dims == 0) {
    throw Unsupported{fmt::format("its kernel has {} dims and its input {}", dims, x.shape.size())};
  }
  const std::vector<int64_t> ones(dims, 1), zeros(2 * dims, 0);
  const auto strides = node.integers("strides", ones), dilations = node.integers("dilations", ones),
             pads = node.integers("pads", zeros);
  const std::string automatic = node.text("auto_pad", "NOTSET");
  if (strides.size() != dims || dilations.size() != dims || pads.size() != 2 * dims) {
    throw Unsupported{"strides, dilations or pads are of another rank"};
  }
  std::vector<ImportWindow> windows(dims);
  for (size_t i = 0; i < dims; ++i) {
    ImportWindow& w = windows[i];
    w = {taps[i], strides[i], dilations[i], pads[i], pads[dims + i], x.shape[kFirst + i], {}};
    if (w.taps < 1 || w.stride < 1 || w.dilation < 1 || w.before < 0 || w.after < 0) {
      throw Unsupported{"kernel, strides, dilations and pads are positive"};
    }
    if (automatic == "VALID") {
      w.before = w.after = 0;
    } else if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {
      pad_alike(w, automatic == "SAME_LOWER");
    } else if (automatic != "NOTSET" && !automatic.empty()) {
      throw Unsupported{fmt::format("auto_pad of {}", automatic)};
    }
    count_results(w, node.integer("ceil_mode", 0) != 0);
  }
  return windows;
}

std::vector<ImportEntry> rows_of_windows() {
  return {
      {"AveragePool", import_average_pool}, {"GlobalAveragePool", import_global_pool},
      {"GlobalLpPool", import_global_pool}, {"GlobalMaxPool", import_global_pool},
      {"LpPool", import_norm_pool},         {"MaxPool", import_max_pool},
      {"MaxUnpool", import_max_unpool},
  };
}

}  // namespace hone::ops
