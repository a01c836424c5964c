// SPDX-License-Identifier: Apache-2.0
// The language's meaning against plain loops, which share no code with it: what a problem's text
// says is evaluated by the reference, and compared with what a programmer would have written.
#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "jit/interp/data.h"
#include "jit/interp/reference.h"
#include "ops/op.h"

namespace {

using hone::DType;
using hone::jit::TensorView;

using Values = std::vector<double>;

/// The tensors of one problem, filled, and what the reference makes of them.
class Run {
 public:
  Run(const std::string& text, hone::jit::DataSet set, const std::function<void(Run&)>& edit = {}) {
    auto parsed = hone::ops::parse_problem(text);
    REQUIRE_MESSAGE(parsed, (parsed ? "" : parsed.failure().message));
    const hone::ir::Program& p = parsed->program;
    for (const hone::ir::Buffer& b : p.buffers) {
      if (b.role != hone::ir::Role::kTemp) add(b);
    }
    scalars_ = hone::jit::scalar_values(p, 7);
    hone::jit::fill_parameters(p, views_, scalars_, {}, set, 42);
    if (edit) edit(*this);
    for (const hone::ir::Buffer& b : p.buffers) {
      if (b.role != hone::ir::Role::kTemp) before_[b.name] = read(views_[order_.at(b.name)]);
    }
    const auto outcome = hone::jit::evaluate(p, views_, scalars_, {});
    REQUIRE_MESSAGE(outcome, (outcome ? "" : outcome.failure().message));
    bad_ = outcome->bad.has_value();
    for (const auto& t : outcome->outputs) {
      Values v(t.f.begin(), t.f.end());
      for (const int64_t i : t.i) v.push_back(static_cast<double>(i));
      after_[t.name] = std::move(v);
    }
  }

  /// An input, row-major over its logical dims.
  const Values& in(const std::string& name) const { return before_.at(name); }
  double scalar(size_t i) const { return scalars_.at(i); }
  bool bad() const { return bad_; }

  /// Sets one f32 or i64 element of an input, before the run.
  void set(const std::string& name, size_t at, double value) {
    const TensorView& v = views_[order_.at(name)];
    if (v.type == DType::kF32) static_cast<float*>(v.data)[at] = static_cast<float>(value);
    if (v.type == DType::kI64) static_cast<int64_t*>(v.data)[at] = static_cast<int64_t>(value);
  }

  void expect(const std::string& name, const Values& want, double tolerance = 1e-5) const {
    const Values& got = after_.at(name);
    REQUIRE(got.size() == want.size());
    for (size_t i = 0; i < got.size(); ++i) {
      const bool same = got[i] == want[i] || (std::isnan(got[i]) && std::isnan(want[i]));
      const double room = tolerance * std::max(1.0, std::fabs(want[i]));
      CHECK_MESSAGE((same || std::fabs(got[i] - want[i]) <= room),
                    name << "[" << i << "]: " << got[i] << " for " << want[i]);
    }
  }

 private:
  void add(const hone::ir::Buffer& b) {
    TensorView v;
    v.type = b.type;
    int64_t count = 1;
    for (const hone::ir::Expr& e : b.shape) v.shape.push_back(e->i);
    v.strides.resize(v.shape.size());
    std::vector<int> order;
    for (const hone::ir::Axis& a : b.axes) order.push_back(a.dim);
    for (size_t i = 0; order.size() < v.shape.size(); ++i) order.push_back(static_cast<int>(i));
    for (size_t i = order.size(); i-- > 0;) {
      v.strides[order[i]] = count;
      count *= v.shape[order[i]];
    }
    memory_.emplace_back(static_cast<size_t>(count) * hone::size_of(b.type) + 8);
    v.data = memory_.back().data();
    order_[b.name] = views_.size();
    views_.push_back(std::move(v));
  }

