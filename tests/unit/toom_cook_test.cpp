// SPDX-License-Identifier: Apache-2.0
// Results from combinations are sums of products, whatever the numbers of results and taps.
#include "schedules/steps/toom_cook.h"

#include <doctest/doctest.h>

#include <cstddef>
#include <vector>

using namespace hone;

namespace {

double dot(const std::vector<int64_t>& factors, const std::vector<double>& values) {
  REQUIRE(factors.size() == values.size());
  double out = 0;
  for (size_t i = 0; i < factors.size(); ++i) out += static_cast<double>(factors[i]) * values[i];
  return out;
}

}  // namespace

TEST_CASE("Toom-Cook: combinations give what the sums are") {
  int checked = 0;
  for (int64_t outputs = 2; outputs <= 5; ++outputs) {
    for (int64_t taps = 2; outputs + taps - 1 <= schedules::kMostProducts; ++taps) {
      CAPTURE(outputs);
      CAPTURE(taps);
      const schedules::ToomCook rows = schedules::toom_cook(outputs, taps);
      const auto products = static_cast<size_t>(outputs + taps - 1);
      REQUIRE(rows.data.size() == products);
      REQUIRE(rows.filter.size() == products);
      REQUIRE(rows.divisors.size() == products);
      std::vector<double> data, filter;
      for (size_t i = 0; i < products; ++i)
        data.push_back(static_cast<double>((7 * i * i) % 11) - 4);
      for (int64_t r = 0; r < taps; ++r) filter.push_back(static_cast<double>(3 * r - 2));
      std::vector<double> made;
      for (size_t u = 0; u < products; ++u) {
        const double weight = dot(rows.filter[u], filter) / static_cast<double>(rows.divisors[u]);
        made.push_back(dot(rows.data[u], data) * weight);
      }
      for (int64_t i = 0; i < outputs; ++i) {
        double sum = 0;
        for (int64_t r = 0; r < taps; ++r) {
          sum += filter[static_cast<size_t>(r)] * data[static_cast<size_t>(i + r)];
        }
        CHECK(dot(rows.result[static_cast<size_t>(i)], made) ==
              doctest::Approx(sum).epsilon(1e-12));
        ++checked;
      }
    }
  }
  CHECK(checked == 4 * 2 + 3 * 3 + 2 * 4 + 5);
}

TEST_CASE("Toom-Cook: rows of opposite points share both halves") {
  const schedules::ToomCook rows = schedules::toom_cook(4, 3);
  for (const size_t u : {1, 3}) {
    for (size_t i = 0; i < rows.data[u].size(); ++i) {
      CHECK(rows.data[u][i] == (i % 2 == 0 ? 1 : -1) * rows.data[u + 1][i]);
    }
  }
}
