// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <array>
#include <cmath>

#include "tests/diff/plain.h"

using namespace hone::tests;
using Index = std::vector<int64_t>;

TEST_CASE("plain: a product of matrices, in two storage orders") {
  for (const char* problem : {"matmul M=7 N=33 K=13", "matmul M=6 N=20 K=9 B@N,K"}) {
    const int64_t depth = std::string(problem).find("K=13") != std::string::npos ? 13 : 9;
    for_each_data_set(problem, [&](const Plain& p) {
      p.check("C", [&](const Index& i) {
        double sum = 0;
        for (int64_t k = 0; k < depth; ++k) sum += p.at("A", {i[0], k}) * p.at("B", {k, i[1]});
        return sum;
      });
    });
  }
}

TEST_CASE("plain: a product added to what is there") {
  for_each_data_set("gemm M=5 N=9 K=11", [](const Plain& p) {
    p.check("C", [&](const Index& i) {
      double sum = 0;
      for (int64_t k = 0; k < 11; ++k) sum += p.at("A", {i[0], k}) * p.at("B", {k, i[1]});
      return p.at("alpha") * sum + p.at("beta") * p.at("C", i);
    });
  });
}

TEST_CASE("plain: bytes multiplied into 32-bit sums") {
  for_each_data_set("matmul_i8 M=4 N=7 K=50", [](const Plain& p) {
    p.check("C", [&](const Index& i) {
      int32_t sum = 0;
      for (int64_t k = 0; k < 50; ++k) {
        sum +=
            static_cast<int32_t>(p.at("A", {i[0], k})) * static_cast<int32_t>(p.at("B", {k, i[1]}));
      }
      return static_cast<double>(sum);
    });
  });
}

TEST_CASE("plain: a layer with its activation") {
  for_each_data_set("fc_gelu M=5 N=33 K=7 const=W", [](const Plain& p) {
    p.check("Y", [&](const Index& i) {
      double x = p.at("b", {i[1]});
      for (int64_t k = 0; k < 7; ++k) x += p.at("A", {i[0], k}) * p.at("W", {k, i[1]});
      if (x == -INFINITY) return -0.0;
      return x * 0.5 * (1 + std::erf(x / std::sqrt(2.0)));
    });
  });
}

TEST_CASE("plain: convolution with padding, stride and dilation") {
  for (const auto& [stride, pad, dilation] :
       {std::array<int64_t, 3>{1, 1, 1}, std::array<int64_t, 3>{2, 1, 1},
        std::array<int64_t, 3>{1, 2, 2}}) {
    const int64_t s = stride, z = pad, d = dilation;
    const std::string text = "conv2d N=2 C=3 H=8 W=9 O=4 R=3 Q=3 S=" + std::to_string(s) +
                             " P=" + std::to_string(z) + " D=" + std::to_string(d);
    for_each_data_set(text, [&](const Plain& p) {
      p.check("Y", [&](const Index& i) {
        double sum = 0;
        for (int64_t c = 0; c < 3; ++c) {
          for (int64_t r = 0; r < 3; ++r) {
            for (int64_t q = 0; q < 3; ++q) {
              const int64_t y = i[2] * s + r * d - z, x = i[3] * s + q * d - z;
              const bool inside = y >= 0 && y < 8 && x >= 0 && x < 9;
              sum += (inside ? p.at("X", {i[0], c, y, x}) : 0) * p.at("F", {i[1], c, r, q});
            }
          }
        }
        return sum + p.at("b", {i[1]});
      });
    });
  }
}

TEST_CASE("plain: attention, whole and causal") {
  const auto attend = [](const Plain& p, const Index& i, int64_t keys) {
    std::vector<double> scores;
    double top = -INFINITY, total = 0, sum = 0;
    for (int64_t j = 0; j < keys; ++j) {
      double dot = 0;
      for (int64_t d = 0; d < 8; ++d) {
        dot += p.at("Q", {i[0], i[1], i[2], d}) * p.at("K", {i[0], i[1], j, d});
      }
      scores.push_back(dot * p.at("scale"));
      if (scores.back() > top || scores.back() != scores.back()) top = scores.back();
      if (top != top) break;
    }
    for (int64_t j = 0; j < keys && top == top; ++j) {
      const double e = std::exp(scores[static_cast<size_t>(j)] - top);
      total += e;
      sum += e * p.at("V", {i[0], i[1], j, i[3]});
    }
    return top == top ? sum / total : top;
  };
  for_each_data_set("attention B=1 H=2 S=5 L=7 D=8", [&](const Plain& p) {
    p.check("O", [&](const Index& i) { return attend(p, i, 7); });
  });
  for_each_data_set("causal_attention B=1 H=2 S=9 D=8", [&](const Plain& p) {
    p.check("O", [&](const Index& i) { return attend(p, i, i[2] + 1); });
  });
}
