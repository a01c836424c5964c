// SPDX-License-Identifier: Apache-2.0
// Images of other sizes. Element `p` of a result's axis stands at `(a*p + b)/d` of the input's.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ops/import/rows.h"

namespace hone::ops {
namespace {

struct Fraction {
  int64_t n = 1, d = 1;
};

/// The fraction of least terms that a float is nearest to: 0.6 is 3/5. Ends as floats are binary.
Fraction fraction_of(double value) {
  const double size = std::abs(value);
  if (size != 0 && !(size > 1e-6 && size < 1e6))
    throw Unsupported{fmt::format("a scale or region of {}", value)};
  const float wanted = static_cast<float>(size);
  int64_t n0 = 0, n1 = 1, d0 = 1, d1 = 0;
  for (double rest = size;;) {
    const auto whole = static_cast<int64_t>(std::floor(rest));
    n0 = std::exchange(n1, whole * n1 + n0);
    d0 = std::exchange(d1, whole * d1 + d0);
    const double left = rest - std::floor(rest);
    const bool near =
        static_cast<float>(static_cast<double>(n1) / static_cast<double>(d1)) == wanted;
    if (near || left < 1e-9) return {value < 0 ? -n1 : n1, d1};
    rest = 1 / left;
  }
}

/// How one axis is resized.
struct ResizedAxis {
  bool same = false;     ///< each element stands where it stood
  bool cropped = false;  ///< places outside of the input have a value of their own
  ImportExtent input, results;
  int64_t a = 1, b = 0, d = 1;
  /// Elements that take part in one of the result: `taps` from `first` on, counted from the one at
  /// or before its place.
  int64_t first = 0, taps = 1;
  double reach = 1;         ///< width of the curve, in widths of the one between elements
  bool normalised = false;  ///< weights are divided by their sum

