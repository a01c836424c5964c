// SPDX-License-Identifier: Apache-2.0
// Models: graphs that are loaded and run, against the same ops called one by one.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "include/hone/hone.h"
#include "runtime/model/memory_plan.h"

using hone::DType;
using hone::Engine;
using hone::Model;
using hone::ModelOptions;
using hone::NamedTensor;
using hone::TensorRef;

namespace {

constexpr const char* kPerceptron =
    "graph mlp(x: f32[B,20], const w1: f32[20,33], const b1: f32[33], const w2: f32[33,10],\n"
    "          const b2: f32[10]) -> (y: f32[B,10]) {\n"
    "  a = matmul(x, w1)\n"
    "  c = add_rows(a, b1)\n"
    "  h = relu(c)\n"
    "  z = fc(h, w2, b2)\n"
    "  y = softmax(z)\n"
    "}\n";

std::vector<float> numbers(size_t count, unsigned seed) {
  std::vector<float> out(count);
  for (float& v : out) {
    seed = seed * 1664525u + 1013904223u;
    v = static_cast<float>(seed >> 8) / (1 << 24) - 0.5f;
  }
  return out;
}

struct Perceptron {
  std::vector<float> w1 = numbers(20 * 33, 1), b1 = numbers(33, 2), w2 = numbers(33 * 10, 3),
                     b2 = numbers(10, 4);

  std::vector<NamedTensor> weights() {
    return {{"w1", {w1.data(), {20, 33}}},
            {"b1", {b1.data(), {33}}},
            {"w2", {w2.data(), {33, 10}}},
            {"b2", {b2.data(), {10}}}};
  }

  /// The same op by op, as plain loops.
  std::vector<float> answer(const std::vector<float>& x, size_t batch) const {
    std::vector<float> y(batch * 10);
    for (size_t i = 0; i < batch; ++i) {
      std::vector<double> h(33), z(10);
      for (size_t j = 0; j < 33; ++j) {
        double sum = b1[j];
        for (size_t k = 0; k < 20; ++k) sum += x[i * 20 + k] * w1[k * 33 + j];
        h[j] = std::max(sum, 0.0);
      }
      double all = 0;
      for (size_t j = 0; j < 10; ++j) {
        z[j] = b2[j];
        for (size_t k = 0; k < 33; ++k) z[j] += h[k] * w2[k * 10 + j];
        all += std::exp(z[j]);
      }
      for (size_t j = 0; j < 10; ++j) y[i * 10 + j] = static_cast<float>(std::exp(z[j]) / all);
    }
    return y;
  }
};

void check_near(const std::vector<float>& got, const std::vector<float>& want) {
  REQUIRE(got.size() == want.size());
  for (size_t i = 0; i < got.size(); ++i) CHECK(std::abs(got[i] - want[i]) <= 1e-5f);
}

std::string error_of(const hone::Result<hone::Done>& done) {
  return done ? "" : done.failure().message;
}

}  // namespace

TEST_CASE("model: weights that another model has packed alike are shared with it") {
  Engine engine(hone::EngineOptions{.cache = ":memory:", .threads = 1});
  Perceptron p;
  const std::vector<float> x = numbers(7 * 20, 5);
  const auto load = [&](const char* dims) {
    return engine.load_graph(kPerceptron, ModelOptions{.dims = dims, .weights = p.weights()});
  };
  const auto check = [&](const Model& model) {
    std::vector<float> y(7 * 10);
    model({{"x", {x.data(), {7, 20}}}}, {{"y", {y.data(), {7, 10}}}});
    const std::vector<float> expected = p.answer(x, 7);
    for (size_t i = 0; i < y.size(); ++i) CHECK(y[i] == doctest::Approx(expected[i]).epsilon(1e-4));
  };
  std::optional<Model> first = load("B=1..9");
  const int64_t all = first->memory().weights, used = engine.memory().used;
  CHECK(all > 0);
  const Model second = load("B=1..9"), third = load("B=1..16");
  CHECK(second.memory().weights == 0);
  CHECK(third.memory().weights < all);
  CHECK(engine.memory().used <= used + third.memory().weights);
  first.reset();
  check(second);
  check(third);
  // Other elements are other weights.
  p.w1[5] += 1;
  const Model other = load("B=1..9");
  CHECK(other.memory().weights > 0);
  check(other);
}

