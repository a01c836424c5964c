// SPDX-License-Identifier: Apache-2.0
// Models with dims that data tell: functions of the host between kernels, against plain loops.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "include/hone/hone.h"
#include "ops/graph/graph.h"

using hone::DType;
using hone::Engine;
using hone::ErrorCode;
using hone::Model;
using hone::NamedTensor;
using hone::TensorRef;
using hone::TensorShape;

namespace {

Engine host_engine() {
  hone::EngineOptions options;
  options.cache = ":memory:";
  options.threads = 1;
  return Engine(options);
}

std::vector<int64_t> list_of(const TensorShape& s) {
  return {s.extents.begin(), s.extents.begin() + s.rank};
}

/// Small numbers, about half of them 0.
std::vector<float> sparse_numbers(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> out(count);
  for (float& v : out) v = random() % 2 == 0 ? 0.0f : static_cast<float>(random() % 9) - 4;
  return out;
}

using Shapes = std::vector<TensorShape>;

/// Calls a model. What went wrong, or nothing.
std::string run(const Model& model, const std::vector<NamedTensor>& in,
                const std::vector<NamedTensor>& out, Shapes& shapes) {
  shapes.assign(out.size(), {});
  const auto done = model.try_run(in, out, {.shapes = shapes});
  return done ? "" : done.failure().message;
}

constexpr const char* kSumOfNonzero =
    "op columns(P: i64[R,N]) -> (Q: i64[N,R]) { Q[i,j] = P[j,i] }\n"
    "op pick(X: f32[A,B], Q: i64[N,R]) -> (Y: f32[N]) { Y[i] = X[Q[i,0],Q[i,1]]*2.0 }\n"
    "op total(Y: f32[N]) -> (S: f32[]) { S[] = sum[i](Y[i]) }\n"
    "graph picked(x: f32[A,7]) -> (y: f32[n], s: f32[]) {\n"
    "  p[i in 0..2,j in 0..n] = nonzero(x)\n"
    "  q = columns(p)\n"
    "  y = pick(x, q)\n"
    "  s = total(y)\n"
    "}\n";

/// Is what `kSumOfNonzero` makes of `x` right?
bool picks_right(const Model& model, const std::vector<float>& x) {
  const auto rows = static_cast<int64_t>(x.size() / 7);
  std::vector<float> y(x.size(), -1), want;
  float s = -1, sum = 0;
  for (const float v : x) {
    if (v != 0) want.push_back(2 * v);
    sum += 2 * v;
  }
  Shapes shapes;
  const std::string wrong =
      run(model, {{"x", {x.data(), {rows, 7}}}}, {{"s", {&s, {}}}, {"y", TensorRef(y)}}, shapes);
  const auto count = static_cast<int64_t>(want.size());
  if (!wrong.empty() || list_of(shapes[1]) != std::vector<int64_t>{count}) return false;
  // Small integers: sums are exact.
  return shapes[0].rank == 0 && s == sum && std::equal(want.begin(), want.end(), y.begin()) &&
         std::all_of(y.begin() + count, y.end(), [](float v) { return v == -1; });
}

}  // namespace

TEST_CASE("data dims: kernels go on behind nonzero, with any number of elements") {
  Engine engine = host_engine();
  for (const bool fuse : {true, false}) {
    const Model model = engine.load_graph(kSumOfNonzero, {.dims = "A=0..9", .fuse = fuse});
    for (unsigned seed = 0; seed < 20; ++seed) {
      CHECK(picks_right(model, sparse_numbers(7 * (seed % 10), seed)));
    }
    CHECK(picks_right(model, std::vector<float>(63, 0)));
    CHECK(picks_right(model, std::vector<float>(63, 1)));
  }
}

TEST_CASE("data dims: a model says which extents data tell, and how large they may be") {
  Engine engine = host_engine();
  const Model model = engine.load_graph(kSumOfNonzero, {.dims = "A=1..9"});
  REQUIRE(model.host_steps().size() == 1);
  const hone::ModelHostStep& step = model.host_steps()[0];
  CHECK(step.function == "nonzero");
  CHECK(step.reads == std::vector<std::string>{"x"});
  CHECK(step.makes == std::vector<std::string>{"p"});
  CHECK(step.dim == "n");
  CHECK(step.most == 63);
  CHECK(step.before == 0);
  const hone::Extent& n = model.params()[1].shape[0];
  CHECK(n.text == "n");
  CHECK(n.value == -1);
  CHECK(n.most == 63);
  CHECK(n.by_data);
  CHECK(model.params()[0].shape[0].most == 9);
  CHECK(!model.params()[0].shape[0].by_data);
  // Its text is a graph like any other, and its plan is taken.
  CHECK(model.text().find("p[i in 0..2,j in 0..n] = nonzero(x)") != std::string::npos);
  const Model again = engine.load_graph(model.text(), {.dims = "A=1..9", .plan = model.plan()});
  CHECK(again.text() == model.text());
  CHECK(picks_right(again, sparse_numbers(21, 5)));
}

