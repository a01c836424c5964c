// SPDX-License-Identifier: Apache-2.0
// Sums of dequantized products as sums of integers: the same results, and where they stay.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "include/hone/hone.h"
#include "ops/graph/passes.h"

using hone::DType;
using hone::Engine;
using hone::ops::Graph;

namespace {

/// Ops that graphs here use besides the library's.
const std::string kOps =
    "op real(X: u8[M,K], S: f32[], Z: u8[]) -> (Y: f32[M,K]) { Y[i,k] = (cast<f32>(X[i,k]) - "
    "cast<f32>(Z[]))*S[] }\n"
    "op real_rows(X: u8[M,K], S: f32[M], Z: u8[M]) -> (Y: f32[M,K]) { Y[i,k] = cast<f32>(X[i,k] - "
    "Z[i])*S[i] }\n"
    "op real_signed(X: i8[M,K], S: f32[]) -> (Y: f32[M,K]) { Y[i,k] = S[]*cast<f32>(X[i,k]) }\n"
    "op columns(W: i8[K,N], S: f32[N]) -> (Y: f32[K,N]) { Y[k,j] = cast<f32>(W[k,j])*S[j] }\n"
    "op columns_about(W: i8[K,N], S: f32[N], Z: i8[N]) -> (Y: f32[K,N]) { Y[k,j] = "
    "(cast<f32>(W[k,j]) - cast<f32>(Z[j]))*S[j] }\n"
    "op by_rows(W: i8[K,N], S: f32[K]) -> (Y: f32[K,N]) { Y[k,j] = cast<f32>(W[k,j])*S[k] }\n"
    "op about_rows(W: i8[K,N], S: f32[N], Z: i8[K]) -> (Y: f32[K,N]) { Y[k,j] = "
    "(cast<f32>(W[k,j]) - cast<f32>(Z[k]))*S[j] }\n"
    "op halves(W: i8[K,N], S: f16[N]) -> (Y: f16[K,N]) { Y[k,j] = cast<f16>(cast<f32>(W[k,j])*"
    "cast<f32>(S[j])) }\n"
    "op image(X: u8[B,C,H,W], S: f32[], Z: u8[]) -> (Y: f32[B,C,H,W]) { Y[b,c,i,j] = "
    "(cast<f32>(X[b,c,i,j]) - cast<f32>(Z[]))*S[] }\n"
    "op filter(F: i8[O,C,R,Q], S: f32[O], Z: i8[O]) -> (Y: f32[O,C,R,Q]) { Y[o,c,r,q] = "
    "(cast<f32>(F[o,c,r,q]) - cast<f32>(Z[o]))*S[o] }\n"
    "op slide(X: f32[B,C,H,W], F: f32[O,C,3,3], b: f32[O]) -> (Y: f32[B,O,H,W]) { Y[n,o,i,j] = "
    "sum[c,r,s]((X[n,c,i + r - 1,j + s - 1] else 0)*F[o,c,r,s]) + b[o] }\n"
    "op about(A: u8[M,K], ZA: u8[], B: i8[K,N], ZB: i8[N]) -> (Y: i32[M,N]) { Y[i,j] = "
    "sum[k](cast<i32>(A[i,k] - ZA[])*cast<i32>(B[k,j] - ZB[j])) }\n";

/// What the pass makes of a graph; values whose names begin with `zero` are constants of 0.
Graph passed(const std::string& text, const std::vector<hone::ir::Dim>& dims = {}) {
  auto graph = hone::ops::parse_graph(kOps + text);
  REQUIRE_MESSAGE(graph, (graph ? "" : graph.failure().message));
  hone::ops::KnownBytes known(graph->values.size());
  for (size_t v = 0; v < known.size(); ++v) {
    if (graph->values[v].name.starts_with("zero")) known[v] = 0;
  }
  return hone::ops::without_unread(
      hone::ops::with_integer_sums(*std::move(graph), dims, std::move(known)));
}

/// Does a node that sums products read bytes?
bool sums_integers(const Graph& g) {
  return std::any_of(g.nodes.begin(), g.nodes.end(), [](const auto& n) {
    const std::string& text = n.op.text();
    return text.find("_of_bytes") != text.npos && text.find("_part") == text.npos;
  });
}

struct Tensor {
  DType type;
  std::vector<int64_t> shape;
  std::vector<char> bytes;

