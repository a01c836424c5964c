// SPDX-License-Identifier: Apache-2.0
// In whose memory values of a graph lie: views, and parts of joins.
#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "include/hone/hone.h"
#include "include/hone/model.h"
#include "jit/ir/expr.h"
#include "ops/graph/fuse.h"
#include "ops/graph/homes.h"
#include "ops/graph/join.h"
#include "ops/graph/plan.h"

using hone::Engine;
using hone::Model;
using hone::ModelOptions;
using hone::NamedTensor;
using hone::ops::Graph;
using hone::ops::Homes;

namespace {

Graph parsed(const std::string& text) {
  auto graph = hone::ops::parse_graph(text);
  REQUIRE_MESSAGE(graph, graph.failure().message);
  return *std::move(graph);
}

const std::string kChannels =
    "op channels(A: f32[N,C,H,W], B: f32[N,D,H,W]) -> (Y: f32[N,C+D,H,W]) {\n"
    "  Y[n,c,h,w] = select(c < C, A[n,c,h,w], B[n,c-C,h,w]) }\n";

/// The parts of the join that the one node of an op is, by their names; empty: it is none.
std::string parts_of(const std::string& op, const std::string& inputs, const std::string& args) {
  const Graph graph = parsed(op + " graph g(" + inputs + ") -> (y) { y = f(" + args + ") }");
  const auto join = hone::ops::join_of(graph, graph.nodes[0], {});
  std::string text;
  for (const int v : join ? join->parts : std::vector<int>()) {
    text += graph.values[static_cast<size_t>(v)].name + " ";
  }
  return text;
}

/// `a in y at 12, strides 20 1; ...` of all values that lie elsewhere, each node a group.
std::string homes_of(Graph& graph, const std::vector<hone::ir::Dim>& dims = {}) {
  const Homes homes = hone::ops::find_homes(graph, hone::ops::single_groups(graph), dims, true);
  std::string text;
  for (size_t v = 0; v < graph.values.size(); ++v) {
    const hone::ops::Home& home = homes.values[v];
    if (home.of == static_cast<int>(v)) continue;
    const std::string at = home.at ? hone::ir::print(home.at) : "0";
    text += graph.values[v].name + " in " + graph.values[static_cast<size_t>(home.of)].name +
            " at " + at;
    for (const int64_t s : graph.values[v].strides) text += "," + std::to_string(s);
    text += "; ";
  }
  return text;
}

}  // namespace

TEST_CASE("homes: a join is told by its indices") {
  const std::string two = "a: f32[3,4], b: f32[3,5]";
  const auto op = [](const std::string& value) {
    return "op f(A: f32[M,N], B: f32[M,L]) -> (Y: f32[M,N+L]) { Y[i,j] = " + value + " }";
  };
  CHECK(parts_of(op("select(j < N, A[i,j], B[i,j-N])"), two, "a, b") == "a b ");
  CHECK(parts_of(op("select(j >= N, B[i,j-N], A[i,j])"), two, "a, b") == "a b ");
  CHECK(parts_of(op("select(j < N, A[i,j] else 0, B[i,j-N] else 0)"), two, "a, b") == "a b ");
  CHECK(parts_of(op("select(j < L, B[i,j], A[i,j-L])"), two, "a, b") == "b a ");
  // Not one behind the other, not whole, or computed.
  CHECK(parts_of(op("select(j < N, A[i,N-1-j] else 0, B[i,j-N])"), two, "a, b").empty());
  CHECK(parts_of(op("select(j < N, A[i,j], 2*B[i,j-N])"), two, "a, b").empty());
  CHECK(parts_of(op("select(j < N-1, A[i,j], B[i,j-N] else 0)"), two, "a, b").empty());
  CHECK(parts_of(op("select(i < N, A[i,j] else 0, B[i,j-N] else 0)"), two, "a, b").empty());
  // One tensor cannot stand in two places.
  CHECK(parts_of(op("select(j < N, A[i,j], B[i,j-N])"), "a: f32[3,4]", "a, a").empty());
  CHECK(parts_of("op f(A: f32[M,N], B: f32[M,L], C: f32[M,K]) -> (Y: f32[M,N+L+K]) {"
                 " Y[i,j] = select(j < N, A[i,j], select(j < N + L, B[i,j-N], C[i,j-N-L])) }",
                 two + ", c: f32[3,6]", "a, b, c") == "a b c ");
}

