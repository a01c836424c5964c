// SPDX-License-Identifier: Apache-2.0
// Elements by places that data say: put there, added there, looked up by several indices.
#include <fmt/format.h>

#include <algorithm>

#include "ops/import/rows.h"

namespace hone::ops {
namespace {

/// From the end where it is negative.
std::string from_end(const std::string& index, const std::string& extent) {
  return fmt::format("select({0} < 0, {0} + {1}, {0})", index, extent);
}

/// How updates and the elements that stand there become the result.
struct Combination {
  std::string_view name, assign, joined;
};

constexpr Combination kCombinations[] = {{"none", "=", "select(c[{0}], s[{0}], X[{0}])"},
                                         {"add", "+=", "X[{0}] + s[{0}]"},
                                         {"mul", "*=", "X[{0}] * s[{0}]"},
                                         {"max", "max=", "max(X[{0}], s[{0}])"},
                                         {"min", "min=", "min(X[{0}], s[{0}])"}};

/// The result of updates `V[terms]` at `places` of X. Where nothing is combined, `c` has where
/// updates went, and the last one of a place stays.
void make_scatter(const ImportNode& node, const std::vector<std::string>& dims,
                  const std::vector<std::string>& places, const std::string& terms,
                  std::vector<ImportArgument> arguments) {
  const ImportValue& x = node.input(0);
  const std::string reduction = node.text("reduction", "none");
  const auto* how = std::find_if(std::begin(kCombinations), std::end(kCombinations),
                                 [&](const Combination& c) { return c.name == reduction; });
  if (how == std::end(kCombinations)) {
    throw Unsupported{fmt::format("updates that are combined by {}", reduction)};
  }
  if (x.type == DType::kBool && reduction != "none") throw Unsupported{"sums of bools"};
  // Places that are plain indices have the extent of the dim that they index.
  std::vector<std::string> left = places;
  for (size_t i = 0; i < places.size(); ++i) left[i] += fmt::format(" in 0..{}", dims[i]);
  const std::string at = joined(import_indices(x.shape)), type(name_of(x.type));
  std::string text = fmt::format("s: {}[{}] {} V[{}]; ", type, joined(left), how->assign, terms);
  if (reduction == "none") text += fmt::format("c: bool[{}] = true; ", joined(left));
  arguments.push_back({&x, "X", joined(dims)});
  node.importer().make(
      node, 0, x.type, x.shape, arguments, joined(dims),
      fmt::format("{}Y[{}] = {}", text, at, fmt::format(fmt::runtime(how->joined), at)));
}

void import_scatter_elements(const ImportNode& node) {
  const ImportValue &x = node.input(0), &ids = node.input(1), &v = node.input(2);
  const size_t rank = x.shape.size(), axis = import_axis(node.integer("axis", 0), rank);
  if (ids.shape.size() != rank || !(ids.shape == v.shape)) {
    throw Unsupported{"its indices or updates are of another rank"};
  }
  std::vector<std::string> dims, of_ids, terms;
  for (size_t i = 0; i < rank; ++i) {
    dims.push_back(x.shape[i].fixed() ? x.shape[i].text() : import_dim(i));
    const bool same = ids.shape[i] == x.shape[i];
    if (!same && !ids.shape[i].fixed()) throw Unsupported{"fewer updates, as calls tell"};
    of_ids.push_back(same ? dims[i] : ids.shape[i].text());
    terms.push_back(fmt::format("n{}", i));
  }
  std::vector<std::string> places = terms;
  places[axis] = from_end(fmt::format("J[{}]", joined(terms)), dims[axis]);
  // A position that is no plain index is one of the terms.
  for (size_t i = 0; i < rank; ++i) {
    if (i == axis) continue;
    if (of_ids[i] == dims[i]) continue;
    if (ids.shape[i].times > x.shape[i].times)
      throw Unsupported{"more updates than there are places"};
    places[i] = fmt::format("{} + 0", terms[i]);
  }
  make_scatter(node, dims, places, joined(terms),
               {{&ids, "J", joined(of_ids)}, {&v, "V", joined(of_ids)}});
}

/// Indices of several dims in the last dim of `ids`, after `ahead` dims that both have.
struct Tuples {
  size_t ahead = 0, length = 0;
  std::vector<std::string> of_ids;   ///< `D0,N1,2`
  std::vector<std::string> of_rows;  ///< without the last
  std::vector<std::string> at;       ///< the index of each dim of `ids` but the last
  std::vector<std::string> places;   ///< of X, as far as tuples tell
};

Tuples tuples_of(const ImportValue& x, const ImportValue& ids, size_t ahead,
                 const std::vector<std::string>& dims, const std::string& index) {
  if (ids.shape.size() < ahead + 1) throw Unsupported{"its indices have no tuples"};
  Tuples out;
  out.ahead = ahead;
  out.length = static_cast<size_t>(import_fixed(ids.shape.back()));
  if (out.length < 1 || ahead + out.length > x.shape.size()) {
    throw Unsupported{fmt::format("tuples of {} indices", out.length)};
  }
  for (size_t i = 0; i + 1 < ids.shape.size(); ++i) {
    out.of_rows.push_back(i < ahead ? dims[i] : fmt::format("N{}", i));
    out.at.push_back(fmt::format("{}{}", index, i));
    if (i < ahead) out.places.push_back(out.at.back());
  }
  out.of_ids = out.of_rows;
  out.of_ids.push_back(std::to_string(out.length));
  for (size_t k = 0; k < out.length; ++k) {
    std::vector<std::string> at = out.at;
    at.push_back(std::to_string(k));
    out.places.push_back(from_end(fmt::format("J[{}]", joined(at)), dims[ahead + k]));
  }
  return out;
}

void import_scatter_tuples(const ImportNode& node) {
  const ImportValue &x = node.input(0), &ids = node.input(1), &v = node.input(2);
  std::vector<std::string> dims;
  for (size_t i = 0; i < x.shape.size(); ++i) {
    dims.push_back(x.shape[i].fixed() ? x.shape[i].text() : import_dim(i));
  }
  const Tuples t = tuples_of(x, ids, 0, dims, "n");
  std::vector<std::string> of_v = t.of_rows, terms = t.at, places = t.places;
  for (size_t i = t.length; i < x.shape.size(); ++i) {
    of_v.push_back(dims[i]);
    terms.push_back(import_index(i));
    places.push_back(import_index(i));
  }
  if (v.shape.size() != of_v.size()) throw Unsupported{"its updates are of another rank"};
  make_scatter(node, dims, places, joined(terms),
               {{&ids, "J", joined(t.of_ids)}, {&v, "V", joined(of_v)}});
}

void import_gather_tuples(const ImportNode& node) {
  const ImportValue &x = node.input(0), &ids = node.input(1);
  const int64_t ahead = node.integer("batch_dims", 0);
  if (ahead < 0 || ahead >= static_cast<int64_t>(x.shape.size())) {
    throw Unsupported{fmt::format("{} dims of batches", ahead)};
  }
  const std::vector<std::string> dims = import_dims(x.shape);
  const Tuples t = tuples_of(x, ids, static_cast<size_t>(ahead), dims, "i");
  ImportShape shape(ids.shape.begin(), ids.shape.end() - 1);
  std::vector<std::string> out = t.of_rows, at = t.at, places = t.places;
  for (size_t i = t.ahead + t.length; i < x.shape.size(); ++i) {
    at.push_back(import_index(shape.size()));
    places.push_back(at.back());
    out.push_back(dims[i]);
    shape.push_back(x.shape[i]);
  }
  node.importer().make(node, 0, x.type, shape,
                       {{&x, "X", joined(dims)}, {&ids, "J", joined(t.of_ids)}}, joined(out),
                       fmt::format("Y[{}] = X[{}]", joined(at), joined(places)));
}

}  // namespace

std::vector<ImportEntry> rows_of_scatters() {
  return {
      {"GatherND", import_gather_tuples},
      {"Scatter", import_scatter_elements},
      {"ScatterElements", import_scatter_elements},
      {"ScatterND", import_scatter_tuples},
  };
}

}  // namespace hone::ops