  /// `(4*i2 - 1)`, times `by` and with `add`.
  std::string place(const std::string& index, int64_t by, int64_t add) const {
    const int64_t ahead = import_product(a, by), behind = import_product(b, by) + add;
    const std::string scaled = ahead == 1 ? index : fmt::format("{}*{}", ahead, index);
    if (behind == 0) return scaled;
    return fmt::format("({} {} {})", scaled, behind < 0 ? "-" : "+", std::abs(behind));
  }
  std::string floor(const std::string& index) const {
    return d == 1 ? place(index, 1, 0) : fmt::format("{}/{}", place(index, 1, 0), d);
  }
  /// The element that tap `t` of axis `axis` is.
  std::string tap(const std::string& index, size_t axis) const {
    const std::string behind = first < 0   ? fmt::format(" - {}", -first)
                               : first > 0 ? fmt::format(" + {}", first)
                                           : "";
    return fmt::format("{} + t{}{}", floor(index), axis, behind);
  }
  std::string last(size_t axis) const {
    return input.fixed() ? std::to_string(input.times - 1) : import_dim(axis) + " - 1";
  }
  std::string inside(const std::string& index, size_t axis) const {
    return fmt::format("max(0, min({}, {}))", last(axis), index);
  }
};

/// What a node says of all axes.
struct ResizeWords {
  std::string mode, coordinates, nearest;
  double bend = -0.75, outside = 0;
  bool exclude = false, antialias = false;
};

ResizeWords resize_words(const ImportNode& node) {
  // Until version 10 there is one way to count coordinates, and one nearest element.
  const bool old = node.version() < 11;
  ResizeWords out;
  out.mode = node.text("mode", "nearest");
  if (old && out.mode == "bilinear") out.mode = "linear";
  out.coordinates = old ? "asymmetric" : node.text("coordinate_transformation_mode", "half_pixel");
  out.nearest = old ? "floor" : node.text("nearest_mode", "round_prefer_floor");
  out.bend = node.number("cubic_coeff_a", -0.75);
  out.outside = node.number("extrapolation_value", 0);
  out.exclude = node.integer("exclude_outside", 0) != 0;
  out.antialias = node.integer("antialias", 0) != 0;
  if (out.mode != "nearest" && out.mode != "linear" && out.mode != "cubic") {
    throw Unsupported{fmt::format("resizing of mode {}", out.mode)};
  }
  return out;
}

/// Where elements stand, by the way of coordinates. `s` is how much longer the result is.
void put_places(ResizedAxis& axis, const std::string& coordinates, Fraction s) {
  const bool centres = coordinates == "half_pixel" || coordinates == "pytorch_half_pixel" ||
                       coordinates == "half_pixel_symmetric";
  if (coordinates == "pytorch_half_pixel" && axis.results.is(1)) {
    axis.a = axis.b = 0;
  } else if (centres) {
    axis.a = 2 * s.d;
    axis.b = s.d - s.n;
    axis.d = 2 * s.n;
    if (coordinates == "half_pixel_symmetric") {
      axis.b += import_product(import_fixed(axis.input), s.n) -
                import_product(import_fixed(axis.results), s.d);
    }
  } else if (coordinates == "asymmetric") {
    axis.a = s.d;
    axis.d = s.n;
  } else if (coordinates == "tf_half_pixel_for_nn") {
    axis.a = 2 * s.d;
    axis.b = s.d;
    axis.d = 2 * s.n;
  } else if (coordinates == "align_corners") {
    // The result counts as long as the scale says, whole or not.
    const int64_t n = import_fixed(axis.input), reach = import_product(n, s.n) - s.d;
    axis.a = reach > 0 ? import_product(n - 1, s.d) : 0;
    axis.d = std::max<int64_t>(reach, 1);
  } else {
    throw Unsupported{fmt::format("coordinates by {}", coordinates)};
  }
}

/// Places of a region from `begin` to `end`, which are parts of the input.
void put_region(ResizedAxis& axis, double begin, double end) {
  const Fraction from = fraction_of(begin), to = fraction_of(end);
  const int64_t last = import_fixed(axis.input) - 1, steps = import_fixed(axis.results) - 1;
  const int64_t common = import_product(from.d, to.d), lo = import_product(from.n, to.d),
                hi = import_product(to.n, from.d);
  axis.cropped = true;
  if (steps > 0) {
    axis.a = import_product(hi - lo, last);
    axis.b = import_product(import_product(lo, last), steps);
    axis.d = import_product(common, steps);
  } else {
    axis.a = 0;
    axis.b = import_product(lo + hi, last);
    axis.d = import_product(2, common);
  }
}

/// How many elements take part in one of the result. Of fewer results than elements the curve may
/// go over as many more, so that all of these take part.
void put_taps(ResizedAxis& axis, const ResizeWords& words, Fraction s) {
  const int64_t half = words.mode == "cubic" ? 2 : 1;
  const bool wide = words.antialias && s.n < s.d;
  // Before a place and behind it, up to where the curve ends: `half*d/n`, rounded up.
  const int64_t side = wide ? (import_product(half, s.d) + s.n - 1) / s.n : half;
  axis.first = 1 - side;
  axis.taps = 2 * side;
  axis.reach = wide ? static_cast<double>(s.d) / static_cast<double>(s.n) : 1;
  axis.normalised = wide || (words.exclude && words.mode == "cubic");
}

/// The axes that scales, sizes and regions are for, in their order.
std::vector<size_t> named_axes(const ImportNode& node, size_t rank) {
  std::vector<size_t> axes;
  if (!node.has_attribute("axes")) {
    for (size_t i = 0; i < rank; ++i) axes.push_back(i);
  }
  for (const int64_t axis : node.integers("axes", {})) axes.push_back(import_axis(axis, rank));
  return axes;
}

/// One scale for all axes that sizes are named for, so that none is longer, or shorter, than said.
Fraction common_scale(const std::vector<int64_t>& sizes, const ImportShape& shape,
                      const std::vector<size_t>& axes, bool larger) {
  Fraction out{0, 1};
  for (size_t i = 0; i < axes.size(); ++i) {
    const Fraction own{sizes[i], import_fixed(shape[axes[i]])};
    const int64_t left = import_product(own.n, out.d), right = import_product(out.n, own.d);
    if (i == 0 || (larger ? left > right : left < right)) out = own;
  }
  return out;
}

void set_scale(ResizedAxis& axis, double scale, Fraction& s) {
  s = fraction_of(scale);
  if (s.n < 1) throw Unsupported{fmt::format("a scale of {}", scale)};
  if (axis.input.fixed()) {
    // In floats, as others count.
    axis.results = {static_cast<int64_t>(std::floor(static_cast<float>(axis.input.times) *
                                                    static_cast<float>(scale))),
                    ""};
  } else if (axis.input.times * s.n % s.d == 0 && axis.input.plus * s.n % s.d == 0) {
    axis.results = {import_product(axis.input.times, s.n) / s.d, axis.input.dim,
                    import_product(axis.input.plus, s.n) / s.d};
  } else {
    throw Unsupported{fmt::format("the size {} is not known before a call", axis.input.text())};
  }
}

std::vector<ResizedAxis> resized_axes(const ImportNode& node, const ResizeWords& words) {
  const ImportValue& x = node.input(0);
  const bool old = node.version() < 11;
  const size_t by_scale = old ? 1 : 2, by_size = 3;
  std::vector<ResizedAxis> out(x.shape.size());
  for (size_t i = 0; i < out.size(); ++i) {
    out[i].same = true;
    out[i].input = out[i].results = x.shape[i];
  }
  const std::vector<size_t> axes = named_axes(node, x.shape.size());
  std::vector<double> scales;
  if (node.has_attribute("scales")) scales = node.numbers("scales");
  if (node.has(by_scale)) scales = node.numbers(by_scale, "scales");
  std::vector<int64_t> sizes;
  if (scales.empty()) sizes = node.known(by_size, "sizes");
  if (std::max(scales.size(), sizes.size()) != axes.size()) {
    throw Unsupported{"its scales or sizes are of another rank"};
  }
  const bool crop = words.coordinates == "tf_crop_and_resize";
  const std::vector<double> region = crop ? node.numbers(1, "regions") : std::vector<double>{};
  if (crop && region.size() != 2 * axes.size()) throw Unsupported{"its region is of another rank"};
  const std::string policy = node.text("keep_aspect_ratio_policy", "stretch");
  for (size_t k = 0; k < axes.size(); ++k) {
    ResizedAxis& axis = out[axes[k]];
    Fraction s;
    if (!scales.empty()) {
      set_scale(axis, scales[k], s);
    } else if (policy == "stretch") {
      axis.results = {sizes[k], ""};
      s = {sizes[k], import_fixed(axis.input)};
    } else {
      s = common_scale(sizes, x.shape, axes, policy == "not_smaller");
      const int64_t all = import_product(2, import_product(import_fixed(axis.input), s.n));
      axis.results = {(all + s.d) / (2 * s.d), ""};
    }
    if (s.n < 1 || s.d < 1) {
      throw Unsupported{fmt::format("{} elements of {}", axis.results.text(), axis.input.text())};
    }
    axis.same = s.n == s.d && !crop;
    if (axis.same) continue;
    if (crop) {
      put_region(axis, region[k], region[axes.size() + k]);
    } else {
      put_places(axis, words.coordinates, s);
    }
    put_taps(axis, words, s);
    const bool fewer = s.n < s.d;
    if (fewer && old && words.mode == "nearest" && s.n != 1) {
      throw Unsupported{"which elements are nearest of fewer, before version 11"};
    }
  }
  return out;
}

/// The input's element that is nearest, by a mode.
std::string nearest_place(const ResizedAxis& axis, size_t i, const std::string& mode) {
  const std::string index = import_index(i);
  if (mode == "floor") return axis.inside(axis.floor(index), i);
  if (mode == "ceil")
    return axis.inside(fmt::format("{}/{}", axis.place(index, 1, axis.d - 1), axis.d), i);
  if (mode != "round_prefer_floor" && mode != "round_prefer_ceil") {
    throw Unsupported{fmt::format("the nearest elements of mode {}", mode)};
  }
  const int64_t half = mode == "round_prefer_floor" ? axis.d - 1 : axis.d;
  return axis.inside(fmt::format("{}/{}", axis.place(index, 2, half), 2 * axis.d), i);
}

/// Statements of the weights that the elements around a place have: `w2[i2,t2]`.
std::string tap_weights(const ResizedAxis& axis, size_t i, const ResizeWords& words, DType type) {
  const std::string index = import_index(i);
  std::string text = fmt::format("u{}[{}] = cast<{}>({}%{})/{}; ", i, index, name_of(type),
                                 axis.place(index, 1, 0), axis.d, axis.d);
  const bool plain = words.mode == "linear" && !axis.normalised;
  if (plain) {
    return text +
           fmt::format("w{0}[{1},t{0} in 0..2] = select(t{0} == 0, 1 - u{0}[{1}], u{0}[{1}]); ", i,
                       index);
  }
  const std::string on = fmt::format("{},t{} in 0..{}", index, i, axis.taps);
  std::string away = fmt::format("abs(u{0}[{1}] {2} {3} - cast<{4}>(t{0}))", i, index,
                                 axis.first > 0 ? '-' : '+', std::abs(axis.first), name_of(type));
  if (axis.reach != 1) away += fmt::format("/{}", import_number(axis.reach));
  text += fmt::format("v{}[{}] = {}; w{}[{}] = ", i, on, away, i, on);
  const std::string v = fmt::format("v{}[{},t{}]", i, index, i);
  std::string curve = fmt::format("max(0, 1 - {})", v);
  if (words.mode == "cubic") {
    // Keys' curves: one between the inner two elements, one to the outer ones.
    curve = fmt::format("(({1}*{0} - {2})*{0} + {3})*{0} - {4}", v, import_number(words.bend),
                        import_number(5 * words.bend), import_number(8 * words.bend),
                        import_number(4 * words.bend));
    if (axis.reach != 1) curve = fmt::format("select({} < 2, {}, 0)", v, curve);
    curve = fmt::format("select({0} <= 1, ({1}*{0} - {2})*{0}*{0} + 1, {3})", v,
                        import_number(words.bend + 2), import_number(words.bend + 3), curve);
  }
  if (words.exclude) {
    const std::string place = axis.tap(index, i);
    curve = fmt::format("select({0} < 0 || {0} > {1}, 0, {2})", place, axis.last(i), curve);
  }
  return text + curve + "; ";
}

/// The input at `at`. Where calls tell a size it may be 0, though then nothing is read.
std::string read_of(const std::vector<ResizedAxis>& axes, const std::vector<std::string>& at) {
  const bool open = std::any_of(axes.begin(), axes.end(),
                                [](const ResizedAxis& a) { return !a.same && !a.input.fixed(); });
  return fmt::format(fmt::runtime(open ? "(X[{}] else 0)" : "X[{}]"), joined(at));
}

/// A result between elements: their sum by weights.
struct Between {
  std::string statements, value;
};

Between value_between(const std::vector<ResizedAxis>& axes, const ResizeWords& words, DType type) {
  Between out;
  std::vector<std::string> over, at;
  std::string product, all;
  for (size_t i = 0; i < axes.size(); ++i) {
    at.push_back(import_index(i));
    if (axes[i].same) continue;
    out.statements += tap_weights(axes[i], i, words, type);
    over.push_back(fmt::format("t{} in 0..{}", i, axes[i].taps));
    product += fmt::format("w{}[{},t{}]*", i, at[i], i);
    if (axes[i].normalised) {
      out.statements += fmt::format("s{0}[{1}] = sum[t{0}](w{0}[{1},t{0}]); ", i, at[i]);
      all += fmt::format("{}s{}[{}]", all.empty() ? "" : "*", i, at[i]);
    }
    at[i] = axes[i].inside(axes[i].tap(at[i], i), i);
  }
  out.value = fmt::format("sum[{}]({}{})", joined(over), product, read_of(axes, at));
  if (!all.empty()) out.value = fmt::format("{}/({})", out.value, all);
  return out;
}

/// Whether a place is one of the input, of axes that are cropped; empty where all are.
std::string places_inside(const std::vector<ResizedAxis>& axes) {
  std::string out;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (!axes[i].cropped) continue;
    const std::string place = axes[i].place(import_index(i), 1, 0);
    out += fmt::format("{0}{1} >= 0 && {1} <= {2}", out.empty() ? "" : " && ", place,
                       import_product(import_fixed(axes[i].input) - 1, axes[i].d));
  }
  return out;
}

void import_resize(const ImportNode& node) {
  const ImportValue& x = node.input(0);
  const ResizeWords words = resize_words(node);
  const std::vector<ResizedAxis> axes = resized_axes(node, words);
  if (std::all_of(axes.begin(), axes.end(), [](const ResizedAxis& a) { return a.same; })) {
    return node.importer().alias(node, 0, x);
  }
  if (words.mode != "nearest" && !is_float(x.type)) {
    throw Unsupported{"curves between integers"};
  }
  ImportShape shape;
  std::vector<std::string> in, out, at;
  for (size_t i = 0; i < axes.size(); ++i) {
    const ResizedAxis& axis = axes[i];
    if (!axis.same && axis.input.is(0)) throw Unsupported{"there is nothing to resize"};
    const bool fixed = !axis.same && axis.input.fixed();
    in.push_back(fixed ? axis.input.text() : import_dim(i));
    out.push_back(axis.same ? import_dim(i)
                  : fixed
                      ? axis.results.text()
                      : ImportExtent{axis.results.times / axis.input.times, import_dim(i)}.text());
    if (!fixed && axis.results.times % axis.input.times != 0) {
      throw Unsupported{fmt::format("the size {} is not known before a call", axis.input.text())};
    }
    at.push_back(axis.same || words.mode != "nearest" ? import_index(i)
                                                      : nearest_place(axis, i, words.nearest));
    shape.push_back(axis.results);
  }
  Between value{"", read_of(axes, at)};
  if (words.mode != "nearest")
    value = value_between(axes, words, x.type == DType::kF64 ? DType::kF64 : DType::kF32);
  if (const std::string inside = places_inside(axes); !inside.empty()) {
    value.value = fmt::format("select({}, {}, cast<{}>({}))", inside, value.value, name_of(x.type),
                              import_number(words.outside));
  }
  node.importer().make(
      node, 0, x.type, shape, {{&x, "X", joined(in)}}, joined(out),
      fmt::format("{}Y[{}] = {}", value.statements, joined(import_indices(shape)), value.value));
}

}  // namespace

std::vector<ImportEntry> rows_of_resizing() {
  return {{"Resize", import_resize}, {"Upsample", import_resize}};
}

}  // namespace hone::ops
