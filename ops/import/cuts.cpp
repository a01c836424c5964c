// SPDX-License-Identifier: Apache-2.0
// Parts of tensors, and tensors with borders.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "ops/import/movement.h"
#include "ops/import/rows.h"

namespace hone::ops {
namespace {

/// What `[begin:end:step]` of a dim of `n` elements takes, as NumPy counts.
struct Slice {
  int64_t begin, step, count;
};

Slice slice_of(int64_t n, int64_t begin, int64_t end, int64_t step) {
  if (step == 0) throw Unsupported{"a step of 0"};
  if (begin < 0) begin += n;
  if (end < 0) end += n;
  const int64_t lo = step > 0 ? 0 : -1, hi = step > 0 ? n : n - 1;
  begin = std::clamp(begin, step > 0 ? int64_t{0} : int64_t{-1}, hi);
  end = std::clamp(end, lo, hi);
  const int64_t count =
      step > 0 ? (end - begin + step - 1) / step : (begin - end - step - 1) / -step;
  return {begin, step, std::max<int64_t>(count, 0)};
}

/// The same of a dim that calls tell: `[1:]`, `[:-1]`, `[-2:]`, `[:4]`. What reaches beyond it is
/// refused where the dim gets a range.
struct OpenSlice {
  ImportExtent begin, count;
};

OpenSlice slice_of(const ImportExtent& n, int64_t begin, int64_t end, int64_t step) {
  // Fixed by: exporters, who write so for "all".
  constexpr int64_t kAll = (int64_t{1} << 31) - 1;
  if (step < 1) throw Unsupported{"a dim that calls tell is turned round"};
  const auto place = [&](int64_t at) {
    if (at >= kAll) return n;
    if (at <= -kAll) return ImportExtent{0, ""};
    return at < 0 ? n.more(at) : ImportExtent{at, ""};
  };
  const auto length = place(end).without(place(begin));
  if (!length) throw Unsupported{"a dim that calls tell is cut"};
  ImportExtent count = length->more(step - 1).divided(step);
  if (count.fixed() && count.times < 0) count.times = 0;
  return {place(begin), std::move(count)};
}

void import_slice(const ImportNode& node) {
  const ImportValue& x = node.input(0);
  const bool old = node.version() < 10;
  ImportShape begins, ends;
  if (!old) begins = node.sizes(1, "starts"), ends = node.sizes(2, "ends");
  if (old) begins = sizes_in(node, "starts"), ends = sizes_in(node, "ends");
  std::vector<int64_t> axes, steps(begins.size(), 1);
  for (size_t i = 0; i < begins.size(); ++i) axes.push_back(static_cast<int64_t>(i));
  if (old) axes = node.integers("axes", axes);
  if (!old && node.has(3)) axes = node.known(3, "axes");
  if (!old && node.has(4)) steps = node.known(4, "steps");
  if (ends.size() != begins.size() || axes.size() != begins.size() ||
      steps.size() != begins.size()) {
    throw Unsupported{"starts, ends, axes and steps differ in number"};
  }
  ImportShape shape = x.shape;
  std::vector<std::string> in = import_dims(x.shape), out = in, at = import_indices(x.shape);
  std::optional<Slice> of_known;
  for (size_t i = 0; i < axes.size(); ++i) {
    const size_t axis = import_axis(axes[i], x.shape.size());
    const int64_t begin = import_fixed(begins[i]);
    if (!ends[i].fixed()) {
      // Calls tell where it ends, which no dim of the input says.
      if (begin < 0 || steps[i] != 1) throw Unsupported{"a dim is cut up to where calls tell"};
      shape[axis] = ends[i].more(-begin);
      if (x.shape[axis].fixed()) in[axis] = x.shape[axis].text();
      out[axis] = fmt::format("L{}", axis);
      at[axis] = fmt::format("{} + {}", begin, import_index(axis));
      continue;
    }
    const int64_t end = ends[i].times;
    if (!x.shape[axis].fixed()) {
      const OpenSlice own = slice_of(ImportExtent{1, import_dim(axis)}, begin, end, steps[i]);
      shape[axis] = slice_of(x.shape[axis], begin, end, steps[i]).count;
      out[axis] = own.count.text();
      at[axis] = fmt::format("{} + {}*{}", own.begin.text(), steps[i], import_index(axis));
      continue;
    }
    const Slice s = slice_of(x.shape[axis].times, begin, end, steps[i]);
    shape[axis] = {s.count, ""};
    in[axis] = x.shape[axis].text();
    out[axis] = std::to_string(s.count);
    at[axis] = fmt::format("{}{}*{}", s.begin != 0 ? fmt::format("{} + ", s.begin) : "", s.step,
                           import_index(axis));
    of_known = s;
  }
  const auto sizes = sizes_of(x);
  if (sizes && x.shape.size() == 1 && of_known) {
    ImportShape some;
    for (int64_t i = 0; i < of_known->count; ++i) {
      some.push_back((*sizes)[static_cast<size_t>(of_known->begin + i * of_known->step)]);
    }
    return node.importer().size(node, 0, std::move(some), {of_known->count}, x.type);
  }
  import_moved(node, 0, shape, in, out, at);
}

void import_split(const ImportNode& node) {
  const ImportValue& x = node.input(0);
  const size_t axis = import_axis(node.integer("axis", 0), x.shape.size());
  if (!x.shape[axis].fixed()) throw Unsupported{"a dim that calls tell is cut"};
  const int64_t all = x.shape[axis].times, parts = static_cast<int64_t>(node.outputs());
  std::vector<int64_t> lengths = node.integers("split", {});
  if (node.has(1)) lengths = node.known(1, "lengths");
  if (lengths.empty()) {
    const int64_t each = (all + parts - 1) / parts;
    for (int64_t i = 0; i < parts; ++i)
      lengths.push_back(std::clamp<int64_t>(all - i * each, 0, each));
  }
  if (static_cast<int64_t>(lengths.size()) != parts) {
    throw Unsupported{"it has another number of lengths than of outputs"};
  }
  int64_t begin = 0;
  const auto sizes = x.shape.size() == 1 ? sizes_of(x) : std::nullopt;
  for (size_t i = 0; i < lengths.size(); ++i) {
    if (lengths[i] < 0 || begin + lengths[i] > all) {
      throw Unsupported{"its parts are longer than its input"};
    }
    if (sizes) {
      const auto first = sizes->begin() + begin;
      node.importer().size(node, i, {first, first + lengths[i]}, {lengths[i]}, x.type);
      begin += lengths[i];
      continue;
    }
    ImportShape shape = x.shape;
    shape[axis] = {lengths[i], ""};
    std::vector<std::string> in = import_dims(x.shape), out = in, at = import_indices(x.shape);
    in[axis] = x.shape[axis].text();
    out[axis] = std::to_string(lengths[i]);
    if (begin > 0) at[axis] += fmt::format(" + {}", begin);
    import_moved(node, i, shape, in, out, at);
    begin += lengths[i];
  }
}

/// Pads of all axes, those before and those after; a node may name the axes that it pads.
std::vector<int64_t> padding_of(const ImportNode& node, const std::vector<int64_t>& given) {
  const size_t rank = node.input(0).shape.size();
  std::vector<size_t> axes;
  for (size_t i = 0; i < rank; ++i) axes.push_back(i);
  if (node.has(3)) {
    axes.clear();
    for (const int64_t axis : node.known(3, "axes")) axes.push_back(import_axis(axis, rank));
  }
  if (given.size() != 2 * axes.size()) throw Unsupported{"its pads are of another rank"};
  std::vector<int64_t> pads(2 * rank);
  for (size_t k = 0; k < axes.size(); ++k) {
    pads[axes[k]] = given[k];
    pads[rank + axes[k]] = given[axes.size() + k];
  }
  return pads;
}

/// An index that may leave `n` elements by a border, as one of them.
std::string inside_of(const std::string& mode, const std::string& at, int64_t n, int64_t before,
                      int64_t after) {
  const int64_t last = n - 1;
  if (mode == "wrap") return fmt::format("({})%{}", at, n);
  if (mode == "edge" || last == 0) return fmt::format("max(0, min({}, {}))", at, last);
  if (std::max(before, after) <= last)
    return fmt::format("min(abs({0}), {1} - abs({0}))", at, 2 * last);
  // Forth and back more than once.
  return fmt::format("min(({0})%{1}, {1} - ({0})%{1})", at, 2 * last);
}

const char* nothing_of(DType type) { return type == DType::kBool ? "false" : "0"; }

/// What stands in a border: a number, or an element of input 2 whose declaration is added.
std::string filling_of(const ImportNode& node, std::vector<ImportArgument>& arguments) {
  if (node.version() < 11) return import_number(node.number("value", 0));
  if (!node.has(2)) return nothing_of(node.input(0).type);
  const ImportValue& v = node.input(2);
  if (v.number) return import_number(*v.number);
  if (v.type != node.input(0).type || v.shape.size() > 1 ||
      (v.shape.size() == 1 && !v.shape[0].is(1)))
    throw Unsupported{"it pads with other than one element"};
  arguments.push_back({&v, "F", v.shape.empty() ? "" : "1"});
  return v.shape.empty() ? "F[]" : "F[0]";
}

void import_pad(const ImportNode& node) {
  const ImportValue& x = node.input(0);
  const bool old = node.version() < 11;
  const std::string mode = node.text("mode", "constant");
  const size_t rank = x.shape.size();
  // Version 1 has another name for them.
  const auto named = node.integers(node.has_attribute("paddings") ? "paddings" : "pads", {});
  const auto pads = padding_of(node, old ? named : node.known(1, "pads"));
  if (mode != "constant" && mode != "edge" && mode != "reflect" && mode != "wrap") {
    throw Unsupported{fmt::format("padding of mode {}", mode)};
  }
  ImportShape shape = x.shape;
  std::vector<std::string> in = import_dims(x.shape), out = in, at = import_indices(x.shape);
  for (size_t i = 0; i < rank; ++i) {
    const int64_t before = pads[i], after = pads[rank + i];
    if (before == 0 && after == 0) continue;
    const bool fixed = x.shape[i].fixed();
    const ImportExtent own = fixed ? x.shape[i] : ImportExtent{1, import_dim(i)};
    shape[i] = x.shape[i].more(before + after);
    if (shape[i].fixed() && shape[i].times < 0) throw Unsupported{"it cuts more than there is"};
    in[i] = own.text();
    out[i] = own.more(before + after).text();
    at[i] += fmt::format(" {} {}", before < 0 ? "+" : "-", std::abs(before));
    if (mode == "constant") continue;
    const int64_t n = import_fixed(x.shape[i]);
    if (n < 1) throw Unsupported{"it repeats what there is not"};
    at[i] = inside_of(mode, at[i], n, before, after);
  }
  std::vector<ImportArgument> arguments{{&x, "X", joined(in)}};
  // Of other modes nothing is outside.
  const std::string filled = mode == "constant" ? filling_of(node, arguments) : nothing_of(x.type);
  node.importer().make(
      node, 0, x.type, shape, arguments, joined(out),
      fmt::format("Y[{}] = X[{}] else {}", joined(import_indices(shape)), joined(at), filled));
}

/// Each axis is cut or filled up on both sides alike, the odd element behind.
void import_center_crop(const ImportNode& node) {
  const ImportValue& x = node.input(0);
  const size_t rank = x.shape.size();
  const std::vector<int64_t>& wanted = node.known(1, "sizes");
  std::vector<int64_t> axes = node.integers("axes", {});
  for (size_t i = 0; i < rank && !node.has_attribute("axes"); ++i) {
    axes.push_back(static_cast<int64_t>(i));
  }
  if (axes.size() != wanted.size()) throw Unsupported{"its sizes are of another rank"};
  ImportShape shape = x.shape;
  std::vector<std::string> in = import_dims(x.shape), out = in, at = import_indices(x.shape);
  for (size_t k = 0; k < axes.size(); ++k) {
    const size_t i = import_axis(axes[k], rank);
    const int64_t n = import_fixed(x.shape[i]), cut = (n - wanted[k]) / 2;
    if (wanted[k] < 0) throw Unsupported{"sizes below 0"};
    shape[i] = {wanted[k], ""};
    in[i] = x.shape[i].text();
    out[i] = shape[i].text();
    if (cut != 0) at[i] += fmt::format(" {} {}", cut < 0 ? "-" : "+", std::abs(cut));
  }
  import_moved(node, 0, shape, in, out, at, " else 0");
}

}  // namespace

std::vector<ImportEntry> rows_of_cuts() {
  return {{"CenterCropPad", import_center_crop},
          {"Pad", import_pad},
          {"Slice", import_slice},
          {"Split", import_split}};
}

}  // namespace hone::ops