  size_t count() const {
    size_t n = 1;
    for (const int64_t e : shape) n *= static_cast<size_t>(e);
    return n;
  }
  hone::TensorRef ref() const {
    return {static_cast<const void*>(bytes.data()), type, std::span(shape)};
  }
};

/// Small numbers of any type, scales above 0.
Tensor random_tensor(DType type, std::vector<int64_t> shape, std::mt19937& random) {
  Tensor t{type, std::move(shape), {}};
  t.bytes.resize(t.count() * static_cast<size_t>(hone::size_of(type)));
  for (size_t i = 0; i < t.count(); ++i) {
    if (type == DType::kF32) {
      const float v = 0.01F + 0.001F * static_cast<float>(random() % 16);
      std::memcpy(t.bytes.data() + i * sizeof v, &v, sizeof v);
    } else {
      t.bytes[i] = static_cast<char>(random() & 255);
    }
  }
  return t;
}

/// The result y of a graph, by kernels of its own for each node or not. `kernels` takes their
/// problems.
std::vector<float> result(Engine& engine, const std::string& text,
                          const std::map<std::string, Tensor>& tensors,
                          const std::vector<int64_t>& shape, bool fuse, std::string* kernels) {
  std::vector<hone::NamedTensor> weights, inputs;
  for (const auto& [name, t] : tensors) {
    (name[0] == 'x' ? inputs : weights).push_back({name, t.ref()});
  }
  const auto model =
      engine.try_load_graph(text, hone::ModelOptions{.dims = "", .weights = weights, .fuse = fuse});
  REQUIRE_MESSAGE(model, (model ? "" : model.failure().message));
  for (const hone::ModelStep& s : model->steps()) *kernels += s.kernel.problem() + "\n";
  size_t count = 1;
  for (const int64_t e : shape) count *= static_cast<size_t>(e);
  std::vector<float> y(count, -1.0F);
  const hone::NamedTensor outputs[] = {{"y", {y.data(), shape}}};
  const auto done = model->try_run(inputs, outputs);
  REQUIRE_MESSAGE(done, (done ? "" : done.failure().message));
  return y;
}

/// Both agree. Whether the fused one sums integers: the cost model says.
bool check_same(Engine& engine, const std::string& graph,
                const std::map<std::string, Tensor>& tensors, const std::vector<int64_t>& shape) {
  INFO(graph);
  std::string apart, together;
  const auto want = result(engine, kOps + graph, tensors, shape, false, &apart),
             got = result(engine, kOps + graph, tensors, shape, true, &together);
  INFO(together);
  CHECK(sums_integers(passed(graph)));
  float largest = 0;
  for (const float v : want) largest = std::max(largest, std::fabs(v));
  CHECK(largest > 0);
  for (size_t i = 0; i < want.size(); ++i) CHECK(std::fabs(want[i] - got[i]) <= 2e-5F * largest);
  CHECK(apart.find("cast<f32>(sum[") == apart.npos);
  return together.find("cast<f32>(sum[") != together.npos;
}

}  // namespace

