// SPDX-License-Identifier: Apache-2.0
// Graphs made in code: they are those that are written by hand.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "include/hone/hone.h"
#include "ops/graph/graph.h"

using hone::DType;
using hone::Engine;
using hone::GraphBuilder;
using hone::GraphTensor;
using hone::Model;
using hone::TensorRef;

namespace {

constexpr const char* kHalves =
    "op halves(X: f32[M,N]) -> (Y: f32[M,N], Z: f32[M,N]) { Y[i,j] = X[i,j]/2; Z[i,j] = 1-X[i,j] "
    "}";

/// Canonical text of a graph; what is wrong instead.
std::string canonical(const std::string& text) {
  const auto graph = hone::ops::parse_graph(text);
  return graph ? graph->text : graph.failure().message;
}

std::string canonical(const GraphBuilder& g) {
  const auto text = g.try_text();
  return text ? canonical(*text) : text.failure().message;
}

Engine quiet_engine() { return Engine({.cache = ":memory:"}); }

std::vector<float> ramp(size_t count, float step) {
  std::vector<float> out(count);
  for (size_t i = 0; i < count; ++i) out[i] = static_cast<float>(i % 11) * step - 0.3f;
  return out;
}

}  // namespace

TEST_CASE("graph builder: what is built is the graph that is written by hand") {
  GraphBuilder g("mlp");
  const GraphTensor x = g.input("x", DType::kF32, {"B", 784});
  const GraphTensor w = g.weight("w", DType::kF32, {784, "10"}),
                    b = g.weight("b", DType::kF32, {10});
  const GraphTensor h = g.add("fc_relu", {x, w, b});
  CHECK(h.name() == "fc_relu_1");
  g.output("y", g.add("softmax", {h}));
  CHECK(g.text() ==
        "graph mlp(x: f32[B,784], const w: f32[784,10], const b: f32[10]) -> (y) {\n"
        "  fc_relu_1 = fc_relu(x, w, b)\n"
        "  y = softmax(fc_relu_1)\n"
        "}\n");
  CHECK(canonical(g) ==
        canonical("graph mlp(x: f32[B,784], const w: f32[784,10], const b: f32[10]) "
                  "-> (y: f32[B,10]) { fc_relu_1 = fc_relu(x, w, b); y = "
                  "softmax(fc_relu_1) }"));
  // Extents of every kind, parameters, scalars.
  GraphBuilder windows("w");
  const auto f = windows.weight("f", DType::kF32, {8, 3, 3, 3}),
             c = windows.weight("c", DType::kF32, {8});
  const auto image = windows.input("x", DType::kF32, {"N", 3, "2*H", "H + 2"});
  const auto conv = windows.add("conv2d", {image, f, c}, {.params = {{"S", "2"}, {"P", "1"}}});
  windows.output("y", windows.add("relu", {conv}));
  CHECK(canonical(windows) ==
        canonical("graph w(const f: f32[8,3,3,3], const c: f32[8], x: f32[N,3,2*H,H + 2]) -> "
                  "(y) { conv2d_1 = conv2d<S=2, P=1>(x, f, c); y = relu(conv2d_1) }"));
}

TEST_CASE("graph builder: scalars, stated shapes, and ops of the text's own") {
  GraphBuilder g("heads");
  g.add_ops("op split_heads(X: f32[S,H*D]) -> (Y: f32[H,S,D]) { Y[h,s,d] = X[s, h*D + d] }");
  g.add_ops(
      "op scaled(X: f32[H,S,D], s: f32, t: f32) -> (Y: f32[H,S,D]) { Y[h,i,d] = "
      "X[h,i,d]*s + t }");
  const GraphTensor x = g.input("i0", DType::kF32, {"S", 768});
  const GraphTensor q = g.add("split_heads", {x}, {.shapes = {{12, "", 64}}});
  const GraphTensor r = g.add("scaled", {q, "rsqrt(cast<f32>(S))", -0.5});
  g.output("y", g.add("scaled", {r, 2.0f, 3}));
  CHECK(canonical(g) ==
        canonical("op split_heads(X: f32[S,H*D]) -> (Y: f32[H,S,D]) { Y[h,s,d] = X[s, h*D + d] }\n"
                  "op scaled(X: f32[H,S,D], s: f32, t: f32) -> (Y: f32[H,S,D]) { Y[h,i,d] = "
                  "X[h,i,d]*s + t }\n"
                  "graph heads(i0: f32[S,768]) -> (y: f32[12,S,64]) {\n"
                  "  split_heads_1[i0_ in 0..12,i1,i2 in 0..64] = split_heads(i0)\n"
                  "  scaled_1 = scaled(split_heads_1, rsqrt(cast<f32>(S)), -0.5)\n"
                  "  y = scaled(scaled_1, 2.0, 3)\n"
                  "}"));
}