  static Values read(const TensorView& v) {
    Values out;
    std::vector<int64_t> at(v.shape.size(), 0);
    for (int64_t n = v.elements(); n > 0; --n) {
      int64_t offset = 0;
      for (size_t d = 0; d < at.size(); ++d) offset += at[d] * v.strides[d];
      if (v.type == DType::kF32) out.push_back(static_cast<const float*>(v.data)[offset]);
      if (v.type == DType::kI64) {
        out.push_back(static_cast<double>(static_cast<const int64_t*>(v.data)[offset]));
      }
      if (v.type == DType::kI8) out.push_back(static_cast<const int8_t*>(v.data)[offset]);
      for (size_t d = at.size(); d-- > 0 && ++at[d] == v.shape[d];) at[d] = 0;
    }
    return out;
  }

  std::vector<std::vector<char>> memory_;
  std::vector<TensorView> views_;
  std::vector<double> scalars_;
  std::map<std::string, size_t> order_;
  std::map<std::string, Values> before_, after_;
  bool bad_ = false;
};

constexpr auto kRandom = hone::jit::DataSet::kRandom;
constexpr auto kIntegers = hone::jit::DataSet::kIntegers;

}  // namespace

TEST_CASE("oracle: products of matrices, in every storage order") {
  const int M = 5, N = 7, K = 6;
  for (const char* layout : {"", " A@K,M", " B@N,K", " C@N,M A@K,M"}) {
    const Run r(std::string("matmul M=5 N=7 K=6") + layout, kRandom);
    Values c(M * N, 0.0);
    for (int m = 0; m < M; ++m) {
      for (int n = 0; n < N; ++n) {
        for (int k = 0; k < K; ++k) c[m * N + n] += r.in("A")[m * K + k] * r.in("B")[k * N + n];
      }
    }
    r.expect("C", c);
  }
}

TEST_CASE("oracle: accumulating and batched products, 8-bit ones in i32") {
  const Run acc("matmul_acc M=3 N=4 K=2", kRandom);
  Values c = acc.in("C");
  for (int i = 0; i < 24; ++i) {
    const int m = i / 8, n = i / 2 % 4, k = i % 2;
    c[m * 4 + n] += acc.in("A")[m * 2 + k] * acc.in("B")[k * 4 + n];
  }
  acc.expect("C", c);

  const Run batched("batched_matmul B=2 M=3 N=4 K=5", kRandom);
  Values d(24, 0.0);
  for (int b = 0; b < 2; ++b) {
    for (int m = 0; m < 3; ++m) {
      for (int n = 0; n < 4; ++n) {
        for (int k = 0; k < 5; ++k) {
          d[(b * 3 + m) * 4 + n] +=
              batched.in("A")[(b * 3 + m) * 5 + k] * batched.in("W")[(b * 5 + k) * 4 + n];
        }
      }
    }
  }
  batched.expect("C", d);

  const Run i8("matmul_i8 M=2 N=3 K=40", kIntegers);
  Values e(6, 0.0);
  for (int m = 0; m < 2; ++m) {
    for (int n = 0; n < 3; ++n) {
      for (int k = 0; k < 40; ++k) e[m * 3 + n] += i8.in("A")[m * 40 + k] * i8.in("B")[k * 3 + n];
    }
  }
  i8.expect("C", e, 0);
}

TEST_CASE("oracle: a layer with gelu") {
  const Run r("fc_gelu M=3 N=4 K=5", kRandom);
  Values y;
  for (int m = 0; m < 3; ++m) {
    for (int n = 0; n < 4; ++n) {
      double x = r.in("b")[n];
      for (int k = 0; k < 5; ++k) x += r.in("A")[m * 5 + k] * r.in("W")[k * 4 + n];
      y.push_back(0.5 * x * (1 + std::erf(x / std::sqrt(2.0))));
    }
  }
  r.expect("Y", y);
}

