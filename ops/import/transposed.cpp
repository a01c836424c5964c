// SPDX-License-Identifier: Apache-2.0
// Transposed convolutions: an element of the input adds to each result that its window covers.
#include <fmt/format.h>

#include <algorithm>

#include "ops/import/rows.h"

namespace hone::ops {
namespace {

/// Windows over one dim: element `q` adds to result `q*stride + r*dilation - before`.
struct TransposedWindow {
  int64_t taps = 1, stride = 1, dilation = 1, before = 0;
  ImportExtent input, results;
  int64_t more = 0;  ///< results of an input that calls tell, besides `stride` for each element

  /// The results over as many elements, of a dim whose extent calls tell.
  ImportExtent results_over(const ImportExtent& elements) const {
    const ImportExtent each{import_product(elements.times, stride), elements.dim,
                            import_product(elements.plus, stride)};
    return each.more(more);
  }

  /// `i2 + 1 - 2*r0`, which is `stride` times the element.
  std::string place(const std::string& result, const std::string& tap) const {
    std::string text = result;
    if (before != 0) text += fmt::format(" {} {}", before < 0 ? "-" : "+", std::abs(before));
    return text + (dilation == 1 ? " - " + tap : fmt::format(" - {}*{}", dilation, tap));
  }
};

/// Attributes of all windows, each a list of one rank.
struct TransposedWords {
  std::vector<int64_t> strides, dilations, pads, added, sizes;
  std::string automatic;
};

TransposedWords transposed_words(const ImportNode& node, size_t dims) {
  const std::vector<int64_t> ones(dims, 1), zeros(2 * dims, 0);
  TransposedWords out;
  out.strides = node.integers("strides", ones);
  out.dilations = node.integers("dilations", ones);
  out.pads = node.integers("pads", zeros);
  out.added = node.integers("output_padding", std::vector<int64_t>(dims, 0));
  out.sizes = node.integers("output_shape", {});
  out.automatic = node.text("auto_pad", "NOTSET");
  // Some files name the dims of batch and channels too.
  if (out.sizes.size() == dims + 2) out.sizes.erase(out.sizes.begin(), out.sizes.begin() + 2);
  if (out.strides.size() != dims || out.dilations.size() != dims || out.pads.size() != 2 * dims ||
      out.added.size() != dims || (!out.sizes.empty() && out.sizes.size() != dims)) {
    throw Unsupported{"strides, dilations, pads or sizes are of another rank"};
  }
  return out;
}

TransposedWindow window_of(const TransposedWords& words, const ImportExtent& input, int64_t taps,
                           size_t i) {
  TransposedWindow w{taps, words.strides[i], words.dilations[i], words.pads[i], input, {}};
  if (w.taps < 1 || w.stride < 1 || w.dilation < 1) {
    throw Unsupported{"kernel, strides and dilations are positive"};
  }
  const int64_t reach = import_product(w.taps - 1, w.dilation) + 1 + words.added[i];
  const bool same = words.automatic == "SAME_UPPER" || words.automatic == "SAME_LOWER";
  if (!words.sizes.empty() || same) {
    if (words.sizes.empty() && !input.fixed()) {
      const int64_t all = std::max<int64_t>(reach - w.stride, 0);
      w.before = words.automatic == "SAME_UPPER" ? all / 2 : all - all / 2;
      w.results = w.results_over(input);
      return w;
    }
    const int64_t n = import_fixed(input);
    const int64_t wanted = words.sizes.empty() ? import_product(n, w.stride) : words.sizes[i];
    const int64_t all = std::max<int64_t>(import_product(n - 1, w.stride) + reach - wanted, 0);
    w.before = words.automatic == "SAME_UPPER" ? all / 2 : all - all / 2;
    w.results = {wanted, ""};
    return w;
  }
  int64_t after = words.pads[words.strides.size() + i];
  if (words.automatic == "VALID") w.before = after = 0;
  const int64_t more = reach - w.before - after - w.stride;
  if (input.fixed()) {
    w.results = {std::max<int64_t>(import_product(input.times, w.stride) + more, 0), ""};
  } else {
    w.more = more;
    w.results = w.results_over(input);
  }
  return w;
}

void import_conv_transpose(const ImportNode& node) {
  const ImportValue &x = node.input(0), &w = node.input(1);
  const size_t rank = x.shape.size();
  if (rank < 3 || w.shape.size() != rank) {
    throw Unsupported{"its weights are of another rank than its input"};
  }
  const int64_t groups = node.integer("group", 1), in = import_fixed(x.shape[1]),
                each = import_fixed(w.shape[1]);
  if (groups < 1 || in % groups != 0 || import_fixed(w.shape[0]) != in || each < 1) {
    throw Unsupported{fmt::format("{} channels, {} weights and {} groups do not fit", in,
                                  w.shape[0].text(), groups)};
  }
  const int64_t out = import_product(each, groups);
  const std::string channel = groups == 1 ? "c" : fmt::format("{}*(i1/{}) + c", in / groups, each);
  const TransposedWords words = transposed_words(node, rank - 2);
  std::vector<std::string> of_x{"D0", std::to_string(in)}, of_w{of_x[1], std::to_string(each)},
      of_y{"D0", std::to_string(out)}, at_x{"i0", channel},
      at_w{channel, groups == 1 ? "i1" : fmt::format("i1%{}", each)}, at_y{"i0", "i1"},
      over{fmt::format("c in 0..{}", in / groups)};
  ImportShape shape{x.shape[0], {out, ""}};
  std::string meets;
  for (size_t i = 2; i < rank; ++i) {
    const TransposedWindow t = window_of(words, x.shape[i], import_fixed(w.shape[i]), i - 2);
    const std::string tap = fmt::format("r{}", i - 2), place = t.place(import_index(i), tap);
    const ImportExtent own{1, import_dim(i)};
    of_x.push_back((t.input.fixed() ? t.input : own).text());
    of_w.push_back(std::to_string(t.taps));
    of_y.push_back((t.input.fixed() ? t.results : t.results_over(own)).text());
    at_x.push_back(t.stride == 1 ? place : fmt::format("({})/{}", place, t.stride));
    at_w.push_back(tap);
    at_y.push_back(import_index(i));
    over.push_back(tap);
    shape.push_back(t.results);
    if (t.stride == 1) continue;
    meets += fmt::format("{}({})%{} == 0", meets.empty() ? "" : " && ", place, t.stride);
  }
  std::string text = fmt::format("(X[{}] else 0)*W[{}]", joined(at_x), joined(at_w));
  if (!meets.empty()) text = fmt::format("select({}, {}, 0)", meets, text);
  text = fmt::format("sum[{}]({})", joined(over), text);
  std::vector<ImportArgument> arguments{{&x, "X", joined(of_x)}, {&w, "W", joined(of_w)}};
  if (node.has(2)) {
    arguments.push_back({&node.input(2), "B", of_y[1]});
    text += " + B[i1]";
  }
  node.importer().make(node, 0, x.type, shape, arguments, joined(of_y),
                       fmt::format("Y[{}] = {}", joined(at_y), text));
}

}  // namespace

std::vector<ImportEntry> rows_of_transposed() { return {{"ConvTranspose", import_conv_transpose}}; }

}  // namespace hone::ops
