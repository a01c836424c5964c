// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>

#include "tests/diff/plain.h"

using namespace hone::tests;
using Index = std::vector<int64_t>;

TEST_CASE("plain: sums of all that came before, and of all that comes after") {
  for_each_data_set("row_cumsum M=4 N=21", [](const Plain& p) {
    p.check("Y", [&](const Index& i) {
      double sum = 0;
      for (int64_t j = 0; j <= i[1]; ++j) sum = p.at("X", {i[0], j}) + sum;
      return sum;
    });
  });
  for_each_data_set("row_cumsum_backward M=4 N=21", [](const Plain& p) {
    p.check("Y", [&](const Index& i) {
      double sum = 0;
      for (int64_t j = 20; j >= i[1]; --j) sum = p.at("X", {i[0], j}) + sum;
      return sum;
    });
  });
}

TEST_CASE("plain: a filter that goes on from its own results") {
  for_each_data_set("biquad M=3 N=10", [](const Plain& p) {
    p.check("Y", [&](const Index& i) {
      double before = 0, last = 0;
      for (int64_t t = 0; t <= i[1]; ++t) {
        double y = p.at("b", {0}) * p.at("X", {i[0], t});
        if (t >= 1) y += p.at("b", {1}) * p.at("X", {i[0], t - 1});
        if (t >= 2) y += p.at("b", {2}) * p.at("X", {i[0], t - 2});
        y -= p.at("a", {0}) * last + p.at("a", {1}) * before;
        before = last;
        last = y;
      }
      return last;
    });
  });
}

TEST_CASE("plain: edits that make one text of another") {
  for_each_data_set("edit_distance M=9 N=7", [](const Plain& p) {
    p.check("D", [&](const Index& at) {
      std::vector<double> row;
      for (int64_t j = 0; j <= 7; ++j) row.push_back(static_cast<double>(j));
      for (int64_t i = 1; i <= at[0]; ++i) {
        double across = row[0];
        row[0] = static_cast<double>(i);
        for (size_t j = 1; j <= 7; ++j) {
          const bool same = p.at("A", {i - 1}) == p.at("B", {static_cast<int64_t>(j) - 1});
          const double changed = across + (same ? 0 : 1);
          across = row[j];
          row[j] = std::min({row[j] + 1, row[j - 1] + 1, changed});
        }
      }
      return row[static_cast<size_t>(at[1])];
    });
  });
}
