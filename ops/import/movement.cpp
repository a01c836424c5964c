// SPDX-License-Identifier: Apache-2.0
// Elements moved, not computed.
#include "ops/import/movement.h"

#include <fmt/format.h>

#include <algorithm>

#include "ops/import/elementwise.h"
#include "ops/import/rows.h"

namespace hone::ops {
namespace {

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
  import_moved(node, 0, shape, in, out, at);
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
  import_moved(node, 0, shape, in, out, at);
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
  import_moved(node, 0, shape, import_dims(x.shape), out, at);
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

}  // namespace

void import_moved(const ImportNode& node, size_t output, const ImportShape& shape,
                  const std::vector<std::string>& in, const std::vector<std::string>& out,
                  const std::vector<std::string>& at, const char* outside) {
  const ImportValue& x = node.input(0);
  node.importer().make(
      node, output, x.type, shape, {{&x, "X", joined(in)}}, joined(out),
      fmt::format("Y[{}] = X[{}]{}", joined(import_indices(shape)), joined(at), outside));
}

ImportShape sizes_in(const ImportNode& node, std::string_view name) {
  ImportShape out;
  for (const int64_t n : node.integers(name, {})) out.push_back({n, ""});
  return out;
}

std::vector<ImportEntry> rows_of_movement() {
  return {
      {"Concat", import_concat},       {"Expand", import_expand},       {"Flatten", import_flatten},
      {"Gather", import_gather},       {"Reshape", import_reshape},     {"Squeeze", import_squeeze},
      {"Transpose", import_transpose}, {"Unsqueeze", import_unsqueeze},
  };
}

}  // namespace hone::ops
