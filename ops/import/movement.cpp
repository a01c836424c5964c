// SPDX-License-Identifier: Apache-2.0
// Elements moved, not computed.
#include <fmt/format.h>

#include <algorithm>

#include "ops/import/elementwise.h"
#include "ops/import/rows.h"

namespace hone::ops {
namespace {

/// One output whose element at `i0,i1` is the input's at `at`, over declared dims. `outside` says
/// what stands where there is none.
void move(const ImportNode& node, size_t output, const ImportShape& shape,
          const std::vector<std::string>& in, const std::vector<std::string>& out,
          const std::vector<std::string>& at, const char* outside = "") {
  const ImportValue& x = node.input(0);
  node.importer().make(
      node, output, x.type, shape, {{&x, "X", joined(in)}}, joined(out),
      fmt::format("Y[{}] = X[{}]{}", joined(import_indices(shape)), joined(at), outside));
}

/// A result that differs from the input in dims of one element alone. False where it does not.
bool moves_ones(const ImportNode& node, const ImportShape& shape) {
  const ImportShape& from = node.input(0).shape;
  std::vector<std::string> in(from.size(), "1"), out(shape.size(), "1"), at(from.size(), "0");
  size_t to = 0;
  for (size_t i = 0; i < from.size(); ++i) {
    if (from[i].is(1)) continue;
    while (to < shape.size() && shape[to].is(1)) ++to;
    if (to == shape.size() || !(shape[to] == from[i])) return false;
    in[i] = out[to] = import_dim(to);
    at[i] = import_index(to++);
  }
  while (to < shape.size() && shape[to].is(1)) ++to;
  if (to < shape.size()) return false;
  move(node, 0, shape, in, out, at);
  return true;
}

/// The element of `from` that stands at a place of `shape` in row-major order. Equal dims ahead are
/// left as they are; behind them sizes are known.
void reshape(const ImportNode& node, const ImportShape& shape) {
  const ImportValue& x = node.input(0);
  if (x.shape == shape) return node.importer().alias(node, 0, x);
  if (auto sizes = sizes_of(x)) {
    std::vector<int64_t> dims;
    for (const ImportExtent& e : shape) dims.push_back(import_fixed(e));
    return node.importer().size(node, 0, *std::move(sizes), dims, x.type);
  }
  if (moves_ones(node, shape)) return;
  size_t same = 0;
  while (same < x.shape.size() && same < shape.size() && x.shape[same] == shape[same]) ++same;
  std::vector<std::string> in, out, at;
  for (size_t i = 0; i < same; ++i) {
    in.push_back(import_dim(i));
    at.push_back(import_index(i));
  }
  out = in;
  std::string place;
  for (size_t i = same; i < shape.size(); ++i) {
    if (!shape[i].fixed()) throw Unsupported{"a dim that calls tell is taken apart"};
    out.push_back(shape[i].text());
    place = place.empty() ? import_index(i)
                          : fmt::format("({})*{} + {}", place, shape[i].text(), import_index(i));
  }
  if (place.empty()) place = "0";
  int64_t behind = 1;
  std::vector<std::string> back;
  for (size_t i = x.shape.size(); i-- > same;) {
    const ImportExtent& e = x.shape[i];
    if (!e.fixed()) throw Unsupported{"a dim that calls tell is put together with others"};
    std::string index = behind == 1 ? place : fmt::format("({})/{}", place, behind);
    if (i > same) index = fmt::format("({})%{}", index, e.times);
    back.push_back(e.is(1) ? "0" : index);
    behind = import_product(behind, e.times);
  }
  for (size_t i = x.shape.size(); i-- > same;) {
    in.push_back(x.shape[x.shape.size() - 1 - (i - same)].text());
    at.push_back(back[i - same]);
  }
  move(node, 0, shape, in, out, at);
}

/// An attribute's integers as sizes.
ImportShape sizes_in(const ImportNode& node, std::string_view name) {
  ImportShape out;
  for (const int64_t n : node.integers(name, {})) out.push_back({n, ""});
  return out;
}

void import_reshape(const ImportNode& node) {
  const ImportValue& x = node.input(0);
  const ImportShape wanted = node.has(1) ? node.sizes(1, "dims") : sizes_in(node, "shape");
  ImportShape shape;
  size_t open = wanted.size();
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i].is(0) && node.integer("allowzero", 0) == 0) {
      if (i >= x.shape.size()) throw Unsupported{"it keeps a dim that there is not"};
      shape.push_back(x.shape[i]);
    } else if (wanted[i].is(-1)) {
      open = i;
      shape.push_back({1, ""});
    } else {
      shape.push_back(wanted[i]);
    }
  }
  if (open < wanted.size()) {
    const ImportExtent all = import_elements(x.shape, 0, x.shape.size()),
                       rest = import_elements(shape, 0, shape.size());
    const bool fits =
        rest.times != 0 && all.times % rest.times == 0 && (rest.fixed() || rest.dim == all.dim);
    if (!fits) throw Unsupported{"its dims do not divide those of its input"};
    shape[open] = {all.times / rest.times, rest.fixed() ? all.dim : ""};
  }
  reshape(node, shape);
}