TEST_CASE("data dims: threads call one model with other data") {
  Engine engine = host_engine();
  const Model model = engine.load_graph(kSumOfNonzero, {.dims = "A=0..40"});
  std::vector<int> wrong(4);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&, t] {
      for (unsigned k = 0; k < 50; ++k) {
        const auto seed = static_cast<unsigned>(t) * 1000 + k;
        wrong[t] += !picks_right(model, sparse_numbers(7 * (seed % 41), seed));
      }
    });
  }
  for (std::thread& t : threads) t.join();
  CHECK(wrong == std::vector<int>(4, 0));
}

TEST_CASE("data dims: what holds too little is refused, and nothing is written past its end") {
  Engine engine = host_engine();
  const Model model = engine.load_graph(kSumOfNonzero, {.dims = "A=0..9"});
  const std::vector<float> x = sparse_numbers(63, 3);
  const auto count =
      static_cast<size_t>(std::count_if(x.begin(), x.end(), [](float v) { return v != 0; }));
  std::vector<float> y(63, -1);
  float s = -1;
  Shapes shapes;
  const std::vector<NamedTensor> in{{"x", {x.data(), {9, 7}}}};
  const auto out = [&](size_t room) {
    return std::vector<NamedTensor>{{"y", {y.data(), {static_cast<int64_t>(room)}}},
                                    {"s", {&s, {}}}};
  };
  const std::string wrong = run(model, in, out(count - 1), shapes);
  CHECK(wrong.find(fmt::format("`y` is f32[{}] in this call", count)) != std::string::npos);
  CHECK(wrong.find("nonzero(x)") != std::string::npos);
  CHECK(std::all_of(y.begin(), y.end(), [](float v) { return v == -1; }));
  CHECK(run(model, in, out(count), shapes).empty());
  // A shape is asked for where data tell it, and of all outputs.
  const auto unasked = model.try_run(in, out(63));
  REQUIRE(!unasked);
  CHECK(unasked.failure().code == ErrorCode::kArgument);
  CHECK(unasked.failure().message.find("CallOptions::shapes") != std::string::npos);
  CHECK(!model.try_run(in, out(63), {.shapes = std::span(shapes).first(1)}));
  // Other ranks and types do not fit.
  CHECK(!run(model, in, {{"y", {y.data(), {9, 7}}}, {"s", {&s, {}}}}, shapes).empty());
}

TEST_CASE("data dims: a dim may be bound to fewer values, which a call must keep to") {
  Engine engine = host_engine();
  const Model model = engine.load_graph(kSumOfNonzero, {.dims = "A=1..9 n=0..5"});
  CHECK(model.host_steps()[0].most == 5);
  std::vector<float> x(14), y(14);
  float s = 0;
  Shapes shapes;
  for (const size_t count : {5, 6}) {
    std::fill_n(x.begin(), count, 1.0f);
    const std::string wrong =
        run(model, {{"x", {x.data(), {2, 7}}}}, {{"y", TensorRef(y)}, {"s", {&s, {}}}}, shapes);
    CHECK(wrong.empty() == (count == 5));
    if (count == 6) CHECK(wrong.find("its data tell 6; the dim was bound to 0..5") != wrong.npos);
  }
}

