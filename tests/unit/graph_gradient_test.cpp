// SPDX-License-Identifier: Apache-2.0
// Gradients of graphs against central differences in f64, by compiled kernels.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <regex>
#include <string>
#include <vector>

#include "include/hone/hone.h"
#include "ops/graph/gradient.h"
#include "tests/support/effort.h"
#include "tests/support/source_root.h"

using hone::DType;
using hone::Engine;
using hone::ErrorCode;
using hone::Model;
using hone::NamedTensor;
using hone::Param;
using hone::Role;
using hone::TensorRef;
using hone::ops::GraphGradientRequest;

namespace {

Engine quiet_engine() { return Engine({.cache = ":memory:", .threads = 1}); }

std::string example(const std::string& name) {
  std::ifstream in(hone::tests::source_root() + "/examples/graphs/" + name);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::string in_f64(const std::string& text) {
  return std::regex_replace(text, std::regex(R"(\bf32\b)"), "f64");
}

/// The text of the gradient, or of the error.
std::string gradient_of(const std::string& text, const GraphGradientRequest& request) {
  const auto graph = hone::ops::parse_graph(text);
  REQUIRE_MESSAGE(graph, graph.failure().message);
  const auto made = hone::ops::graph_gradient(*graph, request);
  return made ? *made : made.failure().message;
}

std::string error_of(const std::string& text, const GraphGradientRequest& request, ErrorCode code) {
  const auto graph = hone::ops::parse_graph(text);
  REQUIRE_MESSAGE(graph, graph.failure().message);
  const auto made = hone::ops::graph_gradient(*graph, request);
  REQUIRE(!made);
  CHECK(made.failure().code == code);
  return made.failure().message;
}

/// Tensors of a model by their names, in f64 and i64.
class Point {
 public:
  /// `dims` are what calls tell, `below` the first number that integers do not reach.
  Point(const Model& model, const std::map<std::string, int64_t>& dims, int64_t below,
        std::mt19937_64& rng)
      : model_(model) {
    std::normal_distribution<double> normal;
    std::uniform_int_distribution<int64_t> whole(0, below - 1);
    for (const Param& p : model.params()) {
      Tensor& t = tensors_[p.name];
      t.type = p.type;
      t.output = p.role == Role::kOutput;
      size_t count = 1;
      for (const auto& e : p.shape) {
        t.shape.push_back(e.value >= 0 ? e.value : dims.at(e.text));
        count *= static_cast<size_t>(t.shape.back());
      }
      for (size_t i = 0; i < count; ++i) {
        t.real.push_back(0.5 * normal(rng));
        t.whole.push_back(whole(rng));
      }
    }
  }

  void run() {
    std::vector<NamedTensor> in, out;
    for (auto& [name, t] : tensors_) {
      void* data = t.type == DType::kF64 ? static_cast<void*>(t.real.data()) : t.whole.data();
      (t.output ? out : in).push_back({name, TensorRef(data, t.type, t.shape)});
    }
    model_.run(in, out);
  }

  std::vector<double>& real(const std::string& name) { return tensors_.at(name).real; }

 private:
  struct Tensor {
    DType type = DType::kF64;
    bool output = false;
    std::vector<int64_t> shape;
    std::vector<double> real;
    std::vector<int64_t> whole;
  };
  const Model& model_;
  std::map<std::string, Tensor> tensors_;
};

/// Differences of `loss` along a direction of `by`, and the gradient's product with it, at a point
/// without kinks. Returns whether there was one.
bool agrees(Point& at, const std::string& loss, const std::string& by, double scale,
            std::mt19937_64& rng) {
  std::normal_distribution<double> normal;
  at.run();
  const std::vector<double> here = at.real(by), made = at.real("d" + by);
  std::vector<double> direction;
  double slope = 0, terms = 0;
  for (const double g : made) {
    direction.push_back(normal(rng));
    slope += g * direction.back();
    terms += std::fabs(g * direction.back());
  }
  double slopes[2];
  for (int k = 0; k < 2; ++k) {
    const double h = k == 0 ? 1e-5 : 2.5e-6;
    double ends[2];
    for (int side = 0; side < 2; ++side) {
      for (size_t i = 0; i < here.size(); ++i) {
        at.real(by)[i] = here[i] + (side == 0 ? -h : h) * direction[i];
      }
      at.run();
      ends[side] = at.real(loss)[0];
    }
    slopes[k] = scale * (ends[1] - ends[0]) / (2 * h);
  }
  at.real(by) = here;
  const double allowed = 1e-6 * (1 + std::fabs(slopes[1]) + terms);
  if (std::fabs(slopes[0] - slopes[1]) > allowed) return false;  // across a kink
  CHECK_MESSAGE(std::fabs(slope - slopes[1]) <= allowed, "d" << by << ": " << slope
                                                             << " by the gradient, " << slopes[1]
                                                             << " by differences");
  return true;
}

struct Case {
  std::string text;
  GraphGradientRequest request;
  std::string dims = {};
  std::map<std::string, int64_t> at = {};
  int64_t below = 3;  ///< for integers
};

/// How many gradients of a graph in f64 agree with differences.
int count_agreeing(const Case& c, uint64_t seed) {
  const std::string text = gradient_of(in_f64(c.text), c.request);
  CAPTURE(text);
  Engine engine = quiet_engine();
  const auto model = engine.try_load_graph(text, {.dims = c.dims});
  REQUIRE_MESSAGE(model, model.failure().message);
  std::mt19937_64 rng(seed);
  Point at(*model, c.at, c.below, rng);
  int agreeing = 0;
  const double scale = c.request.scale.empty() ? 1 : at.real(c.request.scale)[0];
  for (const Param& p : model->params()) {
    if (p.role != Role::kOutput || p.name[0] != 'd') continue;
    agreeing += agrees(at, c.request.loss, p.name.substr(1), scale, rng);
  }
  return agreeing;
}

const std::string kLoss =
    "op total(X: f32[M,N]) -> (L: f32[]) { L[] = sum[i,j](X[i,j]*X[i,j]*(1.0 + 0.1*cast<f32>(i) + "
    "0.3*cast<f32>(j))) } ";

/// A graph of random nodes on tensors of M rows and 5 columns.
std::string random_graph(std::mt19937_64& rng) {
  const auto below = [&](int n) { return std::uniform_int_distribution<int>(0, n - 1)(rng); };
  std::string ops = kLoss +
                    "op halves(X: f32[M,N]) -> (Y: f32[M,N], Z: f32[M,N]) { Y[i,j] = "
                    "X[i,j]/2; Z[i,j] = tanh(X[i,j]) } ";
  ops += "op flat(X: f32[M,N]) -> (Y: f32[M*N]) { Y[i] = X[i/N, i%N] } ";
  ops += "op rows(X: f32[M*N]) -> (Y: f32[M,N]) { Y[i,j] = X[i*N + j] } ";
  std::vector<std::string> values{"x", "p"};
  std::string nodes = "p = fc(x, w, c)\n";
  const int count = 4 + below(7);
  for (int i = 0; i < count; ++i) {
    const auto any = [&] { return values[static_cast<size_t>(below(int(values.size())))]; };
    const std::string y = fmt::format("v{}", i), a = any(), b = any();
    switch (below(12)) {
      case 0:
        nodes += fmt::format("{} = fc_relu({}, w, c)\n", y, a);
        break;
      case 1:
        nodes += fmt::format("{} = fc_gelu({}, w, c)\n", y, a);
        break;
      case 2:
        nodes += fmt::format("{} = add({}, {})\n", y, a, b);
        break;
      case 3:
        nodes += fmt::format("{} = mul({}, {})\n", y, a, b);
        break;
      case 4:
        nodes += fmt::format("{} = softmax({})\n", y, a);
        break;
      case 5:
        nodes += fmt::format("{} = layernorm({}, c, c, 0.1)\n", y, a);
        break;
      case 6:
        nodes += fmt::format("{} = gather_rows({}, ids)\n", y, a);
        break;
      case 7:
        nodes += fmt::format("{}, _ = halves({})\n", y, a);
        break;
      case 8:
        nodes += fmt::format("_, {} = halves({})\n", y, a);
        break;
      case 9:
        nodes += fmt::format("{0}f = flat({1})\n{0}[i in 0..M,j in 0..5] = rows({0}f)\n", y, a);
        break;
      case 10:
        nodes += fmt::format("{} = matmul({}, w)\n", y, a);
        break;
      default:
        nodes += fmt::format("{0}a, {0} = halves({1})\n{0}s = add({0}a, {0})\n", y, a);
        values.push_back(y + "s");
    }
    values.push_back(y);
  }
  // All that is made is read.
  std::string last = values[0];
  for (size_t i = 1; i < values.size(); ++i) {
    nodes += fmt::format("s{} = add({}, {})\n", i, last, values[i]);
    last = fmt::format("s{}", i);
  }
  return ops + "graph g(x: f32[M,5], const w: f32[5,5], const c: f32[5], ids: i64[M]) -> (L) {\n" +
         nodes + fmt::format("L = total({})\n}}", last);
}

}  // namespace

TEST_CASE("gradients of graphs: a perceptron of three layers, with open batch") {
  const std::string text = example("perceptron_loss.graph");
  const Case c{text, {.loss = "L"}, "B=1..8", {{"B", 3}}, 10};
  CHECK(count_agreeing(c, 1) == 6);
  const GraphGradientRequest by_input = {
      .loss = "L", .wrt = {"w1", "b1", "w2", "b2", "w3", "b3", "x"}, .scale = "s"};
  CHECK(count_agreeing({text, by_input, "B=2", {}, 10}, 2) == 7);
}

TEST_CASE("gradients of graphs: a transformer") {
  const std::string text = example("transformer_loss.graph");
  const Case c{text, {.loss = "L", .scale = "scale"}, "B=2", {}, 64};
  CHECK(count_agreeing(c, 3) >= 16);
}

TEST_CASE("gradients of graphs: random nodes, values read often, results left out") {
  const int graphs = static_cast<int>(hone::tests::by_effort(6, 16, 60));
  int agreeing = 0, all = 0;
  for (int seed = 0; seed < graphs; ++seed) {
    std::mt19937_64 rng(static_cast<uint64_t>(seed));
    const std::string text = random_graph(rng);
    CAPTURE(text);
    const bool open = seed % 2 == 0;
    agreeing += count_agreeing(
        {text, {.loss = "L", .wrt = {"x", "w", "c"}}, open ? "M=3..6" : "M=4", {{"M", 4}}, 3},
        rng());
    all += 3;
  }
  CHECK(agreeing * 10 >= all * 8);  // others stood at a kink
}

TEST_CASE("gradients of graphs: by what nodes make, an output that is read, a copy of a gradient") {
  const std::string ops =
      "op total(X: f64[N]) -> (L: f64[]) { L[] = sum[i](X[i]) } "
      "op both(X: f64[N], Y: f64[N]) -> (Z: f64[N]) { Z[i] = X[i] + Y[i] } ";
  const std::string text =
      ops + "graph g(x: f64[3], y: f64[3]) -> (h, L) { h = tanh(x); e = both(h, y); L = total(e) }";
  const std::string made = gradient_of(text, {.loss = "L", .wrt = {"x", "y", "h"}});
  CAPTURE(made);
  Engine engine = quiet_engine();
  const Model model = engine.load_graph(made);
  std::vector<double> x{0.5, -1, 2}, y(3), h(3), loss(1), dx(3), dy(3), dh(3);
  model({{"x", x}, {"y", y}}, {{"h", h}, {"L", loss}, {"dx", dx}, {"dy", dy}, {"dh", dh}});
  for (size_t i = 0; i < 3; ++i) {
    CHECK(h[i] == doctest::Approx(std::tanh(x[i])));
    CHECK(dh[i] == 1);
    CHECK(dy[i] == 1);
    CHECK(dx[i] == doctest::Approx(1 - h[i] * h[i]));
  }
}

TEST_CASE("gradients of graphs: those of outputs are inputs") {
  const std::string made = gradient_of(
      "graph g(x: f32[M,4], const w: f32[4,3]) -> (y) { z = matmul(x, w); y = exp(z) }", {});
  CHECK(made.find("dy: f32[M,3]) -> (y, dw) {") != made.npos);
  CHECK(made.find("exp_grad(y, dy)") != made.npos);  // by the value that is there
}

TEST_CASE("gradients of graphs: nothing is computed twice, and no more than what is asked for") {
  const std::string text =
      kLoss +
      "graph g(x: f32[M,4], const w: f32[4,3], const b: f32[3]) -> (L) { y = fc_gelu(x, w, "
      "b); L = total(y) }";
  const std::string made = gradient_of(text, {.loss = "L", .wrt = {"w"}});
  CAPTURE(made);
  // The product stands by itself, since the derivative of gelu reads it.
  CHECK(made.find("y_Y_sum = fc_gelu_Y_sum(x, w)") != made.npos);
  CHECK(made.find("y = fc_gelu_Y(b, y_Y_sum)") != made.npos);
  size_t products = 0;
  for (size_t at = 0; (at = made.find("sum[k](", at)) != made.npos; ++at) ++products;
  CHECK(products == 1);
  CHECK(made.find("dA") == made.npos);
  CHECK(made.find("db") == made.npos);
  // With relu the result says where it is flat, and the node stands as it is.
  const std::string relu = gradient_of(std::regex_replace(text, std::regex("gelu"), "relu"),
                                       {.loss = "L", .wrt = {"w"}});
  CHECK(relu.find("y[i0,i1] = fc_relu(x,w,b)") != relu.npos);
  CHECK(relu.find("fc_relu_grad_dY_sum(y, dy)") != relu.npos);
}

TEST_CASE("gradients of graphs: of 16 bits, with products in 16 bits") {
  const std::string made = gradient_of(
      "op total(X: bf16[M,N]) -> (L: f32[]) { L[] = sum[i,j](X[i,j]*X[i,j]) } "
      "graph g(x: bf16[M,4], const w: bf16[4,3], const b: bf16[3], const v: bf16[3,2], const c: "
      "bf16[2]) -> (L) { h = fc_gelu(x, w, b); z = fc(h, v, c); L = total(z) }",
      {.loss = "L", .scale = "scale"});
  CAPTURE(made);
  CHECK(made.find("scale: f32[]) -> (L, dw, db, dv, dc)") != made.npos);
  CHECK(made.find("fc_gelu_grad_dW(A: bf16[M,K], dY_in: bf16[M,N]) -> (dW: bf16[K,N])") !=
        made.npos);
  Engine engine = quiet_engine();
  CHECK(engine.try_load_graph(made, {.dims = "M=5"}));
}

TEST_CASE("gradients of graphs: adjoints that differ in their shapes alone are apart") {
  const std::string sums =
      "op whole(X: f32[M,N]) -> (L: f32[]) { L[] = sum[i,j](X[i,j]*(1.0 + 0.5*cast<f32>(j))) }\n"
      "op plus(A: f32[], B: f32[]) -> (C: f32[]) { C[] = A[] + B[]*B[] }\n"
      "graph g(const w1: f32[3,4], const w2: f32[4,3], const w3: f32[5,6]) -> (L) {\n"
      "  a = whole(w1); b = whole(w2); c = whole(w3); d = plus(a, b); L = plus(d, c) }";
  CHECK(count_agreeing({sums, {.loss = "L"}}, 1) == 3);
  const std::string tables =
      kLoss +
      "op look(E: f32[R,D], ids: i64[B]) -> (Y: f32[B,D]) { Y[i,j] = E[ids[i],j] }\n"
      "graph g(ids: i64[B], const users: f32[7,8], const items: f32[9,8]) -> (L) {\n"
      "  a = look(users, ids); b = look(items, ids); c = add(a, b); L = total(c) }";
  CHECK(count_agreeing({tables, {.loss = "L"}, "B=4", {{"B", 4}}, 7}, 2) == 2);
}

TEST_CASE("gradients of graphs: errors name the value or node, and say why") {
  const std::string text =
      kLoss +
      "graph g(x: f32[M,4], ids: i64[M], const w: f32[4,4], const v: f32[4,4]) -> (L, q) { "
      "y = matmul(x, w); g = gather_rows(y, ids); r = round(g); q = matmul(r, v); L = "
      "total(g) }";
  const auto has = [](const std::string& all, const char* part) {
    return all.find(part) != all.npos;
  };
  CHECK(has(error_of(text, {.loss = "l"}, ErrorCode::kNotFound),
            "`g` has no value `l` for the loss; did you mean `L`?"));
  CHECK(has(error_of(text, {.loss = "L", .wrt = {"u"}}, ErrorCode::kNotFound),
            "`g` has no value `u` for a gradient"));
  CHECK(has(error_of(text, {.loss = "y"}, ErrorCode::kArgument),
            "`y` has the shape [M,4], and a loss has one element"));
  CHECK(has(error_of(text, {.loss = "L", .wrt = {"v"}}, ErrorCode::kArgument),
            "no path of floats leads from `v` to `L`"));
  CHECK(has(error_of(text, {.loss = "L", .wrt = {"ids"}}, ErrorCode::kUnsupported),
            "`ids` is of i64"));
  CHECK(has(error_of(text, {.loss = "L", .outputs = {"x"}}, ErrorCode::kArgument),
            "`x` is given by the caller"));
  CHECK(has(error_of(text, {.scale = "s"}, ErrorCode::kArgument), "scales a loss, and none"));
  const std::string flat = error_of(text, {.wrt = {"w"}}, ErrorCode::kUnsupported);
  CHECK(has(flat, "in `r[i0,i1] = round(g)`: "));
  CHECK(has(flat, "`round` has no derivative"));
  const std::string picked =
      kLoss +
      "graph g(x: f32[M,4], m: bool[M], const w: f32[4,4]) -> (L) { y = matmul(x, w); "
      "z[i in 0..n, j in 0..4] = compress<axis=0>(y, m); L = total(z) }";
  CHECK(has(error_of(picked, {.loss = "L"}, ErrorCode::kUnsupported),
            "`compress` runs on the host and has no derivative"));
  // Weights without a path are left alone where none are named.
  CHECK(has(gradient_of(text, {.loss = "L"}), "-> (L, q, dw)"));
  const std::string none = kLoss +
                           "graph g(x: f32[M,4], dx: f32[M,4]) -> (L) { y = add(x, dx); L = "
                           "total(y) }";
  CHECK(has(error_of(none, {.loss = "L"}, ErrorCode::kArgument), "has no weights of floats"));
  CHECK(has(error_of(none, {.loss = "L", .wrt = {"x"}}, ErrorCode::kArgument),
            "the gradient of `x` is `dx`, and `dx` already names something"));
}

TEST_CASE("gradients of graphs: an engine's own ops, and gradients of gradients") {
  Engine engine = quiet_engine();
  engine.add_ops("op cube(X: f64[N]) -> (Y: f64[N]) { Y[i] = X[i]*X[i]*X[i] }");
  const std::string text =
      "op total(X: f64[N]) -> (L: f64[]) { L[] = sum[i](X[i]) } "
      "graph g(x: f64[N]) -> (L) { y = cube(x); L = total(y) }";
  const std::string once = engine.graph_gradient(text, {.loss = "L", .wrt = {"x"}});
  const std::string named = std::regex_replace(once, std::regex(R"(\bdx\b)"), "k");
  const std::string twice = engine.graph_gradient(named, {.wrt = {"x"}, .outputs = {"k"}});
  CAPTURE(twice);
  const Model model = engine.load_graph(twice, {.dims = "N=3"});
  std::vector<double> x{0.5, -1, 2}, k(3), dx(3), dk{1, 10, 100}, dl{7};
  model({{"x", x}, {"dk", dk}, {"dL", dl}}, {{"k", k}, {"dx", dx}});
  for (size_t i = 0; i < 3; ++i) {
    CHECK(k[i] == doctest::Approx(3 * x[i] * x[i]));
    CHECK(dx[i] == doctest::Approx(6 * x[i] * dk[i] + 3 * x[i] * x[i] * dl[0]));
  }
}

TEST_CASE("gradients of graphs: a convolution whose image is as long as nothing alone tells") {
  const std::string text =
      "op pooled(X: f32[N,C,H,W]) -> (L: f32[]) { L[] = sum[n,c,h,w](X[n,c,h,w]*X[n,c,h,w]) } "
      "graph g(x: f32[2,3,9,8], const f: f32[4,3,3,3], const b: f32[4]) -> (L) { y = conv2d<S=2, "
      "P=1>(x, f, b); L = pooled(y) }";
  CHECK(count_agreeing({text, {.loss = "L", .wrt = {"x", "f", "b"}}, "", {}, 3}, 7) == 3);
  const std::string one = gradient_of(text, {.loss = "L", .wrt = {"b"}});
  CHECK(one.find("EXTENT") != one.npos);
}