TEST_CASE("integer sums: products of dequantized numbers, with and without zero points") {
  Engine engine(hone::EngineOptions{.cache = ":memory:"});
  std::mt19937 random(1);
  const std::string lefts[] = {"real(x, s, z)", "real_rows(x, sr, zr)", "real_signed(xi, s)"};
  const std::string rights[] = {"columns(w, sw)", "columns_about(w, sw, zw)"};
  int integers = 0;
  for (int i = 0; i < 12; ++i) {
    const auto m = static_cast<int64_t>(1 + random() % 20),
               k = static_cast<int64_t>(1 + random() % 70),
               n = static_cast<int64_t>(1 + random() % 40);
    const std::string &left = lefts[i % 3], &right = rights[i / 3 % 2];
    const bool is_signed = i % 3 == 2, by_row = i % 3 == 1, about = i / 3 % 2 == 1;
    std::map<std::string, Tensor> t;
    t[is_signed ? "xi" : "x"] = random_tensor(is_signed ? DType::kI8 : DType::kU8, {m, k}, random);
    std::string given =
        fmt::format("{}: {}[{},{}]", is_signed ? "xi" : "x", is_signed ? "i8" : "u8", m, k);
    const auto weight = [&](const std::string& name, DType type, std::vector<int64_t> shape) {
      given += fmt::format(", const {}: {}[{}]", name, name_of(type), fmt::join(shape, ","));
      t[name] = random_tensor(type, std::move(shape), random);
    };
    if (by_row) weight("sr", DType::kF32, {m});
    if (by_row) weight("zr", DType::kU8, {m});
    if (!by_row) weight("s", DType::kF32, {});
    if (!by_row && !is_signed) weight("z", DType::kU8, {});
    weight("w", DType::kI8, {k, n});
    weight("sw", DType::kF32, {n});
    if (about) weight("zw", DType::kI8, {n});
    integers += check_same(
        engine,
        fmt::format("graph g({}) -> (y: f32[{},{}]) {{ a = {}; b = {}; c = matmul(a, b); "
                    "y = relu(c) }}",
                    given, m, n, left, right),
        t, {m, n});
  }
  CHECK(integers >= 6);
}

TEST_CASE("integer sums: both sides from calls, and weights on the left") {
  Engine engine(hone::EngineOptions{.cache = ":memory:"});
  std::mt19937 random(2);
  std::map<std::string, Tensor> t;
  t["x1"] = random_tensor(DType::kU8, {5, 33}, random);
  t["x2"] = random_tensor(DType::kU8, {33, 17}, random);
  t["s"] = random_tensor(DType::kF32, {}, random);
  t["z"] = random_tensor(DType::kU8, {}, random);
  check_same(engine,
             "graph g(x1: u8[5,33], x2: u8[33,17], const s: f32[], const z: u8[]) -> (y: f32[5,17])"
             " { a = real(x1, s, z); b = real(x2, s, z); y = matmul(a, b) }",
             t, {5, 17});
  t.erase("x1");
  t["w"] = random_tensor(DType::kU8, {5, 33}, random);
  check_same(engine,
             "graph g(x2: u8[33,17], const w: u8[5,33], const s: f32[], const z: u8[]) -> "
             "(y: f32[5,17]) { a = real(w, s, z); b = real(x2, s, z); y = matmul(a, b) }",
             t, {5, 17});
}

TEST_CASE("integer sums: convolutions read the zero point beyond the border") {
  int integers = 0;
  Engine engine(hone::EngineOptions{.cache = ":memory:"});
  std::mt19937 random(3);
  for (const int64_t c : {1, 4, 19}) {
    for (const bool about : {false, true}) {
      const int64_t h = 3 + c, o = 2 * c + 1;
      std::map<std::string, Tensor> t;
      t["x"] = random_tensor(DType::kU8, {1, c, h, 7}, random);
      t["s"] = random_tensor(DType::kF32, {}, random);
      t["z"] = random_tensor(DType::kU8, {}, random);
      t["f"] = random_tensor(DType::kI8, {o, c, 3, 3}, random);
      t["sf"] = random_tensor(DType::kF32, {o}, random);
      t["zf"] = random_tensor(DType::kI8, {o}, random);
      if (!about) std::fill(t["zf"].bytes.begin(), t["zf"].bytes.end(), 0);
      t["b"] = random_tensor(DType::kF32, {o}, random);
      integers += check_same(
          engine,
          fmt::format("graph g(x: u8[1,{0},{1},7], const s: f32[], const z: u8[], const f: "
                      "i8[{2},{0},3,3], const sf: f32[{2}], const zf: i8[{2}], const b: "
                      "f32[{2}]) -> (y: f32[1,{2},{1},7]) {{ a = image(x, s, z); d = "
                      "filter(f, sf, zf); y = slide(a, d, b) }}",
                      c, h, o),
          t, {1, o, h, 7});
    }
  }
  CHECK(integers >= 1);
}