TEST_CASE("data dims: nonzero takes elements of all types, and any number of dims") {
  Engine engine = host_engine();
  const Model model = engine.load_graph(
      "graph g(x: f16[A,3,B]) -> (p: i64[3,n]) { p = nonzero(x) }", {.dims = "A=0..4 B=0..5"});
  for (unsigned seed = 0; seed < 12; ++seed) {
    const int64_t a = seed % 5, b = (seed * 7) % 6;
    const std::vector<float> values = sparse_numbers(static_cast<size_t>(a * 3 * b), seed);
    std::vector<uint16_t> x;
    std::vector<int64_t> want[3];
    for (size_t i = 0; i < values.size(); ++i) {
      // One, and zeros of both signs.
      x.push_back(values[i] > 0 ? 0x3c00 : values[i] < 0 ? 0xbc00 : i % 2 == 0 ? 0x8000 : 0);
      const auto place = static_cast<int64_t>(i);
      if (values[i] == 0) continue;
      want[0].push_back(place / (3 * b));
      want[1].push_back(place / b % 3);
      want[2].push_back(place % b);
    }
    std::vector<int64_t> p(3 * x.size() + 1, -1);
    Shapes shapes;
    const auto most = static_cast<int64_t>(x.size());
    REQUIRE(run(model, {{"x", {static_cast<const void*>(x.data()), DType::kF16, {a, 3, b}}}},
                {{"p", {p.data(), {3, most}}}}, shapes) == "");
    CHECK(list_of(shapes[0]) == std::vector<int64_t>{3, static_cast<int64_t>(want[0].size())});
    want[0].insert(want[0].end(), want[1].begin(), want[1].end());
    want[0].insert(want[0].end(), want[2].begin(), want[2].end());
    CHECK(std::equal(want[0].begin(), want[0].end(), p.begin()));
  }
}

TEST_CASE("data dims: compress takes slices along an axis, or elements") {
  Engine engine = host_engine();
  const Model rows = engine.load_graph(
      "op twice(X: f32[A,B,C]) -> (Y: f32[A,B,C]) { Y[i,j,k] = X[i,j,k]*2.0 }\n"
      "graph g(x: f32[2,A,3], c: bool[N]) -> (y: f32[2,m,3]) {\n"
      "  z[i,j in 0..m,k] = compress<axis=1>(x, c)\n  y = twice(z)\n}",
      {.dims = "A=0..8 N=0..8"});
  const Model all =
      engine.load_graph("graph g(x: i8[A,3], c: bool[N]) -> (y: i8[m]) { y = compress(x, c) }",
                        {.dims = "A=0..8 N=0..30"});
  for (unsigned seed = 0; seed < 16; ++seed) {
    std::mt19937 random(seed);
    const int64_t a = seed % 9, n = std::min<int64_t>(a, seed % 7);
    const std::vector<float> x = sparse_numbers(static_cast<size_t>(6 * a), seed);
    std::vector<uint8_t> c(static_cast<size_t>(n) + 1);
    std::vector<float> want, y(x.size() + 1);
    for (int64_t k = 0; k < n; ++k) c[static_cast<size_t>(k)] = random() % 2;
    for (int64_t i = 0; i < 2 * a * 3; ++i) {
      const int64_t k = i / 3 % a;
      if (k < n && c[static_cast<size_t>(k)]) want.push_back(2 * x[static_cast<size_t>(i)]);
    }
    const NamedTensor condition{"c", {static_cast<const void*>(c.data()), DType::kBool, {n}}};
    Shapes shapes;
    REQUIRE(run(rows, {{"x", {x.data(), {2, a, 3}}}, condition}, {{"y", {y.data(), {2, a, 3}}}},
                shapes) == "");
    const auto m = static_cast<int64_t>(want.size()) / 6;
    CHECK(list_of(shapes[0]) == std::vector<int64_t>{2, m, 3});
    CHECK(std::equal(want.begin(), want.end(), y.begin()));
    std::vector<int8_t> bytes(static_cast<size_t>(3 * a)), some(bytes.size() + 1), right;
    for (int8_t& v : bytes) v = static_cast<int8_t>(random());
    for (size_t i = 0; i < std::min(bytes.size(), static_cast<size_t>(n)); ++i) {
      if (c[i]) right.push_back(bytes[i]);
    }
    REQUIRE(run(all, {{"x", {bytes.data(), {a, 3}}}, condition}, {{"y", TensorRef(some)}},
                shapes) == "");
    CHECK(list_of(shapes[0]) == std::vector<int64_t>{static_cast<int64_t>(right.size())});
    CHECK(std::equal(right.begin(), right.end(), some.begin()));
  }
  const uint8_t past[] = {0, 0, 0, 1};
  const int8_t x[] = {1, 2, 3};
  int8_t y[4];
  Shapes shapes;
  const std::string wrong =
      run(all, {{"x", {x, {1, 3}}}, {"c", {static_cast<const void*>(past), DType::kBool, {4}}}},
          {{"y", TensorRef(y)}}, shapes);
  CHECK(wrong.find("its condition is true at 3; there are 3 slices") != std::string::npos);
}

