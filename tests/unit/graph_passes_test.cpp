// SPDX-License-Identifier: Apache-2.0
// What is done to a graph before it runs: groups, views, constants, repeats, orders in memory.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <string>
#include <vector>

#include "include/hone/hone.h"
#include "ops/graph/fuse.h"
#include "ops/graph/orders.h"
#include "ops/graph/passes.h"
#include "ops/graph/reading.h"

using hone::Engine;
using hone::Model;
using hone::ModelOptions;
using hone::NamedTensor;
using hone::ops::Graph;

namespace {

using Groups = std::vector<std::vector<int>>;

Graph graph_of(const std::string& text) {
  auto graph = hone::ops::parse_graph(text);
  REQUIRE_MESSAGE(graph, (graph ? "" : graph.failure().message));
  return *std::move(graph);
}

/// Ops that graphs here use besides the library's.
const std::string kOps =
    "op turned(X: f32[A,B,C]) -> (Y: f32[A,C,B]) { Y[i,j,k] = X[i,k,j] }\n"
    "op mean(X: f32[M,N]) -> (Y: f32[M,1]) { Y[i,j] = sum[k](X[i,k])/cast<f32>(N) }\n"
    "op less(X: f32[M,N], S: f32[M,1]) -> (Y: f32[M,N]) { Y[i,j] = X[i,j] - S[i,0] }\n"
    "op split(X: f32[M,12]) -> (Y: f32[M,3,4]) { Y[i,j,k] = X[i,j*4 + k] }\n"
    "op joined(X: f32[M,3,4]) -> (Y: f32[M,12]) { Y[i,j] = X[i,j/4,j%4] }\n"
    "op products(A: f32[B,M,K], C: f32[B,K,N]) -> (Y: f32[B,M,N]) { Y[b,i,j] = sum[k](A[b,i,k]*"
    "C[b,k,j]) }\n"
    "op bag(E: f32[R,D], I: i64[B,L]) -> (Y: f32[B,L,D]) { Y[b,l,d] = E[I[b,l],d] }\n"
    "op summed(X: f32[B,L,D]) -> (Y: f32[B,D]) { Y[b,d] = sum[l](X[b,l,d]) }\n"
    "op slide(X: f32[B,C,H,W], F: f32[O,C,3,3]) -> (Y: f32[B,O,H,W]) { Y[b,o,i,j] = "
    "sum[c,r,s]((X[b,c,i + r - 1,j + s - 1] else 0)*F[o,c,r,s]) }\n"
    "op rectified(X: f32[B,C,H,W]) -> (Y: f32[B,C,H,W]) { Y[b,c,i,j] = relu(X[b,c,i,j]) }\n"
    "op plus(X: f32[B,C,H,W], Z: f32[B,C,H,W]) -> (Y: f32[B,C,H,W]) { Y[b,c,i,j] = X[b,c,i,j] + "
    "Z[b,c,i,j] }\n"
    "op mirrored(X: f32[B,C,H,W]) -> (Y: f32[B,C,W,H]) { Y[b,c,i,j] = X[b,c,j,i] }\n";

Groups groups_of(const std::string& graph) {
  return hone::ops::fused_groups(graph_of(kOps + graph), {});
}

}  // namespace

TEST_CASE("graph passes: reductions that take each element once join what makes them") {
  // All readers of the first sum are in its group; the mean of a product is a kernel of its own.
  CHECK(
      groups_of("graph g(x: f32[M,N]) -> (y: f32[M,N]) { a = relu(x); m = mean(a); d = less(a, m);"
                " y = softmax(d) }") == Groups{{0, 1, 2, 3}});
  CHECK(groups_of("graph g(x: f32[M,K], w: f32[K,N]) -> (y: f32[M,N]) { a = matmul(x, w); "
                  "m = mean(a); y = less(a, m) }") == Groups{{0}, {1, 2}});
  // What several along a product read is inside, and so are they.
  CHECK(groups_of("graph g(x: f32[M,K], w: f32[K,N]) -> (y: f32[M,N]) { a = matmul(x, w); "
                  "s = sigmoid(a); y = mul(a, s) }") == Groups{{0, 1, 2}});
}

