// SPDX-License-Identifier: Apache-2.0
// Images read at places of data: grids of places, and regions.
#include <fmt/format.h>

#include "ops/import/rows.h"

namespace hone::ops {
namespace {

/// Fixed by: ONNX, whose cubic samples are by this curve of Keys' family.
constexpr double kBend = -0.75;

/// How a grid is sampled.
struct GridWords {
  std::string mode, padding;
  std::string type;      ///< of arithmetic on them
  bool corners = false;  ///< -1 and 1 are the centres of the outer elements
};

GridWords grid_words(const ImportNode& node) {
  GridWords w{node.text("mode", "bilinear"), node.text("padding_mode", "zeros"),
              node.input(0).type == DType::kF64 ? "f64" : "f32",
              node.integer("align_corners", 0) != 0};
  // Version 20 renames modes.
  if (w.mode == "linear") w.mode = "bilinear";
  if (w.mode == "cubic") w.mode = "bicubic";
  if (w.mode != "bilinear" && w.mode != "bicubic" && w.mode != "nearest") {
    throw Unsupported{"samples of mode " + w.mode};
  }
  if (w.padding != "zeros" && w.padding != "border" && w.padding != "reflection") {
    throw Unsupported{"samples with padding of mode " + w.padding};
  }
  return w;
}

/// One axis of an image, such as `y` or `x`, whose places are in part `part` of the grid.
struct GridAxis {
  std::string name, extent;
  int part;
  std::string on = "i0,i2,i3";  ///< indices of places