TEST_CASE("data dims: unique orders numbers, and tells where each comes from") {
  Engine engine = host_engine();
  for (const bool sorted : {true, false}) {
    const Model model = engine.load_graph(
        fmt::format("graph g(x: f32[A,2]) -> (y: f32[n], f: i64[n], r: i64[2*A], c: i64[n]) {{\n"
                    "  y, f, r, c = unique<sorted={}>(x)\n}}",
                    sorted ? 1 : 0),
        {.dims = "A=0..20"});
    for (unsigned seed = 0; seed < 12; ++seed) {
      const size_t count = 2 * (seed * 5 % 21);
      std::vector<float> x = sparse_numbers(count, seed), want;
      for (size_t i = 0; i < count; i += 5) x[i] = i % 2 == 0 ? NAN : -0.0f;
      const auto same = [](float a, float b) { return a == b || (a != a && b != b); };
      for (const float v : x) {
        const bool there =
            std::any_of(want.begin(), want.end(), [&](float w) { return same(v, w); });
        if (!there) want.push_back(v);
      }
      if (sorted) {
        std::sort(want.begin(), want.end(), [](float a, float b) {
          return std::isnan(a) || std::isnan(b) ? !std::isnan(a) && std::isnan(b) : a < b;
        });
      }
      std::vector<float> y(count + 1);
      std::vector<int64_t> f(count + 1), r(count + 1), c(count + 1);
      const auto room = static_cast<int64_t>(count);
      Shapes shapes;
      REQUIRE(run(model, {{"x", {x.data(), {room / 2, 2}}}},
                  {{"y", {y.data(), {room}}},
                   {"f", {f.data(), {room}}},
                   {"r", {r.data(), {room}}},
                   {"c", {c.data(), {room}}}},
                  shapes) == "");
      REQUIRE(list_of(shapes[0]) == std::vector<int64_t>{static_cast<int64_t>(want.size())});
      CHECK(list_of(shapes[2]) == std::vector<int64_t>{room});
      bool right = true;
      for (size_t k = 0; k < want.size(); ++k) {
        const auto like = [&](float v) { return same(v, want[k]); };
        right &= like(y[k]) && c[k] == std::count_if(x.begin(), x.end(), like) &&
                 f[k] == std::find_if(x.begin(), x.end(), like) - x.begin();
      }
      for (size_t i = 0; i < count; ++i) right &= same(x[i], want[static_cast<size_t>(r[i])]);
      CHECK(right);
    }
  }
}

TEST_CASE("data dims: unique of slices along an axis") {
  Engine engine = host_engine();
  const Model model = engine.load_graph(
      "graph g(x: i8[3,A]) -> (y: i8[3,n], r: i64[A]) {\n"
      "  y, _, r, _ = unique<axis=1>(x)\n}",
      {.dims = "A=0..20"});
  for (unsigned seed = 0; seed < 12; ++seed) {
    std::mt19937 random(seed);
    const size_t a = seed * 7 % 21;
    std::vector<int8_t> x(3 * a), y(3 * a + 1);
    for (int8_t& v : x) v = static_cast<int8_t>(random() % 3) - 1;
    std::set<std::vector<int8_t>> columns;
    for (size_t k = 0; k < a; ++k) columns.insert({x[k], x[a + k], x[2 * a + k]});
    const std::vector<std::vector<int8_t>> want(columns.begin(), columns.end());
    std::vector<int64_t> r(a + 1);
    const auto all = static_cast<int64_t>(a);
    Shapes shapes;
    REQUIRE(run(model, {{"x", {x.data(), {3, all}}}},
                {{"y", {y.data(), {3, all}}}, {"r", {r.data(), {all}}}}, shapes) == "");
    REQUIRE(list_of(shapes[0]) == std::vector<int64_t>{3, static_cast<int64_t>(want.size())});
    bool right = true;
    for (size_t d = 0; d < 3; ++d) {
      for (size_t k = 0; k < want.size(); ++k) right &= y[d * want.size() + k] == want[k][d];
      for (size_t k = 0; k < a; ++k) right &= x[d * a + k] == want[static_cast<size_t>(r[k])][d];
    }
    CHECK(right);
  }
}