void import_flatten(const ImportNode& node) {
  const ImportValue& x = node.input(0);
  const auto rank = static_cast<int64_t>(x.shape.size());
  int64_t axis = node.integer("axis", 1);
  if (axis < -rank || axis > rank) throw Unsupported{"there is no such axis"};
  if (axis < 0) axis += rank;
  const auto at = static_cast<size_t>(axis);
  reshape(node, {import_elements(x.shape, 0, at), import_elements(x.shape, at, x.shape.size())});
}

std::vector<int64_t> axes_of(const ImportNode& node) {
  return node.has(1) ? node.known(1, "axes") : node.integers("axes", {});
}

void import_squeeze(const ImportNode& node) {
  const ImportValue& x = node.input(0);
  const std::vector<int64_t> axes = axes_of(node);
  std::vector<bool> gone(x.shape.size());
  for (const int64_t axis : axes) gone.at(import_axis(axis, x.shape.size())) = true;
  ImportShape shape;
  for (size_t i = 0; i < x.shape.size(); ++i) {
    if (gone[i] && !x.shape[i].is(1)) throw Unsupported{"a dim that is not 1 is taken away"};
    if (!gone[i] && !(axes.empty() && x.shape[i].is(1))) shape.push_back(x.shape[i]);
  }
  reshape(node, shape);
}

void import_unsqueeze(const ImportNode& node) {
  const ImportValue& x = node.input(0);
  const std::vector<int64_t> axes = axes_of(node);
  const size_t rank = x.shape.size() + axes.size();
  std::vector<bool> fresh(rank);
  for (const int64_t axis : axes) fresh.at(import_axis(axis, rank)) = true;
  ImportShape shape;
  size_t next = 0;
  for (size_t i = 0; i < rank; ++i) {
    shape.push_back(fresh[i] || next >= x.shape.size() ? ImportExtent{1, ""} : x.shape[next++]);
  }
  reshape(node, shape);
}

void import_transpose(const ImportNode& node) {
  const ImportValue& x = node.input(0);
  const size_t rank = x.shape.size();
  std::vector<int64_t> turned;
  for (size_t i = 0; i < rank; ++i) turned.push_back(static_cast<int64_t>(rank - 1 - i));
  const std::vector<int64_t> order = node.integers("perm", turned);
  if (order.size() != rank) throw Unsupported{"its order has another rank than its input"};
  ImportShape shape(rank);
  std::vector<std::string> out(rank), at(rank);
  for (size_t i = 0; i < rank; ++i) {
    const size_t from = import_axis(order[i], rank);
    shape[i] = x.shape[from];
    out[i] = import_dim(from);
    at[from] = import_index(i);
  }
  move(node, 0, shape, import_dims(x.shape), out, at);
}

void import_expand(const ImportNode& node) {
  const ImportValue& x = node.input(0);
  ImportValue wanted;
  wanted.shape = node.sizes(1, "dims");
  const ImportShape shape = broadcast_shape({&x, &wanted});
  if (shape == x.shape) return node.importer().alias(node, 0, x);
  const Broadcast from = broadcast(x.shape, shape);
  std::vector<std::string> out;
  const size_t ahead = shape.size() - x.shape.size();
  for (size_t i = 0; i < shape.size(); ++i) {
    const bool of_input = i >= ahead && !x.shape[i - ahead].is(1);
    out.push_back(of_input || !shape[i].fixed() ? import_dim(i) : shape[i].text());
  }
  node.importer().make(node, 0, x.type, shape, {{&x, "X", from.dims}}, joined(out),
                       fmt::format("Y[{}] = X[{}]", joined(import_indices(shape)), from.indices));
}

/// Lists of known integers, one behind the other; false where some are not.
bool join_known(const ImportNode& node) {
  ImportShape all;
  for (size_t i = 0; i < node.inputs(); ++i) {
    const auto sizes = sizes_of(node.input(i));
    if (!sizes || node.input(i).shape.size() != 1) return false;
    all.insert(all.end(), sizes->begin(), sizes->end());
  }
  const auto count = static_cast<int64_t>(all.size());
  node.importer().size(node, 0, std::move(all), {count}, node.input(0).type);
  return true;
}