  std::string at(const std::string& what) const { return fmt::format("{}{}[{}]", name, what, on); }
  std::string tap(const std::string& what, const std::string& t) const {
    return fmt::format("{}{}[{},{}]", name, what, on, t);
  }
};

/// `place` inside the image, as the padding has it. Turned round at its ends, it goes over one
/// length forth and over the next one back. Statements that it takes are added to `text`, with
/// the index `t` of taps where `taps` says so.
std::string padded_place(const GridWords& words, const GridAxis& axis, const std::string& place,
                         const std::string& taps, std::string& text) {
  if (words.padding == "zeros") return place;
  std::string inside = place;
  if (words.padding == "reflection") {
    const std::string low = words.corners ? "0.0" : "(-0.5)";
    const std::string span = words.corners ? fmt::format("({} - 1)", axis.extent) : axis.extent;
    const std::string on = taps.empty() ? axis.on : axis.on + ",t in 0.." + taps;
    const std::string of = taps.empty() ? axis.on : axis.on + ",t";
    text += fmt::format(
        "{0}a[{1}] = abs({2} - {3}); {0}q[{1}] = select({4} == 0, 0, floor({0}a[{5}]/{4})); ",
        axis.name, on, place, low, span, of);
    inside = fmt::format(
        "({2} + select({0}q[{1}] - 2*floor({0}q[{1}]/2) == 0, {0}a[{1}] - {0}q[{1}]*{3}, {3} - "
        "({0}a[{1}] - {0}q[{1}]*{3})))",
        axis.name, of, low, span);
  }
  return fmt::format("max(0, min({} - 1, {}))", axis.extent, inside);
}

/// Statements of where elements are, and of their weights where there are several.
std::string grid_statements(const GridWords& words, const GridAxis& axis) {
  const std::string place = fmt::format("G[{},{}]", axis.on, axis.part);
  const std::string raw = words.corners ? fmt::format("({} + 1)/2*({} - 1)", place, axis.extent)
                                        : fmt::format("(({} + 1)*{} - 1)/2", place, axis.extent);
  std::string text = fmt::format("{} = {}; ", axis.at("r"), raw);
  if (words.mode == "bicubic") {
    const std::string v = axis.tap("v", "t");
    // ONNX moves places to the border before it weighs, where others move each of the four.
    const std::string at = words.padding == "border"
                               ? fmt::format("max(0, min({} - 1, {}))", axis.extent, axis.at("r"))
                               : axis.at("r");
    text += fmt::format("{0} = floor({1}); {2} = abs({1} - {0} + 1 - cast<{3}>(t)); ", axis.at("f"),
                        at, axis.tap("v", "t in 0..4"), words.type);
    text += fmt::format(
        "{0} = select({1} <= 1, ({2}*{1} - {3})*{1}*{1} + 1, (({4}*{1} - {5})*{1} + {6})*{1} - "
        "{7}); ",
        axis.tap("w", "t in 0..4"), v, import_number(kBend + 2), import_number(kBend + 3),
        import_number(kBend), import_number(5 * kBend), import_number(8 * kBend),
        import_number(4 * kBend));
    const std::string inside = padded_place(
        words, axis, fmt::format("({} - 1 + cast<{}>(t))", axis.at("f"), words.type), "4", text);
    return text + fmt::format("{} = cast<i64>({}); ", axis.tap("j", "t in 0..4"), inside);
  }
  const std::string inside = padded_place(words, axis, axis.at("r"), "", text);
  if (words.mode == "nearest") {
    return text + fmt::format("{} = cast<i64>(round({})); ", axis.at("j"), inside);
  }
  return text +
         fmt::format(
             "{0} = {1}; {2} = floor({0}); {3} = select(t == 0, 1 - ({0} - {2}), {0} - {2}); {4} = "
             "cast<i64>({2}) + t; ",
             axis.at("p"), inside, axis.at("f"), axis.tap("w", "t in 0..2"),
             axis.tap("j", "t in 0..2"));
}

std::string name_of_extent(const ImportExtent& e, const std::string& otherwise) {
  return e.fixed() ? e.text() : otherwise;
}

/// Images of any number of dims. The last dim of the grid has their places, the last dim's first.
void import_grid_sample(const ImportNode& node) {
  const ImportValue &x = node.input(0), &grid = node.input(1);
  const size_t rank = x.shape.size(), dims = rank < 2 ? 0 : rank - 2;
  // Fixed by: letters for taps, before those of other indices.
  constexpr size_t kMostDims = 5;
  if (dims == 0 || dims > kMostDims || grid.shape.size() != rank ||
      !grid.shape.back().is(static_cast<int64_t>(dims))) {
    throw Unsupported{
        fmt::format("samples of an input of {} dims by a grid of {}", rank, grid.shape.size())};
  }
  if (!is_float(x.type) || grid.type != x.type)
    throw Unsupported{"samples of another type than the grid"};
  const GridWords words = grid_words(node);
  const bool nearest = words.mode == "nearest";
  const int taps = words.mode == "bicubic" ? 4 : 2;
  ImportShape shape{x.shape[0], x.shape[1]};
  std::vector<std::string> places{"i0"}, of_x{"D0", "D1"}, of_grid{"D0"}, of_y = of_x;
  for (size_t i = 2; i < rank; ++i) {
    shape.push_back(grid.shape[i - 1]);
    places.push_back(import_index(i));
    of_grid.push_back(import_dim(i));
    of_y.push_back(import_dim(i));
  }
  std::string text, product;
  std::vector<std::string> at{"i0", "i1"}, over;
  for (size_t i = 0; i < dims; ++i) {
    // Fixed by: the names that ONNX has for places.
    constexpr std::string_view kNames = "xyz";
    const size_t part = dims - 1 - i;
    const GridAxis axis{
        part < kNames.size() ? std::string(1, kNames[part]) : fmt::format("x{}_", part),
        name_of_extent(x.shape[i + 2], fmt::format("H{}", i)), static_cast<int>(part),
        joined(places)};
    const std::string tap = std::string(1, static_cast<char>('a' + i));
    text += grid_statements(words, axis);
    product += axis.tap("w", tap) + "*";
    at.push_back(nearest ? axis.at("j") : axis.tap("j", tap));
    over.push_back(fmt::format("{} in 0..{}", tap, taps));
    of_x.push_back(axis.extent);
  }
  of_grid.push_back(std::to_string(dims));
  const std::string read = fmt::format("X[{}] else 0", joined(at));
  text += fmt::format("Y[{}] = ", joined(import_indices(shape)));
  text += nearest ? read : fmt::format("sum[{}]({}({}))", joined(over), product, read);
  node.importer().make(node, 0, x.type, shape,
                       {{&x, "X", joined(of_x)}, {&grid, "G", joined(of_grid)}}, joined(of_y),
                       text);
}

/// Statements of the samples along one axis of each region: where they are, and their weights.
std::string region_statements(const ImportNode& node, const GridAxis& axis,
                              const std::string& result, int64_t cells, int64_t samples) {
  const std::string places = node.text("coordinate_transformation_mode", "half_pixel");
  if (places != "half_pixel" && places != "output_half_pixel") {
    throw Unsupported{fmt::format("places of mode {}", places)};
  }
  const bool half = node.version() >= 16 && places == "half_pixel";
  const std::string scale = import_number(node.number("spatial_scale", 1)),
                    offset = half ? " - 0.5" : "";
  const auto end = [&](int part) { return fmt::format("(B[i0,{}]*{}{})", part, scale, offset); };
  std::string length = fmt::format("({} - {})", end(axis.part + 2), end(axis.part));
  if (!half) length = fmt::format("max(1, {})", length);
  const std::string type = node.input(0).type == DType::kF64 ? "f64" : "f32";
  const std::string& n = axis.name;
  const std::string on = fmt::format("[i0,{} in 0..{},a in 0..{}]", result, cells, samples),
                    at = fmt::format("[i0,{},a]", result);
  // Outside by more than an element there is nothing.
  const std::string place = fmt::format("{}r{}", n, at), inside = fmt::format("{}p{}", n, at),
                    part = fmt::format("({0} - floor({0}))", inside),
                    gone = fmt::format("{0} < -1 || {0} > {1}", place, axis.extent);
  std::string text = fmt::format("{}s[i0] = {}/{}; ", n, length, cells);
  text += fmt::format("{0}r{1} = {2} + {0}s[i0]*(cast<{3}>({4}) + (cast<{3}>(a) + 0.5)/{5}); ", n,
                      on, end(axis.part), type, result, samples);
  text += fmt::format("{}p{} = max(0, min({} - 1, {})); ", n, on, axis.extent, place);
  const std::string taps =
      fmt::format("[i0,{} in 0..{},a in 0..{},t in 0..2]", result, cells, samples);
  text +=
      fmt::format("{0}w{1} = select({2}, 0, select(t == 0, 1 - {3}, {3})); ", n, taps, gone, part);
  return text +
         fmt::format("{}j{} = min({} - 1, cast<i64>({}) + t); ", n, taps, axis.extent, inside);
}

/// Cells are means of samples. By mode `max` they are the greatest of all that samples sum up, each
/// element by its weight, as ONNX has it.
void import_region_align(const ImportNode& node) {
  const ImportValue &x = node.input(0), &regions = node.input(1), &batch = node.input(2);
  if (x.shape.size() != 4 || regions.shape.size() != 2)
    throw Unsupported{"regions of other than images"};
  const std::string mode = node.text("mode", "avg");
  if (mode != "avg" && mode != "max") throw Unsupported{"samples of regions by mode " + mode};
  if (!is_float(x.type) || regions.type != x.type) throw Unsupported{"regions of another type"};
  const int64_t high = node.integer("output_height", 1), wide = node.integer("output_width", 1),
                samples = node.integer("sampling_ratio", 0);
  if (samples < 1) throw Unsupported{"as many samples as regions are large"};
  if (high < 1 || wide < 1) throw Unsupported{"regions of no cells"};
  const GridAxis y{"y", name_of_extent(x.shape[2], "H"), 1},
      z{"x", name_of_extent(x.shape[3], "W"), 0};
  const std::string text = region_statements(node, y, "i2", high, samples) +
                           region_statements(node, z, "i3", wide, samples);
  node.importer().make(
      node, 0, x.type, {regions.shape[0], x.shape[1], {high, ""}, {wide, ""}},
      {{&x, "X", fmt::format("N,D1,{},{}", y.extent, z.extent)},
       {&regions, "B", "D0,4"},
       {&batch, "J", "D0"}},
      fmt::format("D0,D1,{},{}", high, wide),
      fmt::format(
          "{0}Y[i0,i1,i2,i3] = {2}[a in 0..{1},b in 0..{1},t in 0..2,u in 0..2](yw[i0,i2,a,t]*"
          "xw[i0,i3,b,u]*(X[J[i0],i1,yj[i0,i2,a,t],xj[i0,i3,b,u]] else 0)){3}",
          text, samples, mode == "max" ? "max" : "sum",
          mode == "max" ? "" : fmt::format("/{}", import_product(samples, samples))));
}

}  // namespace

std::vector<ImportEntry> rows_of_sampling() {
  return {{"GridSample", import_grid_sample}, {"RoiAlign", import_region_align}};
}

}  // namespace hone::ops
