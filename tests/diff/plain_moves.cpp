// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/diff/plain.h"

using namespace hone::tests;
using Index = std::vector<int64_t>;

TEST_CASE("plain: elements that change places") {
  for_each_data_set("transpose M=17 N=33", [](const Plain& p) {
    p.check("Y", [&](const Index& i) { return p.at("X", {i[1], i[0]}); });
  });
  for_each_data_set("nchw_to_nhwc N=2 C=3 H=5 W=7", [](const Plain& p) {
    p.check("Y", [&](const Index& i) { return p.at("X", {i[0], i[3], i[1], i[2]}); });
  });
  for_each_data_set("pixel_shuffle N=1 C=3 H=4 W=5", [](const Plain& p) {
    p.check("Y", [&](const Index& i) {
      const int64_t c = (i[1] * 2 + i[2] % 2) * 2 + i[3] % 2;
      return p.at("X", {i[0], c, i[2] / 2, i[3] / 2});
    });
  });
  for_each_data_set("pad M=3 N=17 P=2", [](const Plain& p) {
    p.check("Y", [&](const Index& i) {
      const int64_t j = i[1] - 2;
      return j >= 0 && j < 17 ? p.at("X", {i[0], j}) : p.at("v");
    });
  });
}

TEST_CASE("plain: sums of gathered rows") {
  for_each_data_set("embedding_bag R=20 D=17 L=30 B=6", [](const Plain& p) {
    p.check("Y", [&](const Index& i) {
      double sum = 0;
      const auto end = static_cast<int64_t>(p.at("offs", {i[0] + 1}));
      for (auto j = static_cast<int64_t>(p.at("offs", {i[0]})); j < end; ++j) {
        sum += p.at("E", {static_cast<int64_t>(p.at("ids", {j})), i[1]});
      }
      return sum;
    });
  });
  for_each_data_set("embedding_bag_u8 R=20 D=17 L=30 B=6", [](const Plain& p) {
    p.check("Y", [&](const Index& i) {
      double sum = 0;
      const auto end = static_cast<int64_t>(p.at("offs", {i[0] + 1}));
      for (auto j = static_cast<int64_t>(p.at("offs", {i[0]})); j < end; ++j) {
        const auto id = static_cast<int64_t>(p.at("ids", {j}));
        sum += p.at("E", {id, i[1]}) * p.at("scale", {id}) + p.at("bias", {id});
      }
      return sum;
    });
  });
}

namespace {

/// Truncated and kept inside the type; NaN is 0.
template <class T>
double truncated(double x) {
  if (std::isnan(x)) return 0;
  const double low = static_cast<double>(std::numeric_limits<T>::min());
  const double high = static_cast<double>(std::numeric_limits<T>::max());
  return std::clamp(std::trunc(x), low, high);
}

}  // namespace

TEST_CASE("plain: conversions between types") {
  for_each_data_set("convert N=200 T=f32 U=i32", [](const Plain& p) {
    p.check("Y", [&](const Index& i) { return truncated<int32_t>(p.at("X", i)); });
  });
  for_each_data_set("convert N=200 T=f32 U=u8", [](const Plain& p) {
    p.check("Y", [&](const Index& i) { return truncated<uint8_t>(p.at("X", i)); });
  });
  for_each_data_set("convert N=200 T=i32 U=i8", [](const Plain& p) {
    p.check("Y", [&](const Index& i) {
      return static_cast<double>(static_cast<int8_t>(static_cast<int32_t>(p.at("X", i))));
    });
  });
  for_each_data_set("convert N=200 T=i64 U=f32", [](const Plain& p) {
    p.check("Y", [&](const Index& i) { return p.at("X", i); });
  });
  for_each_data_set("convert N=200 T=f64 U=f32", [](const Plain& p) {
    p.check("Y", [&](const Index& i) { return static_cast<float>(p.at("X", i)); });
  });
}

TEST_CASE("plain: integer division and remainder round down") {
  for_each_data_set("div N=200 T=i32", [](const Plain& p) {
    p.check("Y", [&](const Index& i) {
      const double a = p.at("A", i), b = p.at("B", i);
      if (b == 0) return 0.0;
      // The one quotient that does not fit wraps around.
      return a == -2147483648.0 && b == -1 ? a : std::floor(a / b);
    });
  });
  for_each_data_set("mod N=200 T=i16", [](const Plain& p) {
    p.check("Y", [&](const Index& i) {
      const double a = p.at("A", i), b = p.at("B", i);
      return b == 0 ? 0.0 : a - b * std::floor(a / b);
    });
  });
}