TEST_CASE("data dims: a kernel that names such a dim alone runs behind what tells it") {
  Engine engine = host_engine();
  const Model model = engine.load_graph(
      "op ones(X: f32[A]) -> (Y: f32[N]) { Y[i in 0..N] = X[0]*0.0 + 1.0 }\n"
      "op total(Y: f32[N]) -> (S: f32[]) { S[] = sum[i](Y[i]) }\n"
      "graph g(x: f32[A]) -> (s: f32[]) {\n"
      "  p[i in 0..1, j in 0..n] = nonzero(x)\n"
      "  o[i in 0..n] = ones(x)\n"
      "  s = total(o)\n}",
      {.dims = "A=1..50"});
  for (const size_t count : {1, 3, 50}) {
    const std::vector<float> x(count, 2);
    float s = -1;
    model({{"x", {x.data(), {static_cast<int64_t>(count)}}}}, {{"s", {&s, {}}}});
    CHECK(s == static_cast<float>(count));
  }
}

TEST_CASE("data dims: of constants a function runs once, when the model is loaded") {
  Engine engine = host_engine();
  const std::vector<float> w{0, 3, 0, 4};
  const char* text =
      "op take(X: f32[A], P: i64[1,N]) -> (Y: f32[N]) { Y[i] = X[P[0,i]] }\n"
      "graph g(x: f32[4], const w: f32[4]) -> (y: f32[n]) { p[i,j in 0..n] = nonzero(w); y = "
      "take(x, p) }";
  const Model model = engine.load_graph(text, {.weights = {{"w", TensorRef(w)}}});
  CHECK(model.host_steps().empty());
  CHECK(model.params().back().shape[0].value == 2);
  CHECK(model.params().size() == 3);
  const std::vector<float> x{1, 2, 3, 4};
  std::vector<float> y(2);
  model({{"x", TensorRef(x)}}, {{"y", TensorRef(y)}});
  CHECK(y == std::vector<float>{2, 4});
}

TEST_CASE("data dims: the builder of graphs takes functions of the host as it takes ops") {
  Engine engine = host_engine();
  hone::GraphBuilder g("built");
  const auto x = g.input("x", DType::kF32, {"A"});
  const auto found = g.add<4>("unique", {x}, {.params = {{"sorted", "0"}}});
  g.output("y", g.add("relu", {found[0]}));
  const Model model = engine.load(g, {.dims = "A=1..9"});
  const std::vector<float> in{3, -1, 3, 2};
  std::vector<float> y(4);
  Shapes shapes;
  REQUIRE(run(model, {{"x", {in.data(), {4}}}}, {{"y", TensorRef(y)}}, shapes) == "");
  CHECK(list_of(shapes[0]) == std::vector<int64_t>{3});
  CHECK(std::vector<float>(y.begin(), y.begin() + 3) == std::vector<float>{3, 0, 2});
}

TEST_CASE("data dims: joins wait for the sizes of what they stand behind") {
  const std::string stack =
      "op stack(A: f32[N,C], B: f32[M,C]) -> (Y: f32[N+M,C]) { Y[i,j] = select(i < N, A[i,j], "
      "B[i-N,j]) }\n";
  const std::string one = stack +
                          "graph g(x: f32[8,16], m: bool[8]) -> (z: f32[n+8,16]) {\n"
                          "  b = relu(x)\n"
                          "  a[i in 0..n, j in 0..16] = compress<axis=0>(x, m)\n"
                          "  z = stack(a, b)\n}\n";
  const std::string two = stack +
                          "graph g(x: f32[8,16], m: bool[8]) -> (z: f32[n+q,16]) {\n"
                          "  a[i in 0..n, j in 0..16] = compress<axis=0>(x, m)\n"
                          "  k = lnot(m)\n"
                          "  b[i in 0..q, j in 0..16] = compress<axis=0>(x, k)\n"
                          "  z = stack(b, a)\n}\n";
  std::vector<float> x(8 * 16);
  for (size_t i = 0; i < x.size(); ++i) x[i] = 1 + static_cast<float>(i);
  const bool mask[8] = {true, false, true, false, false, false, true, false};
  const std::vector<NamedTensor> in = {{"x", {static_cast<const float*>(x.data()), {8, 16}}},
                                       {"m", {static_cast<const bool*>(mask), {8}}}};
  for (const bool second : {false, true}) {
    const std::string text =
        (second ? "op lnot(X: bool[N]) -> (Y: bool[N]) { Y[i] = !X[i] }\n" + two : one);
    const Model model = host_engine().load_graph(text);
    const std::vector<int> rows = second ? std::vector<int>{1, 3, 4, 5, 7, 0, 2, 6}
                                         : std::vector<int>{0, 2, 6, 0, 1, 2, 3, 4, 5, 6, 7};
    std::vector<float> room(64 * 16, -7);
    float* z = room.data() + 16 * 16;
    Shapes shapes;
    REQUIRE(run(model, in, {{"z", {z, {16, 16}}}}, shapes) == "");
    CHECK(list_of(shapes[0]) == std::vector<int64_t>{static_cast<int64_t>(rows.size()), 16});
    for (size_t i = 0; i < rows.size() * 16; ++i) {
      CHECK(z[i] == x[static_cast<size_t>(rows[i / 16]) * 16 + i % 16]);
    }
    // Nothing else is written, nor anything past the end where there is too little room.
    const auto others = [&](size_t written) {
      size_t changed = 0;
      for (size_t i = 0; i < room.size(); ++i) {
        changed += (i < 256 || i >= 256 + written) && room[i] != -7;
      }
      return changed;
    };
    CHECK(others(rows.size() * 16) == 0);
    std::fill(room.begin(), room.end(), -7.0f);
    CHECK(run(model, in, {{"z", {z, {2, 16}}}}, shapes) != "");
    CHECK(others(2 * 16) == 0);
  }
}