TEST_CASE("graph passes: no group waits for what waits for it") {
  // The last node would join the first, whose result a product lies between.
  const Groups groups = groups_of(
      "graph g(x: f32[N,N], w: f32[N,N]) -> (y: f32[N,N]) { a = relu(x); "
      "b = matmul(a, w); c = matmul(b, w); y = add(a, c) }");
  CHECK(groups == Groups{{0}, {1}, {2, 3}});
  CHECK(groups_of("graph g(x: f32[N,N], w: f32[N,N]) -> (y: f32[N,N]) { a = relu(x); "
                  "b = matmul(a, w); m = mean(b); y = less(a, m) }") == Groups{{0}, {1}, {2, 3}});
}

TEST_CASE("graph passes: a product whose result is read later leaves one result") {
  // The sum waits for the second product, so `b` leaves and `c` has a kernel of its own.
  CHECK(groups_of("graph g(x: f32[N,N], w: f32[N,N]) -> (y: f32[N,N]) { a = matmul(x, w); "
                  "b = relu(a); c = tanh(b); d = matmul(c, w); y = add(b, d) }") ==
        Groups{{0, 1}, {2}, {3, 4}});
  // What is made of both at once stays with them.
  CHECK(groups_of("graph g(x: f32[N,N], w: f32[N,N]) -> (y: f32[N,N]) { a = matmul(x, w); "
                  "b = relu(a); c = tanh(b); d = sigmoid(c); y = add(b, d) }") ==
        Groups{{0, 1, 2, 3, 4}});
}

TEST_CASE("graph passes: what only moves elements joins its reader, or its maker") {
  CHECK(groups_of("graph g(x: f32[B,M,K], z: f32[B,N,K]) -> (y: f32[B,M,N]) { t = turned(z); "
                  "y = products(x, t) }") == Groups{{0, 1}});
  CHECK(groups_of("graph g(x: f32[B,M,K], z: f32[B,K,N]) -> (y: f32[B,N,M]) { t = products(x, z); "
                  "y = turned(t) }") == Groups{{0, 1}});
  CHECK(groups_of("graph g(e: f32[R,D], i: i64[B,L]) -> (y: f32[B,D]) { t = bag(e, i); "
                  "y = summed(t) }") == Groups{{0, 1}});
  // Rows that data choose are read for each tile of a product: they are gathered once.
  CHECK(groups_of("graph g(e: f32[R,D], i: i64[B,L], z: f32[B,D,N]) -> (y: f32[B,L,N]) { "
                  "t = bag(e, i); y = products(t, z) }") == Groups{{0}, {1}});
  // A window reads each element several times, and two readers do.
  CHECK(groups_of("graph g(x: f32[1,C,H,W], f: f32[O,C,3,3]) -> (y: f32[1,O,W,H]) { "
                  "t = mirrored(x); y = slide(t, f) }") == Groups{{0}, {1}});
}

TEST_CASE("graph passes: views are what lies in memory as before") {
  const Graph g = graph_of(kOps +
                           "graph g(x: f32[M,12]) -> (y: f32[M,12]) { a = split(x); b = joined(a); "
                           "c = split(b); d = turned(c); e = turned(d); y = joined(e) }");
  const std::vector<hone::ir::Dim> dims{{"M", 1, 100, {}}};
  for (const size_t n : {0, 1, 2, 5}) CHECK(is_view(g, g.nodes[n], dims));
  for (const size_t n : {3, 4}) CHECK_FALSE(is_view(g, g.nodes[n], dims));
  // Fewer elements are no view of all, though they begin where these do.
  const Graph first = graph_of(
      "op first(X: f32[M,N]) -> (Y: f32[3,N]) { Y[i in 0..3,j] = X[i,j] }\n"
      "graph g(x: f32[5,N]) -> (y: f32[3,N]) { y = first(x) }");
  CHECK_FALSE(is_view(first, first.nodes[0], {}));
}

