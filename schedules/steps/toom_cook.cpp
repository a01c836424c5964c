// SPDX-License-Identifier: Apache-2.0
#include "schedules/steps/toom_cook.h"

#include <utility>

namespace hone::schedules {
namespace {

using Polynomial = std::vector<int64_t>;  ///< factors of x to the power of 0, 1, 2 ...

/// Points that are the negative of one another are neighbours.
int64_t point(int64_t i) { return i % 2 == 0 ? -(i / 2) : (i + 1) / 2; }

/// `p` times (x - root).
Polynomial times_root(const Polynomial& p, int64_t root) {
  Polynomial out(p.size() + 1);
  for (size_t i = 0; i < p.size(); ++i) {
    out[i + 1] += p[i];
    out[i] -= root * p[i];
  }
  return out;
}

/// 1, x, x*x ... at point `i`; at infinity the highest power alone counts.
std::vector<int64_t> powers(int64_t i, int64_t finite, int64_t count) {
  std::vector<int64_t> out;
  int64_t power = 1;
  for (int64_t k = 0; k < count; ++k, power *= point(i)) {
    out.push_back(i < finite ? power : k == count - 1);
  }
  return out;
}

/// Makes the first even factor positive, so that rows of opposite points have the same ones.
void settle_sign(Polynomial& row, int64_t& divisor) {
  for (size_t i = 0; i < row.size(); i += 2) {
    if (row[i] == 0) continue;
    if (row[i] > 0) return;
    for (int64_t& c : row) c = -c;
    divisor = -divisor;
    return;
  }
}

}  // namespace

ToomCook toom_cook(int64_t outputs, int64_t taps) {
  const int64_t products = outputs + taps - 1, finite = products - 1;
  ToomCook out;
  out.result.resize(static_cast<size_t>(outputs));
  for (int64_t u = 0; u < products; ++u) {
    // The polynomial that is 0 at all other points, and its value at this one.
    Polynomial row = {1};
    int64_t divisor = 1;
    for (int64_t v = 0; v < finite; ++v) {
      if (v == u) continue;
      row = times_root(row, point(v));
      if (u < finite) divisor *= point(u) - point(v);
    }
    row.resize(static_cast<size_t>(products));
    settle_sign(row, divisor);
    out.data.push_back(std::move(row));
    out.filter.push_back(powers(u, finite, taps));
    out.divisors.push_back(divisor);
    const std::vector<int64_t> result = powers(u, finite, outputs);
    for (size_t i = 0; i < result.size(); ++i) out.result[i].push_back(result[i]);
  }
  return out;
}

}  // namespace hone::schedules