TEST_CASE("model: two kernels of one weight share what is packed alike") {
  Engine engine(hone::EngineOptions{.cache = ":memory:", .threads = 1});
  const std::vector<float> w = numbers(64 * 64, 3);
  const auto weights_of = [&](const char* second) {
    const std::string text = fmt::format(
        "graph g(x: f32[8,64], const w: f32[64,64]{}) -> (y) {{ a = matmul(x, w); b = softmax(a); "
        "y = matmul(b, {}) }}",
        *second == 'v' ? ", const v: f32[64,64]" : "", second);
    std::vector<NamedTensor> given{{"w", {w.data(), {64, 64}}}};
    std::vector<float> v = numbers(64 * 64, 4);
    if (*second == 'v') given.push_back({"v", {v.data(), {64, 64}}});
    return engine.load_graph(text, ModelOptions{.weights = given}).memory().weights;
  };
  CHECK(weights_of("v") == 2 * weights_of("w"));
}

TEST_CASE("model: a graph is loaded once and run for any batch of its range") {
  Engine engine(hone::EngineOptions{.cache = ":memory:"});
  Perceptron p;
  for (const bool fuse : {true, false}) {
    const Model model = engine.load_graph(
        kPerceptron, ModelOptions{.dims = "B=1..7", .weights = p.weights(), .fuse = fuse});
    CHECK(model.steps().size() == (fuse ? 3u : 5u));
    for (const size_t batch : {1u, 7u, 3u}) {
      const std::vector<float> x = numbers(batch * 20, 5);
      std::vector<float> y(batch * 10, -1);
      const auto rows = static_cast<int64_t>(batch);
      model({{"x", {x.data(), {rows, 20}}}}, {{"y", {y.data(), {rows, 10}}}});
      check_near(y, p.answer(x, batch));
    }
  }
}

TEST_CASE("model: parameters say how they lie in memory") {
  Engine engine(hone::EngineOptions{.cache = ":memory:"});
  const std::vector<uint8_t> w(2 * 3 * 3, 0x21);
  const Model model = engine.load_graph(
      "op unpacked(W: u4[L,M,N], X: f32[L,M,N]) -> (Y: f32[L,M,N]) { Y[l,i,j] = "
      "cast<f32>(W[l,i,j])*X[l,i,j] }\n"
      "graph g(const w: u4[2,3,5], x: f32[2,3,5], z: f32[A,B,7]) -> (y, v) { y = unpacked(w, x); v "
      "= relu(z) }",
      ModelOptions{.dims = "A=1..4 B=1..4", .weights = {{"w", {w.data(), DType::kU4, {2, 3, 5}}}}});
  REQUIRE(model.params().size() == 5);
  const TensorRef dense(w.data(), DType::kU4, {2, 3, 5});
  for (int i = 0; i < 3; ++i)
    CHECK(model.params()[0].strides[static_cast<size_t>(i)] == dense.stride(i));
  CHECK(model.params()[0].strides == std::vector<int64_t>{18, 6, 1});
  CHECK(model.params()[0].align == 1);
  CHECK(model.params()[2].strides == std::vector<int64_t>{-1, 7, 1});
  CHECK(model.params()[2].align == 4);
  CHECK(model.params()[4].name == "v");
}

