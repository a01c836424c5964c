// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <sstream>

#include "jit/ir/spelling.h"
#include "ops/graph/extent_range.h"
#include "runtime/model/model_state.h"

namespace hone::runtime {
namespace {

/// The whole of `text` as a number of elements.
std::optional<int64_t> number(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && value >= 0 ? std::optional(value) : std::nullopt;
}

/// `B=8` or `B=1..64`.
Result<ir::Dim> bind_dim(const std::string& word) {
  const size_t sign = word.find('=');
  const std::string_view values =
      std::string_view(word).substr(sign == word.npos ? word.size() : sign + 1);
  const size_t dots = values.find("..");
  const auto lo = number(values.substr(0, dots));
  const auto hi = dots == values.npos ? lo : number(values.substr(dots + 2));
  if (sign == word.npos || !lo || !hi || *hi < *lo) {
    return Failure{ErrorCode::kArgument,
                   fmt::format("`{}` binds no dim; `B=8` and `B=1..64` do", word)};
  }
  return ir::Dim{word.substr(0, sign), *lo, *hi, {}};
}

bool is_bound(const std::vector<ir::Dim>& dims, const std::string& name) {
  return std::any_of(dims.begin(), dims.end(), [&](const ir::Dim& d) { return d.name == name; });
}

/// Dims with those that data tell: each from 0 to its largest value.
Result<std::vector<ir::Dim>> with_data_dims(const ops::Graph& graph, std::vector<ir::Dim> dims) {
  for (const ops::DataDim& d : graph.data_dims) {
    if (is_bound(dims, d.name)) continue;
    const auto range = ops::range_of_extent(d.most, dims);
    if (!range) {
      return Failure{ErrorCode::kArgument,
                     fmt::format("data tell {} of `{}`, which is at most {}: no number of 64 bits; "
                                 "bind it to a range, as in `{}=0..100`",
                                 d.name, graph.name, ir::print(d.most), d.name)};
    }
    dims.push_back({d.name, 0, std::max<int64_t>(range->hi, 0), {}});
  }
  return dims;
}

}  // namespace

Result<std::vector<ir::Dim>> bind_dims(const ops::Graph& graph, const std::string& words) {
  std::vector<ir::Dim> dims;
  std::istringstream stream(words);
  for (std::string word; stream >> word;) {
    auto dim = bind_dim(word);
    if (!dim) return dim.failure();
    const bool there =
        std::find(graph.dims.begin(), graph.dims.end(), dim->name) != graph.dims.end();
    const bool again = std::any_of(dims.begin(), dims.end(),
                                   [&](const ir::Dim& d) { return d.name == dim->name; });
    if (!there || again) {
      return Failure{ErrorCode::kArgument,
                     fmt::format("`{}`: {}; dims of `{}` are {}{}", word,
                                 again ? "the dim is bound already" : "there is no such dim",
                                 graph.name, fmt::join(graph.dims, ", "),
                                 again ? "" : ir::did_you_mean(dim->name, graph.dims))};
    }
    dims.push_back(std::move(*dim));
  }
  std::string open;
  for (const std::string& name : graph.dims) {
    const bool by_data = std::any_of(graph.data_dims.begin(), graph.data_dims.end(),
                                     [&](const ops::DataDim& d) { return d.name == name; });
    if (!by_data && !is_bound(dims, name)) open += (open.empty() ? "" : ", ") + name;
  }
  if (open.empty()) return with_data_dims(graph, std::move(dims));
  return Failure{ErrorCode::kArgument,
                 fmt::format("dims of `{}` are not bound: {}; `B=8` is one value, `B=1..64` what "
                             "calls tell",
                             graph.name, open)};
}

}  // namespace hone::runtime
