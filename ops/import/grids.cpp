// SPDX-License-Identifier: Apache-2.0
// Grids of places for samples, convolutions whose taps are moved by data, and images put together
// of their windows.
#include <fmt/format.h>

#include <algorithm>

#include "ops/import/rows.h"
#include "ops/import/windows.h"

namespace hone::ops {
namespace {

/// Where element `i` of `extent` stands in a grid: -1 and 1 are the centres of the outer elements,
/// or their outer edges.
std::string grid_place(const std::string& index, const ImportExtent& extent,
                       const std::string& text, const std::string& type, bool corners) {
  if (!corners) return fmt::format("(cast<{0}>(2*{1} + 1)/cast<{0}>({2}) - 1)", type, index, text);
  // Of one element the step is nothing.
  if (extent.is(1)) return "-1.0";
  const std::string steps =
      extent.fixed() ? std::to_string(extent.times - 1) : fmt::format("max(1, {} - 1)", text);
  return fmt::format("(cast<{0}>(2*{1})/cast<{0}>({2}) - 1)", type, index, steps);
}

/// An affine function of the places of a grid, for each image.
void import_affine_grid(const ImportNode& node) {
  const ImportValue& theta = node.input(0);
  const ImportShape sizes = node.sizes(1, "sizes");
  const size_t dims = sizes.size() < 2 ? 0 : sizes.size() - 2;
  const auto count = static_cast<int64_t>(dims);
  if (dims < 1 || theta.shape.size() != 3 || !theta.shape[1].is(count) ||
      !theta.shape[2].is(count + 1)) {
    throw Unsupported{fmt::format("functions of a grid of {} dims", dims)};
  }
  if (!is_float(theta.type)) throw Unsupported{"grids of integers"};
  if (sizes[0].fixed() && theta.shape[0].fixed() && !(sizes[0] == theta.shape[0])) {
    throw Unsupported{
        fmt::format("{} grids of {} functions", sizes[0].text(), theta.shape[0].text())};
  }
  for (const ImportExtent& e : sizes) {
    if (e.fixed() && e.times < 0) throw Unsupported{"sizes below 0"};
  }
  const std::string type = theta.type == DType::kF64 ? "f64" : "f32";
  const bool corners = node.integer("align_corners", 0) != 0;
  ImportShape shape{theta.shape[0]};
  std::vector<std::string> out{"D0"};
  std::string value;
  const std::string part = import_index(dims + 1);
  for (size_t i = 0; i < dims; ++i) {
    const ImportExtent& e = sizes[i + 2];
    shape.push_back(e);
    out.push_back(e.fixed() ? e.text() : import_dim(i + 1));
    // The last dim's place stands first.
    value += fmt::format("T[i0,{},{}]*{} + ", part, dims - 1 - i,
                         grid_place(import_index(i + 1), e, out.back(), type, corners));
  }
  shape.push_back({count, ""});
  out.push_back(std::to_string(count));
  node.importer().make(
      node, 0, theta.type, shape, {{&theta, "T", fmt::format("D0,{},{}", count, count + 1)}},
      joined(out),
      fmt::format("Y[{}] = {}T[i0,{},{}]", joined(import_indices(shape)), value, part, dims));
}

/// The parts of a convolution whose taps stand where data say.
struct Deformed {
  std::vector<ImportWindow> windows;
  std::vector<std::string> results, taps, ranges;  ///< `i2`, `r0` and `r0 in 0..3`
  std::string tap;                                 ///< number of a tap, row-major
  int64_t count = 1;                               ///< of taps
  int64_t groups = 1, moved = 1;                   ///< groups of channels, and those of offsets
};

Deformed deformed_of(const ImportNode& node) {
  const ImportValue &x = node.input(0), &w = node.input(1), &offset = node.input(2);
  const size_t rank = x.shape.size();
  if (rank < 3 || w.shape.size() != rank || offset.shape.size() != rank) {
    throw Unsupported{"its weights or offsets are of another rank than its input"};
  }
  std::vector<int64_t> taps;
  for (size_t i = 2; i < rank; ++i) taps.push_back(import_fixed(w.shape[i]));
  Deformed d;
  d.windows = import_windows(node, x, taps);
  d.groups = node.integer("group", 1);
  d.moved = node.integer("offset_group", 1);
  for (size_t i = 0; i < taps.size(); ++i) {
    const std::string r = fmt::format("r{}", i);
    d.results.push_back(import_index(i + 2));
    d.taps.push_back(r);
    d.ranges.push_back(fmt::format("{} in 0..{}", r, taps[i]));
    d.tap = d.tap.empty() ? r : fmt::format("({})*{} + {}", d.tap, taps[i], r);
    d.count = import_product(d.count, taps[i]);
    if (!(offset.shape[i + 2] == d.windows[i].results)) {
      throw Unsupported{"there are other offsets than results"};
    }
  }
  const int64_t in = import_fixed(x.shape[1]), results = import_fixed(w.shape[0]);
  const int64_t offsets =
      import_product(import_product(d.moved, d.count), static_cast<int64_t>(taps.size()));
  if (d.groups < 1 || d.moved < 1 || in % d.moved != 0 || results % d.groups != 0 ||
      !w.shape[1].is(in / d.groups) || in % d.groups != 0 || !offset.shape[1].is(offsets)) {
    throw Unsupported{fmt::format("{} channels, {} weights and {} offsets do not fit", in, results,
                                  offset.shape[1].text())};
  }
  return d;
}

/// Statements of where taps stand, and of the input there: `v` by image, channel, result and tap.
/// Where there is a mask, `v` is multiplied by it.
std::string moved_taps(const Deformed& d, int64_t channels, const std::string& type, bool masked) {
  const std::string results = joined(d.results), taps = joined(d.taps);
  const size_t dims = d.windows.size();
  std::string text, weights;
  std::vector<std::string> read{"i0", "c"}, over;
  const auto at = [&](const std::string& group, const std::string& of_taps) {
    return fmt::format("[i0,{},{},{}]", group, results, of_taps);
  };
  const std::string group = channels == d.moved ? "c" : fmt::format("c/{}", channels / d.moved);
  for (size_t i = 0; i < dims; ++i) {
    const std::string offset =
        fmt::format("O[i0,(g*{} + {})*{} + {},{}]", d.count, d.tap, dims, i, results);
    text += fmt::format("p{0}{1} = cast<{2}>({3}) + {4}; f{0}{5} = floor(p{0}{6}); ", i,
                        at(fmt::format("g in 0..{}", d.moved), joined(d.ranges)), type,
                        d.windows[i].position(d.results[i], d.taps[i]), offset,
                        at(fmt::format("g in 0..{}", d.moved), joined(d.ranges)), at("g", taps));
    const std::string place = at(group, taps), t = fmt::format("t{}", i),
                      part = fmt::format("(p{0}{1} - f{0}{1})", i, place);
    weights += fmt::format("select({} == 0, 1 - {}, {})*", t, part, part);
    read.push_back(fmt::format("cast<i64>(f{}{}) + {}", i, place, t));
    over.push_back(t + " in 0..2");
  }
  const std::string mask =
      masked ? fmt::format("*M[i0,({})*{} + {},{}]", group, d.count, d.tap, results) : "";
  return text + fmt::format("v{} = sum[{}]({}(X[{}] else 0)){}; ",
                            at(fmt::format("c in 0..{}", channels), joined(d.ranges)), joined(over),
                            weights, joined(read), mask);
}

/// Each tap is moved by its offset, and reads between elements linearly.
void import_deform_conv(const ImportNode& node) {
  const ImportValue &x = node.input(0), &w = node.input(1), &offset = node.input(2);
  if (!is_float(x.type) || w.type != x.type || offset.type != x.type) {
    throw Unsupported{"weights or offsets of another type than the input"};
  }
  const Deformed d = deformed_of(node);
  const int64_t in = import_fixed(x.shape[1]), all = import_fixed(w.shape[0]), each = in / d.groups;
  std::vector<std::string> of_x{"D0", std::to_string(in)},
      of_w{std::to_string(all), std::to_string(each)}, of_result;
  ImportShape shape{x.shape[0], w.shape[0]};
  for (size_t i = 0; i < d.windows.size(); ++i) {
    const ImportWindow& window = d.windows[i];
    of_x.push_back(window.input_text(import_dim(i + 2)));
    of_w.push_back(std::to_string(window.taps));
    of_result.push_back(window.results_text(import_dim(i + 2)));
    shape.push_back(window.results);
  }
  const std::string results = joined(d.results), taps = joined(d.taps), extents = joined(of_result);
  std::vector<ImportArgument> arguments{
      {&x, "X", joined(of_x)},
      {&w, "W", joined(of_w)},
      {&offset, "O", fmt::format("D0,{},{}", offset.shape[1].text(), extents)}};
  const std::string channel =
      d.groups == 1 ? "c" : fmt::format("i1/{}*{} + c", all / d.groups, each);
  const std::string term = fmt::format("v[i0,{},{},{}]*W[i1,c,{}]", channel, results, taps, taps);
  if (node.has(4)) {
    const int64_t masks = import_product(d.moved, d.count);
    if (!node.input(4).shape.at(1).is(masks)) throw Unsupported{"there are other masks than taps"};
    arguments.push_back({&node.input(4), "M", fmt::format("D0,{},{}", masks, extents)});
  }
  std::string value = fmt::format("sum[c in 0..{},{}]({})", each, joined(d.ranges), term);
  if (node.has(3)) {
    arguments.push_back({&node.input(3), "B", std::to_string(all)});
    value += " + B[i1]";
  }
  node.importer().make(node, 0, x.type, shape, arguments, fmt::format("D0,{},{}", all, extents),
                       moved_taps(d, in, x.type == DType::kF64 ? "f64" : "f32", node.has(4)) +
                           fmt::format("Y[{}] = {}", joined(import_indices(shape)), value));
}

/// Windows over one dim of an image that is put together of them.
struct Tile {
  int64_t taps, stride, dilation, before, extent, count;
};

std::vector<Tile> tiles_of(const ImportNode& node) {
  const std::vector<int64_t>&image = node.known(1, "sizes"), &taps = node.known(2, "sizes");
  const size_t dims = image.size();
  const std::vector<int64_t> ones(dims, 1);
  const auto strides = node.integers("strides", ones), dilations = node.integers("dilations", ones),
             pads = node.integers("pads", std::vector<int64_t>(2 * dims, 0));
  if (dims == 0 || taps.size() != dims || strides.size() != dims || dilations.size() != dims ||
      pads.size() != 2 * dims) {
    throw Unsupported{"blocks, strides, dilations or pads are of another rank than the image"};
  }
  std::vector<Tile> tiles;
  for (size_t i = 0; i < dims; ++i) {
    Tile t{taps[i], strides[i], dilations[i], pads[i], image[i], 0};
    if (t.taps < 1 || t.stride < 1 || t.dilation < 1 || t.extent < 1) {
      throw Unsupported{"sizes, blocks, strides and dilations are positive"};
    }
    const int64_t reach = import_product(t.taps - 1, t.dilation) + 1;
    const int64_t room = t.extent + pads[i] + pads[dims + i] - reach;
    if (room < 0) throw Unsupported{"its blocks are larger than its image"};
    t.count = room / t.stride + 1;
    tiles.push_back(t);
  }
  return tiles;
}

/// Each element of the image is the sum of those of all blocks that lie on it.
void import_column_to_image(const ImportNode& node) {
  const ImportValue& x = node.input(0);
  const std::vector<Tile> tiles = tiles_of(node);
  int64_t taps = 1, blocks = 1;
  for (const Tile& t : tiles) {
    taps = import_product(taps, t.taps);
    blocks = import_product(blocks, t.count);
  }
  if (x.shape.size() != 3 || import_fixed(x.shape[1]) % taps != 0 || !x.shape[2].is(blocks)) {
    throw Unsupported{fmt::format("{} blocks of {} elements do not fit its input", blocks, taps)};
  }
  const int64_t channels = x.shape[1].times / taps;
  ImportShape shape{x.shape[0], {channels, ""}};
  std::vector<std::string> out{"D0", std::to_string(channels)}, over;
  std::string tap = "i1", block = "0", meets;
  for (size_t i = 0; i < tiles.size(); ++i) {
    const Tile& t = tiles[i];
    const std::string r = fmt::format("r{}", i),
                      place = fmt::format("({} + {} - {}*{})", import_index(i + 2), t.before,
                                          t.dilation, r),
                      number = t.stride == 1 ? place : fmt::format("{}/{}", place, t.stride);
    shape.push_back({t.extent, ""});
    out.push_back(std::to_string(t.extent));
    over.push_back(fmt::format("{} in 0..{}", r, t.taps));
    tap = fmt::format("({})*{} + {}", tap, t.taps, r);
    block = i == 0 ? number : fmt::format("({})*{} + {}", block, t.count, number);
    meets += fmt::format("{0}{1} >= 0 && {1} < {2}", i > 0 ? " && " : "", number, t.count);
    if (t.stride > 1) meets += fmt::format(" && {}%{} == 0", place, t.stride);
  }
  node.importer().make(node, 0, x.type, shape,
                       {{&x, "X", fmt::format("D0,{},{}", x.shape[1].times, blocks)}}, joined(out),
                       fmt::format("Y[{}] = sum[{}](select({}, X[i0,{},{}] else 0, 0))",
                                   joined(import_indices(shape)), joined(over), meets, tap, block));
}

}  // namespace

std::vector<ImportEntry> rows_of_grids() {
  return {{"AffineGrid", import_affine_grid},
          {"Col2Im", import_column_to_image},
          {"DeformConv", import_deform_conv}};
}

}  // namespace hone::ops
