// SPDX-License-Identifier: Apache-2.0
// Elements by where they stand: repeated, masked, looked up, summed up to a place.
#include <fmt/format.h>

#include <algorithm>

#include "ops/import/elementwise.h"
#include "ops/import/rows.h"

namespace hone::ops {
namespace {

void import_tile(const ImportNode& node) {
  const ImportValue& x = node.input(0);
  const std::vector<int64_t>& times = node.known(1, "repeats");
  if (times.size() != x.shape.size()) throw Unsupported{"its repeats are of another rank"};
  ImportShape shape = x.shape;
  std::vector<std::string> in = import_dims(shape), out = in, at = import_indices(shape);
  for (size_t i = 0; i < shape.size(); ++i) {
    if (times[i] == 1) continue;
    if (!shape[i].fixed()) throw Unsupported{"a dim that calls tell is repeated"};
    in[i] = shape[i].text();
    at[i] = fmt::format("{}%{}", at[i], shape[i].times);
    shape[i].times = import_product(shape[i].times, std::max<int64_t>(times[i], 0));
    out[i] = shape[i].text();
  }
  node.importer().make(node, 0, x.type, shape, {{&x, "X", joined(in)}}, joined(out),
                       fmt::format("Y[{}] = X[{}]", joined(import_indices(shape)), joined(at)));
}

void import_trilu(const ImportNode& node) {
  const ImportValue& x = node.input(0);
  const size_t rank = x.shape.size();
  if (rank < 2) throw Unsupported{"its input is no matrix"};
  const int64_t k = node.has(1) ? node.known(1, "diagonals").at(0) : 0;
  const std::string at = joined(import_indices(x.shape)), dims = joined(import_dims(x.shape));
  node.importer().make(
      node, 0, x.type, x.shape, {{&x, "X", dims}}, dims,
      fmt::format("Y[{0}] = select({1} - {2} {3} {4}, X[{0}], cast<{5}>(0))", at,
                  import_index(rank - 1), import_index(rank - 2),
                  node.integer("upper", 1) != 0 ? ">=" : "<=", k, name_of(x.type)));
}

void import_gather_elements(const ImportNode& node) {
  const ImportValue &x = node.input(0), &ids = node.input(1);
  const size_t axis = import_axis(node.integer("axis", 0), x.shape.size());
  if (ids.shape.size() != x.shape.size()) throw Unsupported{"its indices are of another rank"};
  std::vector<std::string> in = import_dims(x.shape), of_ids = in, at = import_indices(x.shape);
  const std::string places = joined(at);
  for (size_t i = 0; i < x.shape.size(); ++i) {
    if (i == axis || ids.shape[i] == x.shape[i]) continue;
    in[i] = x.shape[i].text();
    of_ids[i] = ids.shape[i].text();
  }
  in[axis] = "L";
  at[axis] = fmt::format("select(J[{0}] < 0, J[{0}] + L, J[{0}])", places);
  node.importer().make(node, 0, x.type, ids.shape,
                       {{&x, "X", joined(in)}, {&ids, "J", joined(of_ids)}}, joined(of_ids),
                       fmt::format("Y[{}] = X[{}]", places, joined(at)));
}

/// Each element is the one before and a term.
void import_cumulative_sum(const ImportNode& node) {
  const ImportValue& x = node.input(0);
  const size_t axis = import_axis(node.known(1, "axes").at(0), x.shape.size());
  const std::string dims = joined(import_dims(x.shape));
  std::vector<std::string> at = import_indices(x.shape);
  const std::string here = joined(at);
  at[axis] += node.integer("reverse", 0) != 0 ? " + 1" : " - 1";
  const std::string before = joined(at);
  const bool exclusive = node.integer("exclusive", 0) != 0;
  node.importer().make(
      node, 0, x.type, x.shape, {{&x, "X", dims}}, dims,
      fmt::format("Y[{0}] = {1} + (Y[{2}] else 0)", here,
                  exclusive ? fmt::format("(X[{}] else 0)", before) : fmt::format("X[{}]", here),
                  before));
}

void import_hardmax(const ImportNode& node) {
  const ImportValue& x = node.input(0);
  const bool old = node.version() < 13;
  const size_t axis = import_axis(node.integer("axis", old ? 1 : -1), x.shape.size());
  if (old && axis + 1 != x.shape.size()) throw Unsupported{"over several dims, before version 13"};
  std::vector<std::string> at = import_indices(x.shape), kept = at;
  const std::string here = joined(at), dims = joined(import_dims(x.shape));
  at[axis] = "r";
  kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(axis));
  node.importer().make(
      node, 0, x.type, x.shape, {{&x, "X", dims}}, dims,
      fmt::format("m[{0}] = argmax[r](X[{1}]); Y[{2}] = cast<{3}>({4} == m[{0}])", joined(kept),
                  joined(at), here, name_of(x.type), import_index(axis)));
}

void import_one_hot(const ImportNode& node) {
  const ImportValue &ids = node.input(0), &values = node.input(2);
  const int64_t depth = node.input(1).number ? static_cast<int64_t>(*node.input(1).number)
                                             : node.known(1, "depths").at(0);
  const size_t rank = ids.shape.size() + 1, axis = import_axis(node.integer("axis", -1), rank);
  ImportShape shape = ids.shape;
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), {depth, ""});
  std::vector<std::string> out = import_dims(shape), at = import_indices(shape);
  const std::string here = joined(at), own = at[axis];
  std::vector<std::string> in = out;
  in.erase(in.begin() + static_cast<std::ptrdiff_t>(axis));
  at.erase(at.begin() + static_cast<std::ptrdiff_t>(axis));
  out[axis] = std::to_string(depth);
  node.importer().make(
      node, 0, values.type, shape, {{&ids, "J", joined(in)}, {&values, "V", "2"}}, joined(out),
      fmt::format("p[{0}] = cast<i64>(J[{0}]); Y[{1}] = select(select(p[{0}] < 0, p[{0}] + {2}, "
                  "p[{0}]) == {3}, V[1], V[0])",
                  joined(at), here, depth, own));
}