TEST_CASE("homes: arguments of a join are made in its result") {
  const std::string body = "  a = relu(x); b = tanh(x); y = channels(a, b) }";
  Graph one = parsed(kChannels + "graph g(x: f32[1,8,6,5]) -> (y) {" + body);
  CHECK(homes_of(one) == "a in y at 0; b in y at 240; ");
  Graph batch = parsed(kChannels + "graph g(x: f32[4,8,6,5]) -> (y) {" + body);
  CHECK(homes_of(batch) == "a in y at 0,480,30,5,1; b in y at 240,480,30,5,1; ");
  Graph open = parsed(kChannels + "graph g(x: f32[1,8,H,5]) -> (y) {" + body);
  CHECK(homes_of(open, {{"H", 1, 64, {}}}) == "a in y at 0; b in y at 40*H; ");
  // Where strides would not be numbers, the join copies.
  Graph both = parsed(kChannels + "graph g(x: f32[2,8,H,5]) -> (y) {" + body);
  CHECK(homes_of(both, {{"H", 1, 64, {}}}).empty());
}

TEST_CASE("homes: what callers give, short rows, and rows between rows stay apart") {
  Graph given = parsed(kChannels +
                       "graph g(x: f32[1,8,6,5]) -> (y) {"
                       "  a = relu(x); y = channels(a, x) }");
  CHECK(homes_of(given).empty());
  Graph seen = parsed(kChannels +
                      "graph g(x: f32[1,8,6,5]) -> (a, y) {"
                      "  a = relu(x); b = tanh(x); y = channels(a, b) }");
  CHECK(homes_of(seen).empty());
  Graph narrow = parsed(
      "graph g(x: f32[64,8]) -> (y) {"
      "  a = relu(x); b = tanh(x); y = concat(a, b) }");
  CHECK(homes_of(narrow).empty());
  // The kernel of b reads rows between those that it would write.
  Graph between = parsed(
      "graph g(x: f32[64,16]) -> (y) {"
      "  a = relu(x); b = tanh(a); y = concat(a, b) }");
  CHECK(homes_of(between).empty());
  Graph apart = parsed(kChannels +
                       "graph g(x: f32[1,8,6,5]) -> (y) {"
                       "  a = relu(x); b = tanh(a); y = channels(a, b) }");
  CHECK(homes_of(apart) == "a in y at 0; b in y at 240; ");
}

TEST_CASE("homes: what two joins read is made in the larger one") {
  Graph graph = parsed(
      "graph g(x: f32[4,16]) -> (y, z) {"
      "  a = relu(x); b = tanh(x); c = gelu(x); d = exp(x)\n"
      "  y = concat3(a, b, c); z = concat(a, d) }");
  CHECK(homes_of(graph) == "a in y at 0,48,1; b in y at 16,48,1; c in y at 32,48,1; ");
}

TEST_CASE("homes: joins of joins, and views of parts") {
  Graph nested = parsed(
      "graph g(x: f32[4,16]) -> (z) {"
      "  a = relu(x); b = tanh(x); c = gelu(x)\n"
      "  y = concat(a, b); z = concat(y, c) }");
  CHECK(homes_of(nested) ==
        "a in z at 0,48,1; b in z at 16,48,1; c in z at 32,48,1; y in z at 0,48,1; ");
  Graph viewed = parsed(
      "op row(X: f32[N]) -> (Y: f32[1,N]) { Y[i,j] = X[j] }\n"
      "graph g(x: f32[16]) -> (z) {"
      "  a = relu(x); b = tanh(x); c = row(a); d = row(b); z = concat(c, d) }");
  CHECK(homes_of(viewed) == "a in z at 0; b in z at 16; c in z at 0; d in z at 16; ");
}

TEST_CASE("homes: no kernel writes rows between rows that it reads, by a view neither") {
  const std::string text =
      "op cat(A: f32[N,C], B: f32[N,D]) -> (Y: f32[N,C+D]) { Y[i,j] = select(j < C, A[i,j], "
      "B[i,j-C]) }\n"
      "op stack(A: f32[N,C], B: f32[M,C]) -> (Y: f32[N+M,C]) { Y[i,j] = select(i < N, A[i,j], "
      "B[i-N,j]) }\n"
      "op halves<N=8>(X: f32[1,K]) -> (Y: f32[K/N,N]) { Y[i,j] = X[0,i*N+j] }\n"
      "graph g(x: f32[1,8], w: f32[8,16], w2: f32[8,16], w5: f32[8,2]) -> (z) {\n"
      "  b = matmul(x, w); vb = halves(b); a = matmul(x, w2); y = stack(a, b)\n"
      "  q = matmul(w5, y); c = matmul(vb, q); z = cat(y, c)\n}\n";
  Engine engine(hone::EngineOptions{.cache = ":memory:"});
  std::vector<float> x(8), w(128), w2(128), w5(16);
  float value = 0;
  for (auto* t : {&x, &w, &w2, &w5}) {
    for (float& f : *t) f = (value = value > 1 ? -1.f : value + 0.37f);
  }
  std::vector<float> results[2];
  for (const bool fuse : {false, true}) {
    const Model model = engine.load_graph(text, ModelOptions{.fuse = fuse});
    results[fuse].resize(64);
    model({{"x", {static_cast<const float*>(x.data()), {1, 8}}},
           {"w", {static_cast<const float*>(w.data()), {8, 16}}},
           {"w2", {static_cast<const float*>(w2.data()), {8, 16}}},
           {"w5", {static_cast<const float*>(w5.data()), {8, 2}}}},
          {{"z", {results[fuse].data(), {2, 32}}}});
  }
  for (size_t i = 0; i < 64; ++i) {
    CHECK(results[1][i] == doctest::Approx(results[0][i]).epsilon(1e-4));
  }
}