TEST_CASE("oracle: convolution with stride, padding, dilation and groups") {
  const int C = 3, H = 9, W = 8, O = 2, R = 3, S = 2, P = 1, D = 2;
  const int OH = (H + 2 * P - D * (R - 1) - 1) / S + 1, OW = (W + 2 * P - D * (R - 1) - 1) / S + 1;
  for (int G : {1, 2}) {
    const std::string op = G == 1 ? "conv2d" : "group_conv2d G=2";
    const Run r(op + " N=1 C=3 H=9 W=8 O=2 R=3 Q=3 S=2 P=1 D=2", kRandom);
    Values y;
    for (int g = 0; g < G; ++g) {
      for (int o = 0; o < O; ++o) {
        for (int h = 0; h < OH; ++h) {
          for (int w = 0; w < OW; ++w) {
            double sum = r.in("b")[g * O + o];
            for (int i = 0; i < C * R * R; ++i) {
              const int c = i / (R * R), rr = i / R % R, q = i % R;
              const int y0 = h * S + rr * D - P, x0 = w * S + q * D - P;
              if (y0 < 0 || y0 >= H || x0 < 0 || x0 >= W) continue;
              sum += r.in("X")[((g * C + c) * H + y0) * W + x0] *
                     r.in("F")[((g * O + o) * C + c) * R * R + rr * R + q];
            }
            y.push_back(sum);
          }
        }
      }
    }
    r.expect("Y", y);
  }
}

TEST_CASE("oracle: pooling") {
  const Run most("max_pool2d N=1 C=2 H=7 W=6 A=3 B=3 S=2 P=1", kRandom);
  const Run mean("avg_pool2d N=1 C=2 H=7 W=6 A=3 B=3 S=2 P=1", kRandom);
  Values a, b;
  for (int c = 0; c < 2; ++c) {
    for (int h = 0; h < 4; ++h) {
      for (int w = 0; w < 3; ++w) {
        double best = -INFINITY, sum = 0;
        for (int y = h * 2 - 1; y < h * 2 + 2; ++y) {
          for (int x = w * 2 - 1; x < w * 2 + 2; ++x) {
            if (y < 0 || x < 0 || y >= 7 || x >= 6) continue;
            best = std::max(best, most.in("X")[(c * 7 + y) * 6 + x]);
            sum += mean.in("X")[(c * 7 + y) * 6 + x];
          }
        }
        a.push_back(best);
        b.push_back(sum / 9);
      }
    }
  }
  most.expect("Y", a, 0);
  mean.expect("Y", b);
}

TEST_CASE("oracle: softmax and layernorm") {
  const int M = 3, N = 11;
  const Run s("softmax M=3 N=11", kRandom);
  const Run l("layernorm M=3 N=11", kRandom);
  Values a, b;
  for (int i = 0; i < M; ++i) {
    double top = -INFINITY, sum = 0, mean = 0, var = 0;
    for (int j = 0; j < N; ++j) top = std::max(top, s.in("X")[i * N + j]);
    for (int j = 0; j < N; ++j) sum += std::exp(s.in("X")[i * N + j] - top);
    for (int j = 0; j < N; ++j) a.push_back(std::exp(s.in("X")[i * N + j] - top) / sum);
    for (int j = 0; j < N; ++j) mean += l.in("X")[i * N + j] / N;
    for (int j = 0; j < N; ++j) var += std::pow(l.in("X")[i * N + j] - mean, 2) / N;
    for (int j = 0; j < N; ++j) {
      b.push_back((l.in("X")[i * N + j] - mean) / std::sqrt(var + l.scalar(0)) * l.in("g")[j] +
                  l.in("b")[j]);
    }
  }
  s.expect("Y", a);
  l.expect("Y", b, 1e-4);
}

TEST_CASE("oracle: argmax takes the first of equals, and a NaN before all") {
  const Run plain("row_argmax M=1 N=6", kIntegers, [](Run& r) {
    const double row[] = {1, 5, 2, 5, 5, 0};
    for (int j = 0; j < 6; ++j) r.set("X", j, row[j]);
  });
  plain.expect("Y", {1});
  const Run nan("row_argmax M=1 N=6", kIntegers, [](Run& r) {
    const double row[] = {1, 5, NAN, 9, NAN, 0};
    for (int j = 0; j < 6; ++j) r.set("X", j, row[j]);
  });
  nan.expect("Y", {2});
  const Run least("row_argmin M=1 N=4", kIntegers, [](Run& r) {
    const double row[] = {1, -5, -5, 9};
    for (int j = 0; j < 4; ++j) r.set("X", j, row[j]);
  });
  least.expect("Y", {1});
}

