// SPDX-License-Identifier: Apache-2.0
// Graphs of ops: their text, the shapes that follow, and the problems that their nodes become.
#include "ops/graph/graph.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <vector>

#include "ops/graph/extent_range.h"
#include "ops/graph/fuse.h"
#include "ops/graph/group.h"

using hone::ops::Graph;
using hone::ops::GraphValue;
using hone::ops::make_group;
using hone::ops::parse_graph;

namespace {

constexpr const char* kPerceptron =
    "graph mlp(x: f32[B,784], const w1: f32[784,256], const b1: f32[256],\n"
    "          const w2: f32[256,10], const b2: f32[10]) -> (y: f32[B,10]) {\n"
    "  h = fc_relu(x, w1, b1)\n"
    "  z = fc(h, w2, b2)\n"
    "  y = softmax(z)\n"
    "}\n";

Graph graph_of(const std::string& text) {
  auto graph = parse_graph(text);
  REQUIRE_MESSAGE(graph, (graph ? "" : graph.failure().message));
  return *std::move(graph);
}

std::string error_of(const std::string& text) {
  const auto graph = parse_graph(text);
  return graph ? "" : graph.failure().message;
}

std::string shape_of(const Graph& graph, const std::string& name) {
  const GraphValue& v = graph.values[static_cast<size_t>(graph.find(name))];
  std::string text = std::string(name_of(v.type)) + "[";
  for (size_t i = 0; i < v.shape.size(); ++i)
    text += (i > 0 ? "," : "") + hone::ir::print(v.shape[i]);
  return text + "]";
}

std::string problem_of(const Graph& graph, const std::vector<int>& nodes,
                       const std::vector<hone::ir::Dim>& dims) {
  hone::ops::GroupOps ops(nullptr);
  auto group = make_group(graph, nodes, dims, ops);
  return group ? group->problem.text : "error: " + group.failure().message;
}

bool says(const std::string& message, const std::string& part) {
  return message.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("graph: shapes follow from those of the inputs, over their dims") {
  const Graph g = graph_of(kPerceptron);
  CHECK(g.dims == std::vector<std::string>{"B"});
  CHECK(shape_of(g, "h") == "f32[B,256]");
  CHECK(shape_of(g, "z") == "f32[B,10]");
  CHECK(g.text ==
        "graph mlp(x: f32[B,784], const w1: f32[784,256], const b1: f32[256], const w2: "
        "f32[256,10], const b2: f32[10]) -> (y: f32[B,10]) { h[i0,i1] = fc_relu(x,w1,b1); "
        "z[i0,i1] = fc(h,w2,b2); y[i0,i1] = softmax(z) }");
  CHECK(graph_of(g.text).text == g.text);
  const Graph windows = graph_of(
      "graph g(x: f32[N,3,H,W], const f: f32[8,3,3,3], const b: f32[8])\n"
      "    -> (y: f32[N,8,(H - 1)/2 + 1,(W - 1)/2 + 1]) {\n"
      "  h = conv2d<S=2, P=1>(x, f, b)\n"
      "  y = relu(h)\n"
      "}");
  CHECK(shape_of(windows, "h") == "f32[N,8,(H - 1)/2 + 1,(W - 1)/2 + 1]");
}

TEST_CASE("graph: an output by its name alone is as its node makes it") {
  const Graph g = graph_of(
      "op halves(X: f32[M,N]) -> (Y: f32[M,N], Z: f32[M,N]) { Y[i,j] = X[i,j]/2; Z[i,j] = X[i,j] "
      "}\n"
      "graph g(x: f32[B,4]) -> (y, z: f32[B,4], t) { y, z = halves(x); u = relu(y); t = add(u, z) "
      "}");
  CHECK(shape_of(g, "y") == "f32[B,4]");
  CHECK(g.values[1].name == "y");
  CHECK(g.values[3].output);
  CHECK(says(g.text, "graph g(x: f32[B,4]) -> (y: f32[B,4], z: f32[B,4], t: f32[B,4]) { "));
  CHECK(graph_of(g.text).text == g.text);
  CHECK(says(error_of("graph g(x: f32[N]) -> (y, z) { y = relu(x) }"), "no statement makes `z`"));
  CHECK(
      says(error_of("graph g(x: f32[N]) -> (y, y) { y = relu(x) }"), "`y` already names a tensor"));
  CHECK(says(error_of("graph g(x: f32[N]) -> (y) { z = relu(y); y = relu(x) }"),
             "`y` is read before the statement that makes it"));
  CHECK(says(error_of("graph g(x: f32[N]) -> (y) { y = relu(x); y = relu(x) }"),
             "`y` is made twice"));
  CHECK(says(error_of("graph g(x) -> (y) { y = relu(x) }"), "`:` and a type"));
}

TEST_CASE("graph: a node alone is its op, with what its dims are") {
  const Graph g = graph_of(kPerceptron);
  CHECK(problem_of(g, {0}, {{"B", 1, 64, {}}}) == "fc_relu M=1..64 K=784 N=256 const=W,b");
  CHECK(problem_of(g, {2}, {{"B", 8, 8, {}}}) == "softmax M=8 N=10");
}

TEST_CASE("graph: groups that differ in sizes alone are one op, whose windows stay numbers") {
  const auto op_at = [](int channels, int size) {
    const Graph g = graph_of(
        fmt::format("op windows(X: f32[B,C,H], W: f32[N,C,3]) -> (Y: f32[B,N,(H + 1)/2]) {{ "
                    "Y[b,n,h] = sum[c,r]((X[b,c,2*h + r - 1] else 0)*W[n,c,r]) }}\n"
                    "graph g(x: f32[1,{0},{1}], w: f32[16,{0},3]) -> (y) {{ "
                    "a[b in 0..1,n in 0..16,h in 0..{2}] = windows(x, w); y = relu(a) }}",
                    channels, size, (size + 1) / 2));
    const std::string problem = problem_of(g, {0, 1}, {});
    return problem.substr(0, problem.rfind('}'));
  };
  const std::string op = op_at(8, 20);
  CHECK(says(op, "x1: f32[1,D1,D2], x2: f32[D3,D1,3]) -> (y1: f32[1,D3,(D2 + 1)/2])"));
  CHECK(op_at(24, 33) == op);
  // One that has as many channels as taps says that number.
  CHECK(says(op_at(3, 20), "x1: f32[1,3,D1]"));
}

TEST_CASE("graph: several nodes are one op of their statements, with extents as dims") {
  const Graph g = graph_of(kPerceptron);
  CHECK(problem_of(g, {0, 1}, {{"B", 4, 4, {}}}) ==
        "op fused(x1: f32[D1,D2], x2: f32[D2,D3], x3: f32[D3], x4: f32[D3,D4], x5: f32[D4]) -> "
        "(y1: f32[D1,D4]) { t1: f32[i0 in 0..D1,i1 in 0..D3] = relu(sum[k](x1[i0,k]*x2[k,i1]) + "
        "x3[i1]); y1[i0,i1] = sum[k](t1[i0,k]*x4[k,i1]) + x5[i1] } D1=4 D2=784 D3=256 D4=10 "
        "const=x2,x3,x4,x5");
  // A repeated op, named as a function is, a scalar, and a dim that a scalar names.
  const Graph scaled = graph_of(
      "op scale(X: f32[M,N], s: f32) -> (Y: f32[M,N]) { Y[i,j] = X[i,j]*s }\n"
      "graph g(x: f32[A,B,C]) -> (y: f32[A,B,C]) { h = relu(x); y = scale(h, rsqrt(cast<f32>(C))) "
      "}");
  CHECK(problem_of(scaled, {0, 1}, {{"A", 2, 2, {}}, {"B", 1, 9, {}}, {"C", 64, 64, {}}}) ==
        "op fused(x1: f32[D1,D2,D3]) -> (y1: f32[D1,D2,D3]) { t1: f32[i0 in 0..D1,i1 in 0..D2,i2 "
        "in 0..D3] = relu(x1[i0,i1,i2]); y1[i0,i1,i2] = t1[i0,i1,i2]*rsqrt(cast<f32>(64)) } D1=2 "
        "D2=1..9 D3=64");
}

TEST_CASE("graph: what is wrong is underlined, all of it at once") {
  const std::string message = error_of(
      "graph g(x: f32[B,784], const w: f32[512,10], const b: f32[10], s: f32) -> (y: f32[B,10]) {\n"
      "  h = fc(x, w, b)\n"
      "  k = relu(h)\n"
      "  y = softmx(x)\n"
      "}");
  CHECK(says(message, "`s` is a scalar; a graph takes tensors: `s: f32[]` has one element"));
  CHECK(says(message, "dim 0 of `w` is 512, and for `fc` it is K, here 784"));
  CHECK(says(message, "there is no op `softmx`; did you mean `softmax`?"));
  CHECK(!says(message, "`h`"));
  const auto tells = [](const std::string& statements, const std::string& what) {
    const std::string text = "graph g(x: f32[N]) -> (y: f32[N]) { " + statements + " }";
    INFO(text);
    CHECK(says(error_of(text), what));
  };
  tells("y = relu(h); h = relu(x)", "there is no tensor `h` here; tensors are x y");
  tells("y = relu(y)", "`y` is read before the statement that makes it");
  tells("h = relu(x); h = relu(x); y = relu(h)", "`h` is made twice");
  tells("x = relu(x); y = relu(x)", "`x` is what this statement makes");
  tells("h = relu(x); y = relu(x)", "`h` is never read; take it out");
  tells("y[i] = x[i] + 1", "a statement of a graph uses an op");
  tells("y[i] = relu(x) where i < 2", "a statement that uses an op is");
  tells("y = relu<T=f16>(x)", "`x` is f32, and `relu` wants f16");
  tells("y = softmax(x)", "`x` is of rank 1, and `softmax` takes rank 2");
  tells("y = add(x)", "`add` takes 2 arguments");
  tells("h = relu(x); k = relu(h)", "no statement makes `y`");
  tells("y[j in 1..N] = relu(x)", "the range of an index of a whole tensor begins with 0");
  tells("y[N] = relu(x)", "`N` already names a dim; choose another index");
  tells("h: foo = relu(x); y = relu(h)", "there is no dtype `foo`");
  tells("y = scale(x, M)", "`M` is no dim here; dims are N");
  tells("y = scale(x, x[0])", "`x` is an element; a scalar of a graph is made of numbers and dims");
  tells("y = relu(x)", "");
  CHECK(says(error_of("graph g(x: f32[N]) -> (y: f32[M]) { y = relu(x) }"),
             "dim 0 of `y` is M, and for `relu` it is N"));
  // Extents that are none, dims of a repeated op that differ, and declared ones that do.
  CHECK(says(error_of("graph g(x: f32[max(N,2)]) -> (y: f32[N]) { y = relu(x) }"),
             "an extent is made of dims, integers and + - * / %"));
  CHECK(says(error_of("graph g(x: f32[3,N], z: f32[5,N]) -> (y: f32[3,N]) { y = add(x, z) }"),
             "dim 0 of `z` is 5, and `i0` goes to 3 here"));
  CHECK(says(error_of("graph g(x: f32[A,N]) -> (y: f32[C,N]) { y = relu(x) }"),
             "dim 0 of `x` is A, and `i0` goes to C here"));
  CHECK(says(error_of("graph g(x: f32[A,N]) -> (y: f32[N]) { y = softmax(x) }"),
             "dim 0 of `y` is N, and for `softmax` it is M, here A"));
  CHECK(says(error_of("graph g(x: f32[N], x: f32[N]) -> (y: f32[N]) { y = relu(x) }"),
             "`x` already names a tensor"));
  CHECK(says(error_of("op f(X: f32[N]) -> (Y: f32[N]) { Y[i] = X[i] }"),
             "the text ends here where `op`, `fn` or `graph` is expected"));
}

TEST_CASE("graph: what goes along an argument stands behind its maker") {
  const Graph g = graph_of(
      "graph g(x: f32[N,K], const w: f32[K,M], const b: f32[M], r: f32[N,M]) -> (y: f32[N,M]) {\n"
      "  a = matmul(x, w)\n"
      "  c = add_rows(a, b)\n"
      "  d = relu(c)\n"
      "  e = add(d, r)\n"
      "  y = softmax(e)\n"
      "}");
  CHECK(hone::ops::fused_groups(g, {}) == std::vector<std::vector<int>>{{0, 1, 2, 3}, {4}});
  // What two read along is there for both; an output is kept.
  const Graph forked = graph_of(
      "graph g(x: f32[N,K], const w: f32[K,M]) -> (y: f32[N,M], z: f32[N,M], v: f32[N,M]) {\n"
      "  a = matmul(x, w)\n"
      "  y = relu(a)\n"
      "  z = gelu(a)\n"
      "  v = relu(z)\n"
      "}");
  CHECK(hone::ops::fused_groups(forked, {}) == std::vector<std::vector<int>>{{0, 1, 2}, {3}});
}

TEST_CASE("graph: names of the user's are none of a group's, whatever they are") {
  // An own op by the name that a stock one gets, indices called as tensors are, dims in scalars.
  const Graph g = graph_of(
      "op gelu_op(X: f32[M,N]) -> (Y: f32[M,N]) { Y[i,j] = X[i,j]*0.0 + 7.0 }\n"
      "graph g(x: f32[N,N]) -> (y: f32[N,N]) { h[t1,x1] = gelu(x); y = gelu_op(h) }");
  const std::string text = problem_of(g, {0, 1}, {{"N", 8, 8, {}}});
  CHECK(says(text, "t1: f32[i0 in 0..D1,i1 in 0..D1] = gelu(x1[i0,i1])"));
  CHECK(says(text, "y1[i0,i1] = t1[i0,i1]*0.0 + 7.0"));
  // A batch that a scalar alone brings, and a dim that a result alone has.
  const Graph batch = graph_of(
      "op rep(X: f32[N], s: f32) -> (Y: f32[R,N]) { Y[r,i] = X[i]*s }\n"
      "graph g(x: f32[N]) -> (y: f32[4,5,N]) { y[b in 0..4,r in 0..5,i] = rep(x, cast<f32>(b)) }");
  CHECK(says(problem_of(batch, {0}, {{"N", 8, 8, {}}}), "= x1[i2]*cast<f32>(i0)"));
  const Graph told = graph_of(
      "op rep(X: f32[N]) -> (Y: f32[R,N]) { Y[r,i] = X[i] }\n"
      "graph g(x: f32[3,N]) -> (y: f32[3,5,N]) { y = rep(x) }");
  CHECK(!says(problem_of(told, {0}, {{"N", 8, 8, {}}}), "error"));
}

TEST_CASE("graph: thousands of nodes and weights are no trouble") {
  std::string text = "graph g(x: f32[N]", nodes;
  for (int i = 0; i < 1500; ++i) {
    text += ", const w" + std::to_string(i) + ": f32[N]";
    nodes += fmt::format("  h{} = add({}, w{})\n", i, i == 0 ? "x" : fmt::format("h{}", i - 1), i);
  }
  const Graph g = graph_of(text + ") -> (y: f32[N]) {\n" + nodes + "  y = relu(h1499)\n}");
  CHECK(g.nodes.size() == 1501);
  // As many kernels as 32 nodes each come to.
  CHECK(hone::ops::fused_groups(g, {}).size() == 47);
}