TEST_CASE("graph passes: repeats are computed once, and what nobody reads is not") {
  const Graph g = hone::ops::without_unread(hone::ops::without_repeats(
      graph_of("graph g(x: f32[N]) -> (y: f32[N], z: f32[N]) { a = relu(x); b = relu(x); "
               "c = tanh(a); d = tanh(b); y = add(c, d); z = relu(x) }")));
  // An output stands where its caller wants it.
  REQUIRE(g.nodes.size() == 4);
  CHECK(g.nodes[2].reads[0] == g.nodes[2].reads[1]);
  CHECK(g.nodes[3].op.name() == "relu");
}

TEST_CASE("graph passes: images and what stands between their kernels have one order") {
  const Graph g = graph_of(kOps +
                           "graph g(x: f32[1,C,H,W], f: f32[C,C,3,3]) -> (y: f32[1,C,H,W]) { "
                           "a = slide(x, f); b = slide(a, f); c = plus(a, b); d = slide(c, f); "
                           "y = plus(d, c) }");
  const auto sets = hone::ops::image_sets(g, hone::ops::fused_groups(g, {}), {});
  REQUIRE(sets.size() == 1);
  std::string names;
  for (const int v : sets[0]) names += g.values[static_cast<size_t>(v)].name;
  CHECK(names == "abcd");
  CHECK(hone::ops::channels_last(4) == std::vector<int>{0, 2, 3, 1});
}

namespace {

std::vector<float> numbers(size_t count, unsigned seed) {
  std::vector<float> out(count);
  for (float& v : out) {
    seed = seed * 1664525u + 1013904223u;
    v = static_cast<float>(seed >> 8) / (1 << 24) - 0.5f;
  }
  return out;
}

/// The results of a graph of x and w, fused and node by node, and how many kernels the former has.
size_t check_same(Engine& engine, const std::string& text, const std::string& dims,
                  std::vector<int64_t> x_shape, std::vector<int64_t> w_shape) {
  const auto count = [](const std::vector<int64_t>& shape) {
    size_t n = 1;
    for (const int64_t e : shape) n *= static_cast<size_t>(e);
    return n;
  };
  const std::vector<float> x = numbers(count(x_shape), 1), w = numbers(count(w_shape), 2);
  std::vector<std::vector<float>> results[2];
  size_t kernels = 0;
  for (const bool fuse : {false, true}) {
    const auto model = engine.try_load_graph(
        text, ModelOptions{.dims = dims, .weights = {{"w", {w.data(), w_shape}}}, .fuse = fuse});
    REQUIRE_MESSAGE(model, model.failure().message);
    kernels = model->steps().size();
    std::vector<NamedTensor> outputs;
    for (const hone::Param& p : model->params()) {
      if (p.role != hone::Role::kOutput) continue;
      std::vector<int64_t> shape;
      for (const hone::Extent& e : p.shape) shape.push_back(e.value);
      results[fuse].emplace_back(count(shape), -1.0f);
      outputs.push_back({p.name, {results[fuse].back().data(), shape}});
    }
    const NamedTensor in[] = {{"x", {x.data(), x_shape}}};
    const auto done = model->try_run(in, outputs);
    REQUIRE_MESSAGE(done, done.failure().message);
  }
  for (size_t i = 0; i < results[0].size(); ++i) {
    for (size_t j = 0; j < results[0][i].size(); ++j) {
      const float a = results[0][i][j], b = results[1][i][j];
      CHECK(std::abs(a - b) <= 1e-4f * std::max(1.0f, std::abs(a)));
    }
  }
  return kernels;
}

}  // namespace