int64_t fixed_of(const ImportExtent& e) {
  if (!e.fixed()) throw Unsupported{"sizes that calls tell"};
  return e.times;
}

void import_depth_to_space(const ImportNode& node) {
  const ImportValue& x = node.input(0);
  const int64_t b = node.integer("blocksize", 1);
  if (x.shape.size() != 4 || b < 1) throw Unsupported{"its input is no batch of images"};
  const int64_t c = fixed_of(x.shape[1]), h = fixed_of(x.shape[2]), w = fixed_of(x.shape[3]);
  const int64_t squared = import_product(b, b), channels = c / squared;
  const std::string channel = node.text("mode", "DCR") == "CRD"
                                  ? fmt::format("i1*{0} + i2%{1}*{1} + i3%{1}", squared, b)
                                  : fmt::format("(i2%{0}*{0} + i3%{0})*{1} + i1", b, channels);
  const int64_t high = import_product(h, b), wide = import_product(w, b);
  const ImportShape shape{x.shape[0], {channels, ""}, {high, ""}, {wide, ""}};
  node.importer().make(node, 0, x.type, shape, {{&x, "X", fmt::format("D0,{},{},{}", c, h, w)}},
                       fmt::format("D0,{},{},{}", channels, high, wide),
                       fmt::format("Y[i0,i1,i2,i3] = X[i0,{0},i2/{1},i3/{1}]", channel, b));
}

void import_space_to_depth(const ImportNode& node) {
  const ImportValue& x = node.input(0);
  const int64_t b = node.integer("blocksize", 1);
  if (x.shape.size() != 4 || b < 1) throw Unsupported{"its input is no batch of images"};
  const int64_t c = fixed_of(x.shape[1]), h = fixed_of(x.shape[2]) / b,
                w = fixed_of(x.shape[3]) / b;
  const int64_t deep = import_product(c, import_product(b, b));
  const ImportShape shape{x.shape[0], {deep, ""}, {h, ""}, {w, ""}};
  node.importer().make(
      node, 0, x.type, shape, {{&x, "X", fmt::format("D0,{},{},{}", c, h * b, w * b)}},
      fmt::format("D0,{},{},{}", deep, h, w),
      fmt::format("Y[i0,i1,i2,i3] = X[i0,i1%{0},i2*{1} + i1/{0}/{1},i3*{1} + i1/{0}%{1}]", c, b));
}

}  // namespace

std::vector<ImportEntry> rows_of_places() {
  return {
      {"CumSum", import_cumulative_sum},
      {"DepthToSpace", import_depth_to_space},
      {"GatherElements", import_gather_elements},
      {"Hardmax", import_hardmax},
      {"OneHot", import_one_hot},
      {"SpaceToDepth", import_space_to_depth},
      {"Tile", import_tile},
      {"Trilu", import_trilu},
  };
}

}  // namespace hone::ops
