// SPDX-License-Identifier: Apache-2.0
#include "runtime/measure/correlation.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace hone::runtime {
namespace {

/// The ranks of values, from 0 on, less their mean.
std::vector<double> centred_ranks(std::span<const double> values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t x, size_t y) { return values[x] < values[y]; });
  std::vector<double> ranks(values.size());
  const double mean = (static_cast<double>(values.size()) - 1) / 2;
  for (size_t i = 0; i < order.size();) {
    size_t end = i + 1;
    while (end < order.size() && values[order[end]] == values[order[i]]) ++end;
    const double rank = static_cast<double>(i + end - 1) / 2 - mean;
    for (; i < end; ++i) ranks[order[i]] = rank;
  }
  return ranks;
}

}  // namespace

double rank_correlation(std::span<const double> a, std::span<const double> b) {
  if (a.size() != b.size() || a.size() < 2) return 0;
  const std::vector<double> x = centred_ranks(a), y = centred_ranks(b);
  const auto dot = [](const std::vector<double>& u, const std::vector<double>& v) {
    return std::inner_product(u.begin(), u.end(), v.begin(), 0.0);
  };
  const double scale = std::sqrt(dot(x, x) * dot(y, y));
  return scale > 0 ? dot(x, y) / scale : 0;
}

}  // namespace hone::runtime