TEST_CASE("integer sums: what constants alone make is made by nodes of its own") {
  const Graph g = passed(
      "graph g(x: u8[M,64], const s: f32[], const z: u8[], const w: i8[64,32], const sw: f32[32]) "
      "-> (y: f32[M,32]) { a = real(x, s, z); b = columns(w, sw); y = matmul(a, b) }");
  REQUIRE(g.nodes.size() == 3);
  for (size_t n = 0; n < 2; ++n) {
    for (const int v : g.nodes[n].reads) {
      CHECK(g.values[static_cast<size_t>(v)].kind != hone::ops::GraphValue::kInput);
    }
  }
  // A zero point that is 0 leaves the scales.
  CHECK(passed("graph g(x: u8[M,64], const s: f32[], const zero: u8[], const w: i8[64,32], "
               "const sw: f32[32]) -> (y: f32[M,32]) { a = real(x, s, zero); b = columns(w, sw); "
               "y = matmul(a, b) }")
            .nodes.size() == 2);
  // Sums of integers about zero points are split, and those about none stay.
  CHECK(
      sums_integers(passed("graph g(x: u8[M,64], const z: u8[], const w: i8[64,32], const zw: "
                           "i8[32]) -> (y: i32[M,32]) { y = about(x, z, w, zw) }")));
  CHECK_FALSE(
      sums_integers(passed("graph g(x: u8[M,64], w: i8[64,32]) -> (y: i32[M,32]) { "
                           "y = matmul_u8i8(x, w) }")));
}

TEST_CASE("integer sums: left alone where they overflow, or where terms differ in their scale") {
  const auto stays = [](const std::string& given, const std::string& right,
                        const std::vector<hone::ir::Dim>& dims = {}, const char* k = "64") {
    const std::string text = fmt::format(
        "graph g(x: u8[M,{0}], const s: f32[], const z: u8[], const w: i8[{0},32], {1}) -> "
        "(y: f32[M,32]) {{ a = real(x, s, z); b = {2}; y = matmul(a, b) }}",
        k, given, right);
    return !sums_integers(passed(text, dims));
  };
  CHECK_FALSE(stays("const sw: f32[32]", "columns(w, sw)"));
  CHECK(stays("const sk: f32[64]", "by_rows(w, sk)"));
  CHECK(stays("const sw: f32[32], const zk: i8[64]", "about_rows(w, sw, zk)"));
  // 65,793 terms of at most 255 and 128 are the last that stay below 2^31.
  CHECK_FALSE(stays("const sw: f32[32]", "columns(w, sw)", {}, "65792"));
  CHECK(stays("const sw: f32[32]", "columns(w, sw)", {}, "65794"));
  CHECK(stays("const sw: f32[32]", "columns(w, sw)", {{"K", 1, 100000, {}}}, "K"));
  CHECK_FALSE(stays("const sw: f32[32]", "columns(w, sw)", {{"K", 1, 1000, {}}}, "K"));
  // What is rounded to f16 first is no integer.
  CHECK_FALSE(sums_integers(
      passed("graph g(x: f16[M,64], const w: i8[64,32], const sw: f16[32]) -> (y: f16[M,32]) { "
             "b = halves(w, sw); y = matmul(x, b) }")));
  // One side of floats.
  CHECK_FALSE(sums_integers(
      passed("graph g(x: f32[M,64], const w: i8[64,32], const sw: f32[32]) -> (y: f32[M,32]) { "
             "b = columns(w, sw); y = matmul(x, b) }")));
}