TEST_CASE("oracle: permutations, padding, concatenation") {
  const Run t("transpose M=3 N=4", kRandom);
  const Run p("pad M=2 N=3 P=2", kRandom);
  const Run c("concat M=2 N=3 L=2", kRandom);
  const Run s("pixel_shuffle N=1 C=1 H=2 W=3", kRandom);
  Values a, b, d, e;
  for (int j = 0; j < 4; ++j) {
    for (int i = 0; i < 3; ++i) a.push_back(t.in("X")[i * 4 + j]);
  }
  for (int i = 0; i < 2; ++i) {
    for (int j = -2; j < 5; ++j) {
      b.push_back(j < 0 || j >= 3 ? p.scalar(0) : p.in("X")[i * 3 + j]);
    }
    for (int j = 0; j < 3; ++j) d.push_back(c.in("A")[i * 3 + j]);
    for (int j = 0; j < 2; ++j) d.push_back(c.in("B")[i * 2 + j]);
  }
  for (int y = 0; y < 4; ++y) {
    for (int x = 0; x < 6; ++x) {
      e.push_back(s.in("X")[(y % 2 * 2 + x % 2) * 6 + y / 2 * 3 + x / 2]);
    }
  }
  t.expect("Y", a, 0);
  p.expect("Y", b, 1e-6);
  c.expect("Y", d, 0);
  s.expect("Y", e, 0);
}

TEST_CASE("oracle: bags of rows, and what bad ids and offsets do") {
  const Run r("embedding_bag R=9 D=3 L=10 B=4", kRandom);
  Values y;
  for (int b = 0; b < 4; ++b) {
    for (int d = 0; d < 3; ++d) {
      double sum = 0;
      for (auto j = static_cast<int>(r.in("offs")[b]); j < r.in("offs")[b + 1]; ++j) {
        sum += r.in("E")[static_cast<int>(r.in("ids")[j]) * 3 + d];
      }
      y.push_back(sum);
    }
  }
  CHECK_FALSE(r.bad());
  r.expect("Y", y);
  CHECK(Run("embedding_bag R=9 D=3 L=10 B=4", kRandom, [](Run& x) { x.set("ids", 4, 9); }).bad());
  CHECK(Run("embedding_bag R=9 D=3 L=10 B=4", kRandom, [](Run& x) { x.set("offs", 4, 11); }).bad());
  const Run zero("gather_rows_or_zero R=9 D=2 N=3", kRandom, [](Run& x) {
    x.set("ids", 0, 8);
    x.set("ids", 1, -1);
    x.set("ids", 2, 9);
  });
  CHECK_FALSE(zero.bad());
  zero.expect("Y", {zero.in("E")[16], zero.in("E")[17], 0, 0, 0, 0}, 0);
}

TEST_CASE("oracle: attention, whole and causal") {
  const int H = 2, S = 5, D = 3;
  for (const bool causal : {false, true}) {
    const Run r(causal ? "causal_attention B=1 H=2 S=5 D=3" : "attention B=1 H=2 S=5 L=5 D=3",
                kRandom);
    Values out;
    for (int h = 0; h < H; ++h) {
      for (int i = 0; i < S; ++i) {
        const int end = causal ? i + 1 : S;
        Values score;
        double top = -INFINITY, sum = 0;
        for (int j = 0; j < end; ++j) {
          double dot = 0;
          for (int d = 0; d < D; ++d) {
            dot += r.in("Q")[(h * S + i) * D + d] * r.in("K")[(h * S + j) * D + d];
          }
          score.push_back(dot * r.scalar(0));
          top = std::max(top, score.back());
        }
        for (double& s : score) sum += s = std::exp(s - top);
        for (int d = 0; d < D; ++d) {
          double o = 0;
          for (int j = 0; j < end; ++j) o += score[j] / sum * r.in("V")[(h * S + j) * D + d];
          out.push_back(o);
        }
      }
    }
    r.expect("O", out, 1e-4);
  }
}

TEST_CASE("oracle: every small case of the library evaluates on every kind of data") {
  for (const hone::ops::Case& c : hone::ops::stock_library().cases) {
    if (!c.small || c.problem.find("..") != std::string::npos ||
        c.problem.find("stride") != std::string::npos) {
      continue;
    }
    CAPTURE(c.problem);
    for (const auto set : {kIntegers, kRandom, hone::jit::DataSet::kSpecial}) {
      CHECK_FALSE(Run(c.problem, set).bad());
    }
  }
}