TEST_CASE("graph builder: several results, of which some are left out") {
  GraphBuilder g("g");
  g.add_ops(kHalves);
  g.add_ops(kHalves);  // as a function that adds a layer would
  const GraphTensor x = g.input("x", DType::kF32, {"M", "N"});
  const auto [y, z] = g.add<2>("halves", {x});
  const auto [again, unused] = g.add<2>("halves", {z});
  g.output("half", y);
  g.output("last", again);
  CHECK(unused.name() == "halves_4");
  CHECK(canonical(g) == canonical(std::string(kHalves) +
                                  "\ngraph g(x: f32[M,N]) -> (half: f32[M,N], last: f32[M,N]) { "
                                  "half, halves_2 = halves(x); last, _ = halves(halves_2) }"));
}

TEST_CASE("graph builder: names of its own give way to those of the caller") {
  GraphBuilder g("g");
  const GraphTensor x = g.input("x", DType::kF32, {"relu_2"});
  const GraphTensor a = g.add("relu", {x});
  CHECK(a.name() == "relu_1");
  const GraphTensor b = g.add("relu", {a});
  CHECK(b.name() == "relu_3");  // a dim has the name between
  const GraphTensor other = g.input("relu_1", DType::kF32, {"relu_2"});
  CHECK(other.name() == "relu_1");
  CHECK(a.name() == "relu_4");
  g.output("relu_3", g.add("add", {b, other}));
  CHECK(b.name() == "relu_5");
  CHECK(
      canonical(g) ==
      canonical("graph g(x: f32[relu_2], relu_1: f32[relu_2]) -> (relu_3: f32[relu_2]) { relu_4 = "
                "relu(x); relu_5 = relu(relu_4); relu_3 = add(relu_5, relu_1) }"));
  // An op has the name.
  GraphBuilder ops("ops");
  ops.add_ops("op relu_1(X: f32[N]) -> (Y: f32[N]) { Y[i] = X[i]+1 }");
  const GraphTensor c = ops.add("relu", {ops.input("x", DType::kF32, {"N"})});
  ops.output("y", ops.add("relu_1", {c}));
  CHECK(c.name() == "relu_2");
  // Many of one op.
  GraphBuilder chain("chain");
  GraphTensor t = chain.input("x", DType::kF32, {4});
  for (int i = 0; i < 100; ++i) t = chain.add("relu", {t});
  chain.output("relu_7", t);
  CHECK(hone::ops::parse_graph(chain.text()));
}

TEST_CASE("graph builder: built and by hand give the same, with weights of either side") {
  Engine engine = quiet_engine();
  const std::vector<float> w = ramp(12, 0.1f), b = ramp(4, 0.2f), x = ramp(6, 0.3f);
  GraphBuilder g("g");
  const GraphTensor in = g.input("x", DType::kF32, {"B", 3});
  const GraphTensor weight = g.weight("w", TensorRef(w.data(), {3, 4}));
  const GraphTensor bias = g.weight("b", DType::kF32, {4}, b);  // flat data
  g.output("y", g.add("softmax", {g.add("fc_relu", {in, weight, bias})}));
  CHECK(g.weights().size() == 2);
  const Model built = engine.load(g, {.dims = "B=1..4"});
  const Model by_hand = engine.load_graph(
      "graph g(x: f32[B,3], const w: f32[3,4], const b: f32[4]) -> (y: f32[B,4]) {\n"
      "  h = fc_relu(x, w, b)\n"
      "  y = softmax(h)\n"
      "}",
      {.dims = "B=1..4", .weights = {{"w", {w.data(), {3, 4}}}, {"b", {b.data(), {4}}}}});
  REQUIRE(built.params().size() == by_hand.params().size());
  for (size_t i = 0; i < built.params().size(); ++i) {
    CHECK(built.params()[i].name == by_hand.params()[i].name);
    CHECK(built.params()[i].strides == by_hand.params()[i].strides);
  }
  CHECK(built.steps().size() == by_hand.steps().size());
  std::vector<float> got(8, -1), want(8, -2);
  built({{"x", {x.data(), {2, 3}}}}, {{"y", {got.data(), {2, 4}}}});
  by_hand({{"x", {x.data(), {2, 3}}}}, {{"y", {want.data(), {2, 4}}}});
  CHECK(got == want);
  CHECK(got[0] + got[1] + got[2] + got[3] == doctest::Approx(1));
  // Options go before.
  const std::vector<float> zeros(12, 0), none(4, 0);
  const Model flat =
      engine.load(g, {.dims = "B=2", .weights = {{"w", {zeros.data(), {3, 4}}}, {"b", none}}});
  flat({{"x", {x.data(), {2, 3}}}}, {{"y", {got.data(), {2, 4}}}});
  CHECK(got == std::vector<float>(8, 0.25f));
}

