// SPDX-License-Identifier: Apache-2.0
// Fourier transforms, and tables of signal processing, which are constants.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "ops/import/rows.h"

namespace hone::ops {
namespace {

/// Elements of a table that is computed here.
/// Chosen: more than windows and filters of audio have (not measured).
constexpr int64_t kMostComputed = int64_t{1} << 24;

int64_t one_of(const ImportNode& node, size_t input, const char* what) {
  const std::vector<int64_t>& all = node.known(input, what);
  if (all.size() != 1) throw Unsupported{fmt::format("its {} are not one number", what)};
  return all[0];
}

/// `a0 - a1*cos(t) + a2*cos(2*t)` over one turn.
void import_window(const ImportNode& node) {
  struct Curve {
    std::string_view op;
    double a0, a1, a2;
  };
  // Fixed by: the definitions of these windows.
  static constexpr Curve kCurves[] = {{"BlackmanWindow", 0.42, 0.5, 0.08},
                                      {"HammingWindow", 25.0 / 46, 21.0 / 46, 0},
                                      {"HannWindow", 0.5, 0.5, 0}};
  const auto* curve = std::find_if(std::begin(kCurves), std::end(kCurves),
                                   [&](const Curve& c) { return c.op == node.op(); });
  const int64_t n = one_of(node, 0, "sizes");
  const int64_t steps = node.integer("periodic", 1) != 0 ? n : n - 1;
  if (n < 0 || n > kMostComputed) throw Unsupported{fmt::format("a window of {}", n)};
  std::vector<double> values;
  for (int64_t i = 0; i < n; ++i) {
    const double turn =
        steps < 1 ? 0 : 2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(steps);
    values.push_back(curve->a0 - curve->a1 * std::cos(turn) + curve->a2 * std::cos(2 * turn));
  }
  const DType type = import_type(static_cast<onnx::DataType>(node.integer("output_datatype", 1)));
  Importer& importer = node.importer();
  importer.constant(node, 0, importer.tensor_of(type, {n}, values));
}

/// Triangles over the bins of a spectrum, evenly apart in mel.
void import_mel_weights(const ImportNode& node) {
  const int64_t bands = one_of(node, 0, "numbers"), length = one_of(node, 1, "lengths"),
                rate = one_of(node, 2, "rates"), bins = length / 2 + 1;
  const double low = node.numbers(3, "frequencies").at(0),
               high = node.numbers(4, "frequencies").at(0);
  if (bands < 1 || length < 1 || rate < 1 || bins > kMostComputed / bands) {
    throw Unsupported{"its sizes are no sizes of filters"};
  }
  const auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  const double step = (mel(high) - mel(low)) / static_cast<double>(bands + 2);
  std::vector<int64_t> edges;
  for (int64_t i = 0; i < bands + 2; ++i) {
    const double hertz =
        700 * (std::pow(10, (static_cast<double>(i) * step + mel(low)) / 2595) - 1);
    edges.push_back(static_cast<int64_t>(
        std::floor(static_cast<double>(length + 1) * hertz / static_cast<double>(rate))));
  }
  if (edges.front() < 0 || edges.back() >= bins) throw Unsupported{"filters outside the spectrum"};
  std::vector<double> values(static_cast<size_t>(bins * bands));
  for (int64_t i = 0; i < bands; ++i) {
    const int64_t from = edges[static_cast<size_t>(i)], top = edges[static_cast<size_t>(i) + 1],
                  to = edges[static_cast<size_t>(i) + 2];
    const auto at = [&](int64_t bin) -> double& {
      return values[static_cast<size_t>(bin * bands + i)];
    };
    for (int64_t j = from; j < top; ++j) {
      at(j) = static_cast<double>(j - from) / static_cast<double>(top - from);
    }
    at(top) = 1;
    for (int64_t j = top; j < to; ++j) {
      at(j) = static_cast<double>(to - j) / static_cast<double>(to - top);
    }
  }
  const DType type = import_type(static_cast<onnx::DataType>(node.integer("output_datatype", 1)));
  Importer& importer = node.importer();
  importer.constant(node, 0, importer.tensor_of(type, {bins, bands}, values));
}

/// Statements of the sine and cosine of each `1/n` of a turn.
std::string turns(int64_t n) {
  const std::string angle = import_number(2 * std::numbers::pi / static_cast<double>(n));
  return fmt::format(
      "c[a in 0..{0}] = cos({1}*cast<f64>(a)); s[a in 0..{0}] = sin({1}*cast<f64>(a)); ", n, angle);
}

/// The real part, then the imaginary one, of a term at `place` of a turn. `real` and `imaginary`
/// are f64; the latter is empty for real signals.
std::string turned(const std::string& real, const std::string& imaginary, const std::string& place,
                   bool inverse, const std::string& part) {
  const char* sign = inverse ? "" : "-";
  const std::string cosine = fmt::format("c[{}]", place),
                    sine = fmt::format("{}s[{}]", sign, place);
  std::string first = fmt::format("{}*{}", real, cosine),
              second = fmt::format("{}*({})", real, sine);
  if (!imaginary.empty()) {
    first = fmt::format("({} - {}*({}))", first, imaginary, sine);
    second = fmt::format("({} + {}*{})", second, imaginary, cosine);
  }
  return fmt::format("select({} == 0, {}, {})", part, first, second);
}

/// Whether a signal's elements are pairs: its last dim says.
bool of_pairs(const ImportValue& x) {
  if (x.shape.empty()) throw Unsupported{"its signal has no dims"};
  const int64_t parts = import_fixed(x.shape.back());
  if (parts != 1 && parts != 2) throw Unsupported{"its elements are neither numbers nor pairs"};
  return parts == 2;
}

void import_fourier(const ImportNode& node) {
  const ImportValue& x = node.input(0);
  const bool pairs = of_pairs(x), inverse = node.integer("inverse", 0) != 0;
  const bool onesided = node.integer("onesided", 0) != 0;
  const size_t rank = x.shape.size(), last = rank - 1;
  int64_t axis = node.integer("axis", 1);
  if (node.version() >= 20) axis = node.has(2) ? one_of(node, 2, "axes") : -2;
  const size_t along = import_axis(axis, rank);
  if (along == last) throw Unsupported{"a transform along the parts of numbers"};
  if (onesided && inverse) throw Unsupported{"an inverse of one side"};
  const int64_t given = import_fixed(x.shape[along]);
  const int64_t n = node.has(1) ? one_of(node, 1, "lengths") : given;
  if (n < 1) throw Unsupported{fmt::format("a transform of {} elements", n)};
  ImportShape shape = x.shape;
  shape[along] = {onesided ? n / 2 + 1 : n, ""};
  shape[last] = {2, ""};
  std::vector<std::string> in = import_dims(shape), out = in, at = import_indices(shape);
  in[along] = std::to_string(given);
  in[last] = pairs ? "2" : "1";
  out[along] = shape[along].text();
  out[last] = "2";
  const std::string here = joined(at), place = fmt::format("({}*r)%{}", at[along], n);
  const auto part = [&](const char* which) {
    at[along] = "r";
    at[last] = which;
    return fmt::format("cast<f64>(X[{}] else 0)", joined(at));
  };
  const std::string real = part("0"), imaginary = pairs ? part("1") : "";
  const std::string sum = fmt::format("sum[r in 0..{}]({}){}", n,
                                      turned(real, imaginary, place, inverse, import_index(last)),
                                      inverse ? fmt::format("/{}", n) : "");
  node.importer().make(node, 0, x.type, shape, {{&x, "X", joined(in)}}, joined(out),
                       fmt::format("{}Y[{}] = cast<{}>({})", turns(n), here, name_of(x.type), sum));
}

/// Transforms of frames, one each `step` elements.
void import_short_fourier(const ImportNode& node) {
  const ImportValue& x = node.input(0);
  if (x.shape.size() != 3) throw Unsupported{"its signal is of another rank than 3"};
  const bool pairs = of_pairs(x), onesided = node.integer("onesided", 1) != 0;
  const int64_t all = import_fixed(x.shape[1]), step = one_of(node, 1, "steps");
  if (!node.has(2) && !node.has(3)) throw Unsupported{"it says no length of frames"};
  const int64_t n =
      node.has(3) ? one_of(node, 3, "lengths") : import_fixed(node.input(2).shape.at(0));
  if (step < 1 || n < 1 || n > all) throw Unsupported{fmt::format("frames of {} of {}", n, all)};
  if (onesided && pairs) throw Unsupported{"one side of a transform of pairs"};
  const ImportShape shape{
      x.shape[0], {(all - n) / step + 1, ""}, {onesided ? n / 2 + 1 : n, ""}, {2, ""}};
  std::vector<ImportArgument> arguments{{&x, "X", fmt::format("D0,{},{}", all, pairs ? 2 : 1)}};
  std::string weight;
  if (node.has(2)) {
    if (!(node.input(2).shape == ImportShape{{n, ""}})) {
      throw Unsupported{"a window of another length than the frames"};
    }
    arguments.push_back({&node.input(2), "W", std::to_string(n)});
    weight = "*cast<f64>(W[r])";
  }
  const auto part = [&](int which) {
    return fmt::format("cast<f64>(X[i0,{}*i1 + r,{}]){}", step, which, weight);
  };
  node.importer().make(
      node, 0, x.type, shape, arguments,
      fmt::format("D0,{},{},2", shape[1].text(), shape[2].text()),
      fmt::format("{}Y[i0,i1,i2,i3] = cast<{}>(sum[r in 0..{}]({}))", turns(n), name_of(x.type), n,
                  turned(part(0), pairs ? part(1) : "", fmt::format("(i2*r)%{}", n), false, "i3")));
}

}  // namespace

std::vector<ImportEntry> rows_of_signals() {
  return {
      {"BlackmanWindow", import_window},       {"DFT", import_fourier},
      {"HammingWindow", import_window},        {"HannWindow", import_window},
      {"MelWeightMatrix", import_mel_weights}, {"STFT", import_short_fourier},
  };
}

}  // namespace hone::ops
