// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cmath>

#include "tests/diff/plain.h"

using namespace hone::tests;
using Index = std::vector<int64_t>;

namespace {

std::vector<double> row(const Plain& p, int64_t i, int64_t n) {
  std::vector<double> out;
  for (int64_t j = 0; j < n; ++j) out.push_back(p.at("X", {i, j}));
  return out;
}

double greatest(const std::vector<double>& values) {
  double top = -INFINITY;
  for (double v : values) {
    if (v != v) return v;
    top = std::fmax(top, v);
  }
  return top;
}

}  // namespace

TEST_CASE("plain: rows made to sum to one") {
  for_each_data_set("softmax M=6 N=17", [](const Plain& p) {
    p.check("Y", [&](const Index& i) {
      const std::vector<double> x = row(p, i[0], 17);
      const double top = greatest(x);
      double total = 0;
      for (double v : x) total += std::exp(v - top);
      return std::exp(x[static_cast<size_t>(i[1])] - top) / total;
    });
  });
}

TEST_CASE("plain: rows normalised by mean and variance") {
  for_each_data_set("layernorm M=6 N=17", [](const Plain& p) {
    p.check("Y", [&](const Index& i) {
      const std::vector<double> x = row(p, i[0], 17);
      double mean = 0, variance = 0;
      for (double v : x) mean += v;
      mean /= 17;
      for (double v : x) variance += (v - mean) * (v - mean);
      variance /= 17;
      const double scale = 1 / std::sqrt(variance + p.at("eps"));
      return (x[static_cast<size_t>(i[1])] - mean) * scale * p.at("g", {i[1]}) + p.at("b", {i[1]});
    });
  });
}

TEST_CASE("plain: sums, maxima, positions of maxima and tests of rows") {
  for_each_data_set("row_sum M=5 N=133", [](const Plain& p) {
    p.check("Y", [&](const Index& i) {
      double sum = 0;
      for (double v : row(p, i[0], 133)) sum += v;
      return sum;
    });
  });
  for_each_data_set("row_max M=5 N=133", [](const Plain& p) {
    p.check("Y", [&](const Index& i) { return greatest(row(p, i[0], 133)); });
  });
  for_each_data_set("row_argmax M=5 N=133", [](const Plain& p) {
    p.check("Y", [&](const Index& i) {
      const std::vector<double> x = row(p, i[0], 133);
      size_t best = 0;
      for (size_t j = 0; j < x.size(); ++j) {
        // The lowest index among equals; the first NaN beats everything.
        if (x[best] != x[best]) break;
        if (x[j] != x[j] || x[j] > x[best]) best = j;
      }
      return static_cast<double>(best);
    });
  });
  for_each_data_set("row_any_nan M=5 N=37", [](const Plain& p) {
    p.check("Y", [&](const Index& i) {
      bool any = false;
      for (double v : row(p, i[0], 37)) any = any || std::isnan(v);
      return any ? 1.0 : 0.0;
    });
  });
  for_each_data_set("column_mean M=35 N=37", [](const Plain& p) {
    p.check("Y", [&](const Index& i) {
      double sum = 0;
      for (int64_t m = 0; m < 35; ++m) sum += p.at("X", {m, i[0]});
      return sum / 35;
    });
  });
}

TEST_CASE("plain: pooling by the greatest and by the mean") {
  const auto window = [](const Plain& p, const Index& i, double outside) {
    std::vector<double> out;
    for (int64_t r = 0; r < 3; ++r) {
      for (int64_t q = 0; q < 3; ++q) {
        const int64_t y = i[2] * 2 + r - 1, x = i[3] * 2 + q - 1;
        const bool inside = y >= 0 && y < 7 && x >= 0 && x < 9;
        out.push_back(inside ? p.at("X", {i[0], i[1], y, x}) : outside);
      }
    }
    return out;
  };
  for_each_data_set("max_pool2d N=1 C=2 H=7 W=9 A=3 B=3 P=1", [&](const Plain& p) {
    p.check("Y", [&](const Index& i) { return greatest(window(p, i, -INFINITY)); });
  });
  for_each_data_set("avg_pool2d N=1 C=2 H=7 W=9 A=3 B=3 P=1", [&](const Plain& p) {
    p.check("Y", [&](const Index& i) {
      double sum = 0;
      for (double v : window(p, i, 0)) sum += v;
      return sum / 9;
    });
  });
}