TEST_CASE("graph builder: ops of the engine serve, and are not in the text") {
  Engine engine = quiet_engine();
  engine.add_ops("op twice(X: f32[N]) -> (Y: f32[N]) { Y[i] = 2*X[i] }");
  GraphBuilder g("g");
  g.output("y", g.add("twice", {g.input("x", DType::kF32, {"N"})}));
  const Model model = engine.load(g, {.dims = "N=3"});
  const std::vector<float> x{1, 2, 3};
  std::vector<float> y(3);
  model({{"x", {x.data(), {3}}}}, {{"y", {y.data(), {3}}}});
  CHECK(y == std::vector<float>{2, 4, 6});
}

TEST_CASE("graph builder: all that is wrong is told, when the graph is loaded") {
  GraphBuilder g("g"), other("other");
  const GraphTensor x = g.input("x", DType::kF32, {"N"}),
                    far = other.input("q", DType::kF32, {"N"});
  g.input("x", DType::kF32, {"N"});
  g.input("f32", DType::kF32, {"N"});
  g.input("no name", DType::kF32, {"N"});
  g.weight("w", std::vector<float>(3));
  const GraphTensor y = g.add("add", {far, GraphTensor()});
  g.add("re lu", {"", x});
  g.add("relu", {x}, {.shapes = {{1}, {2}}});
  g.output("z", x);
  g.output("z", GraphTensor());
  g.output("z", far);
  g.output("a", y);
  g.output("b", y);
  const auto text = g.try_text();
  REQUIRE(!text);
  CHECK(text.failure().code == hone::ErrorCode::kArgument);
  CHECK(text.failure().message ==
        "in the graph `g`:\n"
        "  `x` already names a tensor; choose another name\n"
        "  `f32` cannot name a tensor; names are letters, digits and _, and no words of the "
        "language\n"
        "  `no name` cannot name a tensor; names are letters, digits and _, and no words of the "
        "language\n"
        "  the data of `w` have no shape; give one beside them\n"
        "  argument 0 of `add` is a tensor of another graph\n"
        "  argument 1 of `add` is no tensor\n"
        "  `re lu` is no name of an op\n"
        "  argument 0 of `re lu` is an empty text\n"
        "  `relu` makes 1 here, and shapes of 2 are stated\n"
        "  the output `z` is `x`, which no op makes\n"
        "  the output `z` is no tensor\n"
        "  the output `z` is a tensor of another graph\n"
        "  the output `b` is `a`, which is an output already");
  CHECK_THROWS_AS(g.text(), hone::Error);
  Engine engine = quiet_engine();
  CHECK(!engine.try_load(g, {.dims = "N=3"}));
  CHECK_THROWS_AS(engine.load(g), hone::Error);
  CHECK(!GraphBuilder("").try_text());
  CHECK(GraphTensor().name().empty());
}

TEST_CASE("graph builder: what the language refuses is underlined in the text that was made") {
  const auto tells = [](const GraphBuilder& g, const std::string& what) {
    Engine engine = quiet_engine();
    const auto model = engine.try_load(g, {.dims = "N=3"});
    REQUIRE(!model);
    CHECK_MESSAGE(model.failure().message.find(what) != std::string::npos, model.failure().message);
  };
  GraphBuilder unknown("g");
  unknown.output("y", unknown.add("rleu", {unknown.input("x", DType::kF32, {"N"})}));
  tells(unknown, "g:2:7: there is no op `rleu`; did you mean `relu`?");
  GraphBuilder unread("g");
  const GraphTensor x = unread.input("x", DType::kF32, {"N"});
  unread.add("relu", {x});
  unread.output("y", unread.add("relu", {x}));
  tells(unread, "`relu_1` is never read");
  GraphBuilder shapes("g");
  const GraphTensor a = shapes.input("a", DType::kF32, {"N"}),
                    b = shapes.input("b", DType::kF32, {4});
  shapes.output("y", shapes.add("add", {a, b}));
  tells(shapes, "dim 0 of `b` is 4, and for `add` it is N");
  GraphBuilder no_data("g");
  const GraphTensor c = no_data.input("a", DType::kF32, {"N"}),
                    w = no_data.weight("w", DType::kF32, {"N"});
  no_data.output("y", no_data.add("add", {c, w}));
  tells(no_data, "the weight `w` is missing");
}