TEST_CASE("model: what a call gets wrong is told, and nothing is written") {
  Engine engine(hone::EngineOptions{.cache = ":memory:"});
  Perceptron p;
  const Model model =
      engine.load_graph(kPerceptron, ModelOptions{.dims = "B=1..7", .weights = p.weights()});
  std::vector<float> x = numbers(3 * 20, 5), y(3 * 10, -1), wide(3 * 40);
  const NamedTensor in{"x", {x.data(), {3, 20}}}, out{"y", {y.data(), {3, 10}}};
  const auto tells = [&](std::vector<NamedTensor> inputs, std::vector<NamedTensor> outputs,
                         const std::string& what) {
    INFO(what);
    const std::string message = error_of(model.try_run(inputs, outputs));
    CHECK_MESSAGE(message.find(what) != std::string::npos, message);
    for (const float v : y) CHECK(v == -1);
  };
  tells({}, {out}, "the input `x: f32[B,20]` is missing");
  tells({in}, {}, "the output `y: f32[B,10]` is missing");
  tells({in, in}, {out}, "`x` is given twice");
  tells({in, {"z", {x.data(), {3, 20}}}}, {out}, "the model has no input `z`; it has x");
  tells({{"x", {x.data(), {3, 19}}}}, {out}, "`x` is f32[3,20] here, and f32[3,19] is given");
  tells({{"x", {x.data(), {8, 20}}}}, {out}, "dim 0 of `x` is 8; B was bound to 1..7");
  tells({in}, {{"y", {y.data(), {2, 10}}}}, "`y` is f32[3,10] here, and f32[2,10] is given");
  tells({{"x", {wide.data(), {3, 20}, {40, 1}}}}, {out}, "`x` is not dense");
  tells({in}, {{"y", {static_cast<const float*>(y.data()), {3, 10}}}}, "`y` is read-only");
  tells({in}, {{"y", {x.data(), {3, 10}}}}, "the output `y` overlaps with `x`");
  tells({in}, {{"y", {reinterpret_cast<float*>(reinterpret_cast<char*>(y.data()) + 2), {3, 10}}}},
        "which is no multiple of 4 bytes");
  tells({{"x", {static_cast<float*>(nullptr), {3, 20}}}}, {out}, "`x` is null");
}

TEST_CASE("model: dims and weights that do not fit are told, all at once") {
  Engine engine(hone::EngineOptions{.cache = ":memory:"});
  Perceptron p;
  const auto tells = [&](const std::string& dims, std::vector<NamedTensor> weights,
                         const std::string& what) {
    INFO(what);
    const auto model =
        engine.try_load_graph(kPerceptron, ModelOptions{.dims = dims, .weights = weights});
    REQUIRE(!model);
    CHECK_MESSAGE(model.failure().message.find(what) != std::string::npos, model.failure().message);
  };
  tells("", p.weights(), "dims of `mlp` are not bound: B");
  tells("B=8 C=2", p.weights(), "`C=2`: there is no such dim");
  tells("B=8..2", p.weights(), "`B=8..2` binds no dim");
  tells("B=8", {{"w1", {p.w1.data(), {20, 33}}}, {"w9", {p.b1.data(), {33}}}},
        "weights of `mlp`:\n  there is no weight `w9`\n  the weight `b1` is missing\n  the "
        "weight `w2` is missing\n  the weight `b2` is missing");
  std::vector<NamedTensor> turned = p.weights();
  turned[0].tensor = TensorRef(p.w1.data(), {33, 20});
  tells("B=8", turned, "weight `w1`");
}

