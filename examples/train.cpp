// SPDX-License-Identifier: Apache-2.0
// A perceptron is trained: the graph of its gradients is derived from the graph of its loss.
// Weights are f32, and f16 where they are multiplied. Gradients are of the loss times a scale; a
// step whose gradients overflow is left out. Labels are those of another perceptron, so they can be
// learnt.
#include <hone/hone.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

namespace {

// One row of digits is an image, and there are `kBatch` of them in a step.
constexpr int64_t kBatch = 64, kPixels = 784, kFirst = 512, kSecond = 256, kClasses = 10;

const char* const kLoss = R"(
op mean_cross_entropy(X: f16[N,C], labels: i64[N]) -> (L: f32[]) {
  m[n] = max[c](X[n,c])
  z[n] = log(sum[c](exp(X[n,c] - m[n]))) + m[n]
  L[] = sum[n](z[n] - X[n,labels[n]])/N
}
graph digits(x: f16[B,784], labels: i64[B], const w1: f16[784,512], const b1: f16[512],
             const w2: f16[512,256], const b2: f16[256],
             const w3: f16[256,10], const b3: f16[10]) -> (L) {
  h1 = fc_relu(x, w1, b1)
  h2 = fc_relu(h1, w2, b2)
  z = fc(h2, w3, b3)
  L = mean_cross_entropy(z, labels)
}
)";

// All gradients lie in one array, and so do all weights: one kernel looks at them, one changes
// them.
const char* const kStep = R"(
op overflows(G: f16[N]) -> (bad: bool[]) { bad[] = any[i](!(abs(cast<f32>(G[i])) < inf)) }
op step(G: f16[N], bad: bool[], scale: f32, rate: f32, decay: f32, inout V: f32[N], inout W: f32[N])
    -> (C: f16[N]) {
  V[i] = select(bad[], V[i], decay*V[i] + cast<f32>(G[i])/scale)
  W[i] = select(bad[], W[i], W[i] - rate*V[i])
  C[i] = cast<f16>(W[i])
}
)";

/// A weight, and where it begins in arrays that have all of them.
struct Part {
  const char* name;
  const char* gradient;
  int64_t rows, columns;  // a vector has one row
  size_t begin;
};

hone::TensorRef tensor(const Part& p, std::vector<uint16_t>& all) {
  void* data = all.data() + p.begin;
  if (p.rows == 1) return {data, hone::DType::kF16, {p.columns}};
  return {data, hone::DType::kF16, {p.rows, p.columns}};
}

hone::TensorRef flat(std::vector<uint16_t>& all) {
  return {all.data(), hone::DType::kF16, {static_cast<int64_t>(all.size())}};
}

/// Images to learn from: each is the pattern of its class, and more noise.
class Images {
 public:
  Images(hone::Engine& engine, std::mt19937& rng)
      : to_f16_(engine.compile("convert T=f32 U=f16 N=" + std::to_string(kBatch * kPixels))),
        rng_(rng) {
    for (float& p : patterns_) p = 0.1F * normal_(rng_);
  }

  /// New ones into `x`, and their classes into `labels`.
  void draw(std::vector<uint16_t>& x, std::vector<int64_t>& labels) {
    for (size_t i = 0; i < drawn_.size(); ++i) {
      int64_t& label = labels[i / kPixels];
      if (i % kPixels == 0) label = which_(rng_);
      drawn_[i] = patterns_[static_cast<size_t>(label) * kPixels + i % kPixels] + normal_(rng_);
    }
    to_f16_(drawn_, flat(x));
  }

 private:
  hone::Kernel to_f16_;
  std::mt19937& rng_;
  std::normal_distribution<float> normal_;
  std::uniform_int_distribution<int64_t> which_{0, kClasses - 1};
  std::vector<float> patterns_ = std::vector<float>(kClasses * kPixels);
  std::vector<float> drawn_ = std::vector<float>(kBatch * kPixels);
};

/// He's initialisation; vectors are 0.
void fill(const std::vector<Part>& parts, std::vector<float>& weights, std::mt19937& rng) {
  std::normal_distribution<float> normal;
  for (const Part& p : parts) {
    const float size = p.rows == 1 ? 0 : std::sqrt(2 / static_cast<float>(p.rows));
    for (int64_t i = 0; i < p.rows * p.columns; ++i) {
      weights[p.begin + static_cast<size_t>(i)] = size * normal(rng);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int steps = argc > 1 ? std::stoi(argv[1]) : 120;
  hone::Engine engine;
  engine.add_ops(kStep);

  // The gradients of the loss by all weights, as a graph like any other.
  const std::string text = engine.graph_gradient(kLoss, {.loss = "L", .scale = "scale"});
  const hone::Model gradients = engine.load_graph(text, {.dims = "B=64"});

  std::vector<Part> parts{{"w1", "dw1", kPixels, kFirst, 0},   {"b1", "db1", 1, kFirst, 0},
                          {"w2", "dw2", kFirst, kSecond, 0},   {"b2", "db2", 1, kSecond, 0},
                          {"w3", "dw3", kSecond, kClasses, 0}, {"b3", "db3", 1, kClasses, 0}};
  size_t count = 0;
  for (Part& p : parts) {
    p.begin = count;
    count += static_cast<size_t>(p.rows * p.columns);
  }
  const std::string all = "N=" + std::to_string(count);
  const hone::Kernel overflows = engine.compile("overflows " + all);
  const hone::Kernel step = engine.compile("step " + all);
  const hone::Kernel to_f16 = engine.compile("convert T=f32 U=f16 " + all);

  std::mt19937 rng(1);
  Images images(engine, rng);
  std::vector<float> master(count), momentum(count);
  std::vector<uint16_t> weights(count), gradient(count), x(kBatch * kPixels);
  std::vector<int64_t> labels(kBatch);
  fill(parts, master, rng);
  to_f16(master, flat(weights));

  float loss = 0, first = 0, mean = 0;
  float scale = 0x1p32F;  // far too large, so that the first steps overflow
  bool bad = false;
  int left_out = 0;
  const hone::TensorRef flag(&bad, hone::DType::kBool, {});
  std::vector<hone::NamedTensor> in{{"x", {x.data(), hone::DType::kF16, {kBatch, kPixels}}},
                                    {"labels", labels},
                                    {"scale", {&scale, hone::DType::kF32, {}}}};
  std::vector<hone::NamedTensor> out{{"L", {&loss, hone::DType::kF32, {}}}};
  for (const Part& p : parts) {
    in.push_back({p.name, tensor(p, weights)});
    out.push_back({p.gradient, tensor(p, gradient)});
  }
  for (int i = 0; i < steps; ++i) {
    images.draw(x, labels);
    gradients.run(in, out);
    overflows(flat(gradient), flag);
    step(flat(gradient), flag, scale, 0.02F, 0.9F, momentum, master, flat(weights));
    if (i == 0) first = mean = loss;
    mean = 0.9F * mean + 0.1F * loss;
    if (bad) {
      ++left_out;
      scale /= 4;
    }
    if (i % 20 == 0) std::printf("step %3d: loss %.3f\n", i, static_cast<double>(loss));
  }
  std::printf("loss %.3f at first, %.3f now; %d steps left out, scale %g\n",
              static_cast<double>(first), static_cast<double>(mean), left_out,
              static_cast<double>(scale));
  return left_out > 0 && left_out < steps / 4 && mean < 0.6F * first ? 0 : 1;
}