TEST_CASE("graph passes: views and constants take no kernels of a model") {
  Engine engine(hone::EngineOptions{.cache = ":memory:"});
  // Views of an input, between steps, of what becomes an output, and of a weight.
  CHECK(check_same(engine,
                   kOps +
                       "graph g(x: f32[5,12], const w: f32[5,12]) -> (y: f32[5,12], "
                       "z: f32[5,3,4]) { a = split(x); v = split(w); t = turned(a); b = turned(t); "
                       "c = joined(b); d = add(c, w); z = split(d); y = joined(v) }",
                   "", {5, 12}, {5, 12}) == 3);
  // An input that is an output in another shape is copied.
  CHECK(check_same(engine,
                   kOps + "graph g(x: f32[5,12], const w: f32[5,12]) -> (y: f32[5,3,4], "
                          "z: f32[5,12]) { y = split(x); z = add(x, w) }",
                   "", {5, 12}, {5, 12}) == 2);
  // Of weights alone: computed at load, through several nodes.
  CHECK(check_same(engine,
                   kOps + "graph g(x: f32[7,12], const w: f32[12,12]) -> (y: f32[7,12]) { "
                          "a = tanh(w); b = softmax(a); m = mean(b); c = less(b, m); "
                          "y = matmul(x, c) }",
                   "", {7, 12}, {12, 12}) == 1);
}

TEST_CASE("graph passes: images of half a size that calls tell are fused like others") {
  Engine engine(hone::EngineOptions{.cache = ":memory:"});
  const std::string half =
      "op half(X: f32[M,N]) -> (Y: f32[M,(N + 1)/2]) { Y[i,j] = X[i,2*j] }\n"
      "op shift(X: f32[M,N]) -> (Y: f32[M,N]) { Y[i,j] = X[i,j] + 1 }\n";
  // Ranges that statements tell are of H, which the last group does not have.
  const Model model = engine.load_graph(
      half +
          "graph g(x: f32[5,H], w: f32[H,(H + 1)/2]) -> (y) {\n"
          "a[i in 0..5,j in 0..(H + 1)/2] = matmul(x, w); b[i in 0..5,j in 0..(H + 1)/2] = "
          "shift(a); c[i in 0..5,j in 0..((H + 1)/2 + 1)/2] = half(b); "
          "d = tanh(c); y[i in 0..5,j in 0..((H + 1)/2 + 1)/2] = shift(d) }",
      ModelOptions{.dims = "H=4..24"});
  CHECK(model.steps().size() == 2);
}

TEST_CASE("graph passes: images are the same in whatever order they lie") {
  Engine engine(hone::EngineOptions{.cache = ":memory:"});
  unsigned seed = 1;
  const auto draw = [&](size_t n) {
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % n;
  };
  for (const int64_t n : {1, 3, 8, 17, 32}) {
    std::string text = kOps +
                       "graph g(x: f32[2,N,N,N], const w: f32[N,N,3,3]) -> (y: f32[2,N,N,N]) {"
                       " v0 = slide(x, w)";
    for (size_t i = 1; i < 9; ++i) {
      const auto any = [&] { return fmt::format("v{}", draw(i)); };
      const size_t kind = draw(5);
      text += fmt::format("; v{} = ", i);
      if (kind == 0) text += fmt::format("rectified({})", any());
      if (kind == 1) text += fmt::format("plus({}, {})", any(), any());
      if (kind == 2) text += fmt::format("mirrored({})", any());
      if (kind > 2) text += fmt::format("slide({}, w)", any());
    }
    // All that nobody read ends in the output.
    std::string last = "v8";
    for (size_t i = 0; i < 8; ++i) {
      text += fmt::format("; s{} = plus({}, v{})", i, last, i);
      last = fmt::format("s{}", i);
    }
    text += fmt::format("; y = plus({}, x) }}", last);
    INFO(text);
    check_same(engine, text, fmt::format("N={}", n), {2, n, n, n}, {n, n, 3, 3});
  }
}