TEST_CASE("model: several threads run one model, in memory of their own or of the caller") {
  Engine engine(hone::EngineOptions{.cache = ":memory:"});
  Perceptron p;
  const Model model =
      engine.load_graph(kPerceptron, ModelOptions{.dims = "B=1..64", .weights = p.weights()});
  CHECK(model.memory().call >= model.memory().values);
  CHECK(model.memory().weights >= 4 * (20 * 33 + 33 + 33 * 10 + 10));
  std::vector<std::thread> threads;
  std::vector<std::vector<float>> results(4);
  for (size_t t = 0; t < results.size(); ++t) {
    threads.emplace_back([&, t] {
      const std::vector<float> x = numbers((t + 1) * 200, static_cast<unsigned>(t));
      results[t].assign((t + 1) * 100, 0);
      const auto rows = static_cast<int64_t>(t + 1) * 10;
      std::vector<std::byte> room(static_cast<size_t>(model.memory().call) + 64);
      void* begin = room.data();
      size_t size = room.size();
      std::align(64, static_cast<size_t>(model.memory().call), begin, size);
      hone::CallOptions options;
      if (t % 2 == 0) options.workspace = {static_cast<std::byte*>(begin), size};
      const NamedTensor in[] = {{"x", {x.data(), {rows, 20}}}};
      const NamedTensor out[] = {{"y", {results[t].data(), {rows, 10}}}};
      for (int i = 0; i < 100; ++i) model.run(in, out, options);
    });
  }
  for (std::thread& t : threads) t.join();
  for (size_t t = 0; t < results.size(); ++t) {
    check_near(results[t],
               p.answer(numbers((t + 1) * 200, static_cast<unsigned>(t)), (t + 1) * 10));
  }
}

TEST_CASE("model: tensors that live apart share memory, and no plan needs more than it has") {
  using hone::runtime::Lifetime;
  using hone::runtime::plan_memory;
  const auto chain = plan_memory({{1000, 0, 1}, {1000, 1, 2}, {1000, 2, 3}, {64, 0, 3}});
  CHECK(chain.bytes == chain.least);
  unsigned seed = 7;
  for (int round = 0; round < 200; ++round) {
    std::vector<Lifetime> all;
    for (int i = 0; i < 30; ++i) {
      seed = seed * 1664525u + 1013904223u;
      const int first = static_cast<int>(seed >> 8) % 20;
      all.push_back(
          {static_cast<int64_t>(seed >> 20), first, first + static_cast<int>(seed >> 28)});
    }
    const auto plan = plan_memory(all);
    CHECK(plan.bytes >= plan.least);
    CHECK(plan.bytes <= plan.least * 3 / 2);
    for (size_t a = 0; a < all.size(); ++a) {
      CHECK(plan.offsets[a] % 64 == 0);
      for (size_t b = a + 1; b < all.size(); ++b) {
        if (all[a].last < all[b].first || all[b].last < all[a].first) continue;
        const bool apart = plan.offsets[a] + all[a].bytes <= plan.offsets[b] ||
                           plan.offsets[b] + all[b].bytes <= plan.offsets[a];
        CHECK(apart);
      }
    }
  }
}