void import_concat(const ImportNode& node) {
  const ImportValue& first = node.input(0);
  const size_t axis = import_axis(node.integer("axis", 1), first.shape.size());
  std::vector<ImportArgument> arguments;
  std::vector<std::string> reads;
  // In the op, where dims of inputs that calls tell have names of their own.
  std::vector<ImportExtent> begins;
  ImportExtent all{0, ""}, result{0, ""};
  for (size_t i = 0; i < node.inputs(); ++i) {
    const ImportValue& x = node.input(i);
    if (x.shape.size() != first.shape.size()) throw Unsupported{"its inputs differ in rank"};
    if (x.shape[axis].is(0)) continue;
    std::vector<std::string> dims = import_dims(x.shape), at = import_indices(x.shape);
    const ImportExtent own =
        x.shape[axis].fixed() ? x.shape[axis] : ImportExtent{1, fmt::format("L{}", i)};
    dims[axis] = own.text();
    if (!all.is(0)) at[axis] += fmt::format(" - {}", all.whole().text());
    const std::string name = fmt::format("X{}", i);
    arguments.push_back({&x, name, joined(dims)});
    reads.push_back(fmt::format("{}[{}]", name, joined(at)));
    begins.push_back(all);
    all = all.and_of(own);
    result = result.and_of(x.shape[axis]);
  }
  if (join_known(node)) return;
  if (reads.empty()) throw Unsupported{"it has no elements"};
  if (reads.size() > 64) throw Unsupported{"it joins more than 64 tensors"};
  std::string text = reads.back();
  for (size_t i = reads.size() - 1; i-- > 0;) {
    text = fmt::format("select({} < {}, {}, {})", import_index(axis), begins[i + 1].text(),
                       reads[i], text);
  }
  ImportShape shape = first.shape;
  shape[axis] = result;
  std::vector<std::string> out = import_dims(shape);
  out[axis] = all.text();
  node.importer().make(node, 0, first.type, shape, arguments, joined(out),
                       fmt::format("Y[{}] = {}", joined(import_indices(shape)), text));
}

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
  move(node, 0, shape, in, out, at);
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
  for (size_t i = 0; i < lengths.size(); ++i) {
    ImportShape shape = x.shape;
    shape[axis] = {lengths[i], ""};
    std::vector<std::string> in = import_dims(x.shape), out = in, at = import_indices(x.shape);
    in[axis] = x.shape[axis].text();
    out[axis] = std::to_string(lengths[i]);
    if (begin > 0) at[axis] += fmt::format(" + {}", begin);
    if (begin + lengths[i] > all) throw Unsupported{"its parts are longer than its input"};
    move(node, i, shape, in, out, at);
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

void import_pad(const ImportNode& node) {
  const ImportValue& x = node.input(0);
  const bool old = node.version() < 11;
  const std::string mode = node.text("mode", "constant");
  const size_t rank = x.shape.size();
  const auto pads = padding_of(node, old ? node.integers("pads", {}) : node.known(1, "pads"));
  std::string filled = "0";  // of other modes nothing is outside
  if (old) filled = import_number(node.number("value", 0));
  if (!old && node.has(2)) {
    if (!node.input(2).number) throw Unsupported{"what it pads with is not known before a call"};
    filled = import_number(*node.input(2).number);
  }
  if (mode != "constant" && mode != "edge" && mode != "reflect") {
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
    in[i] = own.text();
    out[i] = own.more(before + after).text();
    at[i] += fmt::format(" {} {}", before < 0 ? "+" : "-", std::abs(before));
    if (mode == "constant") continue;
    const int64_t last = import_fixed(x.shape[i]) - 1;
    if (last < 0 || (mode == "reflect" && std::max(before, after) > last)) {
      throw Unsupported{"it pads by more than there is"};
    }
    if (mode == "edge") at[i] = fmt::format("max(0, min({}, {}))", at[i], last);
    if (mode == "reflect") at[i] = fmt::format("min(abs({0}), {1} - abs({0}))", at[i], 2 * last);
  }
  node.importer().make(
      node, 0, x.type, shape, {{&x, "X", joined(in)}}, joined(out),
      fmt::format("Y[{}] = X[{}] else {}", joined(import_indices(shape)), joined(at), filled));
}

void import_gather(const ImportNode& node) {
  const ImportValue &x = node.input(0), &ids = node.input(1);
  const size_t axis = import_axis(node.integer("axis", 0), x.shape.size());
  const auto sizes = sizes_of(x);
  if (sizes && ids.known && x.shape.size() == 1) {
    ImportShape out;
    std::vector<int64_t> shape;
    for (const int64_t i : *ids.known) out.push_back(sizes->at(import_axis(i, sizes->size())));
    for (const ImportExtent& e : ids.shape) shape.push_back(e.times);
    return node.importer().size(node, 0, std::move(out), shape, x.type);
  }
  ImportShape shape(x.shape.begin(), x.shape.begin() + static_cast<std::ptrdiff_t>(axis));
  shape.insert(shape.end(), ids.shape.begin(), ids.shape.end());
  shape.insert(shape.end(), x.shape.begin() + static_cast<std::ptrdiff_t>(axis) + 1, x.shape.end());
  std::vector<std::string> in, of_ids, at, at_ids, out;
  for (size_t i = 0; i < ids.shape.size(); ++i) {
    of_ids.push_back(fmt::format("N{}", i));
    at_ids.push_back(import_index(axis + i));
  }
  for (size_t i = 0; i < x.shape.size(); ++i) {
    in.push_back(import_dim(i));
    const bool behind = i > axis;
    // From the end where it is negative.
    const std::string id = fmt::format("J[{}]", joined(at_ids));
    at.push_back(i == axis ? fmt::format("select({0} < 0, {0} + {1}, {0})", id, import_dim(i))
                           : import_index(behind ? i + ids.shape.size() - 1 : i));
    if (i == axis) {
      out.insert(out.end(), of_ids.begin(), of_ids.end());
    } else {
      out.push_back(import_dim(i));
    }
  }
  node.importer().make(node, 0, x.type, shape, {{&x, "X", joined(in)}, {&ids, "J", joined(of_ids)}},
                       joined(out),
                       fmt::format("Y[{}] = X[{}]", joined(import_indices(shape)), joined(at)));
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
  move(node, 0, shape, in, out, at, " else 0");
}

/// The elements that a condition names, where that is known: of the whole tensor without an axis.
void import_compress(const ImportNode& node) {
  const ImportValue& x = node.input(0);
  const std::vector<int64_t>& wanted = node.known(1, "conditions");
  std::vector<int64_t> places;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] != 0) places.push_back(static_cast<int64_t>(i));
  }
  const auto count = static_cast<int64_t>(places.size());
  const bool flat = !node.has_attribute("axis");
  const size_t rank = x.shape.size(), axis = flat ? 0 : import_axis(node.integer("axis", 0), rank);
  const ImportExtent all = flat ? import_elements(x.shape, 0, rank) : x.shape[axis];
  if (static_cast<int64_t>(wanted.size()) > import_fixed(all)) {
    throw Unsupported{"its condition is longer than its input"};
  }
  ImportValue ids;
  ids.type = DType::kI64;
  ids.shape = {{count, ""}};
  ids.known = places;
  ImportShape shape = flat ? ImportShape{{count, ""}} : x.shape;
  if (!flat) shape[axis] = {count, ""};
  std::vector<std::string> in = import_dims(x.shape), out = import_dims(shape),
                           at = import_indices(x.shape);
  out[axis] = std::to_string(count);
  const std::string place = fmt::format("J[{}]", import_index(axis));
  if (!flat) at[axis] = place;
  int64_t behind = import_fixed(all);
  for (size_t i = 0; flat && i < rank; ++i) {
    behind /= std::max<int64_t>(x.shape[i].times, 1);
    in[i] = x.shape[i].text();
    at[i] = fmt::format("{}/{}%{}", place, behind, x.shape[i].times);
  }
  node.importer().make(node, 0, x.type, shape,
                       {{&x, "X", joined(in)}, {&ids, "J", std::to_string(count)}}, joined(out),
                       fmt::format("Y[{}] = X[{}]{}", joined(import_indices(shape)), joined(at),
                                   flat ? " else 0" : ""));
}

}  // namespace

std::vector<ImportEntry> rows_of_movement() {
  return {
      {"CenterCropPad", import_center_crop},
      {"Compress", import_compress},
      {"Concat", import_concat},
      {"Expand", import_expand},
      {"Flatten", import_flatten},
      {"Gather", import_gather},
      {"Pad", import_pad},
      {"Reshape", import_reshape},
      {"Slice", import_slice},
      {"Split", import_split},
      {"Squeeze", import_squeeze},
      {"Transpose", import_transpose},
      {"Unsqueeze", import_unsqueeze},
  };
}

}  // namespace hone::ops