TEST_CASE("data dims: two alike are not one where a dim of both is named") {
  const std::string text =
      "op ramp(R: i64[N]) -> (Y: i64[N]) { Y[i] = R[i] + i }\n"
      "graph g(x: f32[A]) -> (y: i64[A], z: i64[A]) {\n"
      "  _, _, r[i in 0..A], _ = unique(x)\n"
      "  _, _, s[i in 0..A], _ = unique(x)\n"
      "  y = ramp(r); z = ramp(s)\n}\n";
  const Model model = host_engine().load_graph(text, {.dims = "A=5"});
  std::vector<float> x = {3, 1, 3, 2, 1};
  std::vector<int64_t> y(5), z(5);
  Shapes shapes;
  REQUIRE(run(model, {{"x", x}}, {{"y", y}, {"z", z}}, shapes) == "");
  CHECK(y == z);
  CHECK(y == std::vector<int64_t>{2, 1, 4, 4, 4});
}

TEST_CASE("data dims: graphs that misuse them are errors") {
  const auto why = [](const std::string& head, const std::string& body) {
    const auto graph = hone::ops::parse_graph("graph g(" + head + ") { " + body + " }");
    return graph ? std::string() : graph.failure().message;
  };
  const std::string head = "x: f32[A]) -> (p: i64[1,n]";
  CHECK(why(head, "p = nonzero(x)").empty());
  const auto says = [&](const std::string& h, const std::string& body, const std::string& part) {
    const std::string text = why(h, body);
    CHECK_MESSAGE(text.find(part) != std::string::npos, text);
  };
  says("x: f32[A]) -> (p: i64[1,A]", "p = nonzero(x)", "`A` has a value before this statement");
  says("x: f32[A]) -> (p: i64[2,n]", "p = nonzero(x)", "dim 0 of `p` is declared as 2, and is 1");
  says(head, "p[i in 0..1, j in 0..m] = nonzero(x)", "declared as n");
  says(head, "p = nonzero(x, x)", "takes 1 to 1 tensors, and 2 are given");
  says(head, "p = nonzero<axis=1>(x)", "there is no parameter `axis`");
  says("x: f32[A]) -> (y: f32[n]", "y, _, _, _ = unique<axis=1>(x)", "there is no axis 1 of 1");
  says("x: f32[A]) -> (y: f32[n]", "y = unique(x)", "makes 4 tensors, and 1 are named");
  says("x: f32[A]) -> (y: f32[n]", "y, _, _, _ = unique<sorted=2>(x)", "0 to 1 are accepted");
  says("x: i4[A]) -> (p: i64[1,n]", "p = nonzero(x)", "no elements of less than a byte");
  says("x: f32[A]) -> (p: i8[1,n]", "p = nonzero(x)", "`p` is i64 here, as `nonzero` makes it");
  says("x: f32[A]) -> (q: i64[1,n]", "p: i8[i in 0..1, j in 0..n] = nonzero(x); q = neg(p)",
       "and said to be i8");
  says("x: f32[A]) -> (y: i64[n]", "y, _, _, _ = unique(x)", "`y` is f32 here");
  Engine engine = host_engine();
  const auto joined = engine.try_load_graph(kSumOfNonzero, {.dims = "A=1..9", .plan = "p+q y s"});
  REQUIRE(!joined);
  CHECK(joined.failure().message.find("a function of the host with others") != std::string::npos);
  const auto late = engine.try_load_graph(kSumOfNonzero, {.dims = "A=1..9", .plan = "q p y s"});
  CHECK(!late);
}