namespace {

/// A graph of square matrices: what a node reads is any of those before it.
std::string random_graph(unsigned seed, int nodes) {
  const auto draw = [&](int n) {
    seed = seed * 1664525u + 1013904223u;
    return static_cast<int>((seed >> 8) % static_cast<unsigned>(n));
  };
  std::string text =
      "op turned(X: f32[M,N]) -> (Y: f32[N,M]) { Y[i,j] = X[j,i] }\n"
      "op shifted(X: f32[M,N]) -> (Y: f32[M,N]) { Y[i,j] = X[i,j-1] else 0 }\n"
      "op halves(X: f32[M,N]) -> (Y: f32[M,N], Z: f32[M,N]) { Y[i,j] = X[i,j]/2; Z[i,j] = 1-X[i,j] "
      "}\n"
      "op running(X: f32[M,N]) -> (Y: f32[M,N]) { Y[i,j] = X[i,j]/8 + (Y[i,j-1] else 0) }\n"
      "op less_mean(X: f32[M,N]) -> (Y: f32[M,N]) { s[i] = sum[j](X[i,j])/cast<f32>(N); "
      "Y[i,j] = X[i,j] - s[i] }\n"
      "op beside(X: f32[M,N], Z: f32[M,L]) -> (Y: f32[M,N+L]) { Y[i,j] = select(j < N, X[i,j], "
      "Z[i,j-N]) }\n"
      "op below(X: f32[M,N], Z: f32[L,N]) -> (Y: f32[M+L,N]) { Y[i,j] = select(i < M, X[i,j], "
      "Z[i-M,j]) }\n"
      "graph g(x: f32[N,N], const w: f32[N,N]) -> (y: f32[N,N]";
  std::vector<std::string> made{"x", "w"};
  std::string statements;
  std::set<std::string> read;
  const auto any = [&] {
    const std::string name = made[static_cast<size_t>(draw(static_cast<int>(made.size())))];
    read.insert(name);
    return name;
  };
  const std::vector<std::string> unary{"relu",   "sigmoid", "tanh",    "softmax",
                                       "turned", "shifted", "running", "less_mean"};
  std::string unread;
  for (int i = 0; i < nodes; ++i) {
    const std::string name = fmt::format("v{}", i);
    const int kind = draw(12);
    if (kind == 0) {
      statements += fmt::format("  {0}, {0}z = halves({1})\n", name, any());
      unread += fmt::format(", {}z: f32[N,N]", name);
    } else if (kind > 9) {
      // Joins, and joins of joins.
      std::string left = any(), right = any();
      for (int j = 0; j < kind - 9; ++j) {
        statements += fmt::format("  {0}b{1} = beside({2}, {3}); {0}c{1} = below({4}, {5})\n", name,
                                  j, left, any(), right, any());
        left = fmt::format("{}b{}", name, j);
        right = fmt::format("{}c{}", name, j);
      }
      statements +=
          fmt::format("  {}p = matmul({}, {}); {} = tanh({}p)\n", name, left, right, name, name);
    } else if (kind < 4) {
      const char* op = kind == 1 ? "matmul" : kind == 2 ? "add" : "mul";
      statements += fmt::format("  {} = {}({}, {})\n", name, op, any(), any());
    } else {
      const std::string& op = unary[static_cast<size_t>(draw(static_cast<int>(unary.size())))];
      statements += fmt::format("  {} = {}({})\n", name, op, any());
    }
    made.push_back(name);
  }
  // What nobody reads is an output.
  read.insert({"x", "w", made.back()});
  for (const std::string& name : made) {
    if (!read.contains(name)) unread += fmt::format(", {}: f32[N,N]", name);
  }
  return text + unread + ") {\n" + statements + fmt::format("  y = add({}, w)\n}}\n", made.back());
}

}  // namespace

TEST_CASE("model: random graphs are the same fused and node by node") {
  Engine engine(hone::EngineOptions{.cache = ":memory:"});
  for (unsigned seed = 1; seed <= 50; ++seed) {
    const std::string text = random_graph(seed * 7919, 3 + static_cast<int>(seed % 9));
    INFO(text);
    const int64_t n = 1 + static_cast<int64_t>(seed * 13 % 40);
    const auto elements = static_cast<size_t>(n * n);
    const std::vector<float> x = numbers(elements, seed), w = numbers(elements, seed + 100);
    std::vector<std::vector<float>> results[2];
    for (const bool fuse : {false, true}) {
      const auto model =
          engine.try_load_graph(text, ModelOptions{.dims = "N=" + std::to_string(n),
                                                   .weights = {{"w", {w.data(), {n, n}}}},
                                                   .fuse = fuse});
      REQUIRE_MESSAGE(model, model.failure().message);
      std::vector<NamedTensor> outputs;
      for (const hone::Param& p : model->params()) {
        if (p.role == hone::Role::kOutput) results[fuse].emplace_back(elements, -1.0f);
      }
      size_t next = 0;
      for (const hone::Param& p : model->params()) {
        if (p.role != hone::Role::kOutput) continue;
        outputs.push_back({p.name, {results[fuse][next++].data(), {n, n}}});
      }
      const NamedTensor in[] = {{"x", {x.data(), {n, n}}}};
      CHECK(error_of(model->try_run(in, outputs)) == "");
    }
    for (size_t i = 0; i < results[0].size(); ++i) {
      for (size_t j = 0; j < elements; ++j) {
        const float a = results[0][i][j], b = results[1][i][j];
        CHECK(std::abs(a - b) <= 1e-4f * std::max(1.0f, std::abs(a)));
      }
    }
  }
}