TEST_CASE("homes: rows of elements that share bytes are no view where they begin elsewhere") {
  const std::string flat = "op flat(X: i4[M,N]) -> (Y: i4[M*N]) { Y[i] = X[i/N, i%N] }\n";
  Graph odd = parsed(flat + "graph g(x: i4[2,3]) -> (y) { a = neg(x); y = flat(a) }");
  CHECK(homes_of(odd).empty());
  Graph whole = parsed(flat + "graph g(x: i4[3,4]) -> (y) { a = neg(x); y = flat(a) }");
  CHECK(homes_of(whole) == "a in y at 0; ");
  // What has no elements has no place.
  Graph none = parsed(kChannels +
                      "graph g(x: f32[4,8,0,5]) -> (y) {"
                      "  a = relu(x); b = tanh(x); y = channels(a, b) }");
  CHECK(homes_of(none).empty());
}

TEST_CASE("homes: kernels make parts of joins where they lie, in any order of dims") {
  Engine engine(hone::EngineOptions{.cache = ":memory:"});
  const std::string text =
      kChannels +
      "graph g(x: f32[N,16,6,5], const w: f32[16,16,3,3], const v: f32[32,32,1,1],\n"
      "        const b: f32[16], const d: f32[32]) -> (y, s) {\n"
      "  a = conv2d<S=1, P=1>(x, w, b); r = relu(a)\n"
      "  t = tanh(x)\n"
      "  j = channels(r, t)\n"
      "  y = conv2d<S=1, P=0>(j, v, d)\n"
      "  s = max_pool2d<S=2>(t)\n"
      "}";
  std::vector<float> x(size_t{3} * 16 * 30), w(size_t{16} * 16 * 9), v(size_t{32} * 32), b(16),
      d(32);
  float value = 0;
  for (auto* t : {&x, &w, &v, &b, &d}) {
    for (float& f : *t) f = (value = value > 1 ? -1.f : value + 0.37f);
  }
  const std::vector<NamedTensor> weights = {{"w", {w.data(), {16, 16, 3, 3}}},
                                            {"v", {v.data(), {32, 32, 1, 1}}},
                                            {"b", {b.data(), {16}}},
                                            {"d", {d.data(), {32}}}};
  const auto run = [&](const ModelOptions& options, int64_t n, size_t* steps) {
    const Model model = engine.load_graph(text, options);
    *steps = model.steps().size();
    std::vector<float> y(static_cast<size_t>(n) * 32 * 30), s(static_cast<size_t>(n) * 16 * 6);
    model({{"x", {static_cast<const float*>(x.data()), {n, 16, 6, 5}}}},
          {{"y", {y.data(), {n, 32, 6, 5}}}, {"s", {s.data(), {n, 16, 3, 2}}}});
    y.insert(y.end(), s.begin(), s.end());
    return y;
  };
  const std::vector<std::pair<std::string, int64_t>> batches = {
      {"N=1", 1}, {"N=3", 3}, {"N=1..3", 2}};
  for (const auto& [dims, n] : batches) {
    for (const std::string turned : {"", " | r@0,2,3,1 t@0,2,3,1 j@0,2,3,1"}) {
      CAPTURE(dims);
      CAPTURE(turned);
      size_t alone = 0, steps = 0;
      const auto expected = run({.dims = dims, .weights = weights, .fuse = false}, n, &alone);
      const auto found =
          run({.dims = dims, .weights = weights, .plan = "a+r t j y s" + turned}, n, &steps);
      CHECK(alone == 6);
      CHECK(steps == 4);
      REQUIRE(found.size() == expected.size());
      for (size_t i = 0; i < found.size(); ++i) {
        CHECK(found[i] == doctest::Approx(expected[i]).epsilon(1e-4));
      }
    }
  }
}
