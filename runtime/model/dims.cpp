// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <sstream>

#include "jit/ir/spelling.h"
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
    const bool bound =
        std::any_of(dims.begin(), dims.end(), [&](const ir::Dim& d) { return d.name == name; });
    if (!bound) open += (open.empty() ? "" : ", ") + name;
  }
  if (open.empty()) return dims;
  return Failure{ErrorCode::kArgument,
                 fmt::format("dims of `{}` are not bound: {}; `B=8` is one value, `B=1..64` what "
                             "calls tell",
                             graph.name, open)};
}

}  // namespace hone::runtime
