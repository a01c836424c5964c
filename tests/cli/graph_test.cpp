// SPDX-License-Identifier: Apache-2.0
// Graphs from the command line: run, shown, and refused.
#include <doctest/doctest.h>

#include <string>

#include "tests/cli/program.h"
#include "tests/support/source_root.h"

using hone::tests::Hone;
using hone::tests::Ran;
using hone::tests::source_root;

namespace {

std::string example(const std::string& name) { return source_root() + "/examples/graphs/" + name; }

constexpr const char* kSmall =
    "op twice(X: f32[N]) -> (Y: f32[N]) { Y[i] = 2*X[i] }\n"
    "graph g(x: f32[B,12], const w: f32[12,7]) -> (y: f32[B,7]) {\n"
    "  a = matmul(x, w)\n"
    "  b = relu(a)\n"
    "  y = twice(b)\n"
    "}\n";

}  // namespace

TEST_CASE("graphs: each kernel is checked, and the whole against node by node") {
  const Hone hone;
  const std::string file = hone.write("g.graph", kSmall);
  const Ran run = hone("run " + file + " B=1..5 --no-time");
  CHECK(run.code == 0);
  CHECK(run.has("graph g B=1..5"));
  CHECK(run.has("kernels   1, of 3 nodes"));
  CHECK(run.has("1         matmul+relu+twice"));
  CHECK(run.has("right     at most"));
  const Ran json = hone("run " + file + " B=5 --json");
  CHECK(json.code == 0);
  CHECK(json.has(R"("ops":["matmul","relu","twice"])"));
  CHECK(json.has(R"("time_us":)"));
  CHECK(json.has(R"("values_sum":0)"));
}

TEST_CASE("graphs: what is shown of a kernel is a problem that runs") {
  const Hone hone;
  const Ran shown = hone("show " + hone.write("g.graph", kSmall) + " B=5 --json");
  CHECK(shown.code == 0);
  const std::string begin = "\"problem\":\"";
  const size_t at = shown.out.find(begin) + begin.size();
  const std::string problem = shown.out.substr(at, shown.out.find('"', at) - at);
  CHECK(problem.ends_with("D1=5 D2=12 D3=7 const=x2"));
  CHECK(hone("run --no-time \"" + problem + "\"").code == 0);
}

TEST_CASE("graphs: the plan of their memory is shown") {
  const Hone hone;
  const std::string file = hone.write("m.graph",
                                      "graph m(x: f32[N,N]) -> (y) {\n"
                                      "  a = matmul(x, x)\n"
                                      "  b = matmul(a, x)\n"
                                      "  c = matmul(b, b)\n"
                                      "  y = matmul(c, x)\n"
                                      "}\n");
  const Ran shown = hone("show " + file + " N=1..16 --memory");
  CHECK(shown.code == 0);
  CHECK(shown.has("tensor            bytes        offset      steps  shares with\n"));
  CHECK(shown.has("a                  1024             0        1-2  c\n"));
  CHECK(shown.has("b                  1024          1024        2-3\n"));
  CHECK(shown.has("c                  1024             0        3-4  a\n"));
  CHECK(shown.has("peak: 2048 bytes in step 2; 2048 are planned, 3072 if none shared"));
  const Ran json = hone("show " + file + " N=16 --memory --json");
  CHECK(json.has(
      R"("plan":{"tensors":[{"tensor":"a","bytes":1024,"offset":0,"first":1,"last":2,"shares":["c"]})"));
  CHECK(json.has(R"("peak_bytes":2048,"peak_step":2,"bytes":2048)"));
  std::string chain = "graph c(x: f32[N,N]) -> (y) {\n  v0 = matmul(x, x)\n";
  for (int i = 0; i < 24; ++i) {
    chain += "  v" + std::to_string(i + 1) + " = matmul(v" + std::to_string(i) + ", x)\n";
  }
  const Ran longer =
      hone("show " + hone.write("c.graph", chain + "  y = matmul(v24, x)\n}\n") + " N=4 --memory");
  CHECK(longer.has("0        1-2  v2, v4, v6, v8, v10, v12, v14, v16 and 4 more\n"));
  CHECK(hone("show " + hone.write("g.graph", kSmall) + " B=5 --memory")
            .has("no tensor lives between kernels"));
  const Ran none = hone("show relu N=3 --memory");
  CHECK(none.code == 2);
  CHECK(none.has("--memory and --graph are of models"));
}

TEST_CASE("graphs: kernels, nodes and tensors are shown for Graphviz") {
  const Hone hone;
  const std::string file = hone.write("d.graph",
                                      "graph d(x: f32[B,12], const w: f32[12,12]) -> (y) {\n"
                                      "  a = matmul(x, w)\n"
                                      "  b = relu(a)\n"
                                      "  y = matmul(b, w)\n"
                                      "}\n");
  const Ran shown = hone("show " + file + " B=1..8 --graph");
  CHECK(shown.code == 0);
  CHECK(shown.out.starts_with("digraph \"d\" {\n"));
  CHECK(shown.has("  subgraph cluster_1 {\n    label=\"kernel 1, default\";\n"));
  CHECK(shown.has("    n0 [label=\"matmul\"];\n    n1 [label=\"relu\"];\n  }\n"));
  CHECK(shown.has("  v0 [shape=ellipse, label=\"x\\nf32[B,12]\"];\n"));
  CHECK(shown.has("  v1 [shape=ellipse, style=dashed, label=\"w\\nf32[12,12]\"];\n"));
  CHECK(shown.has("label=\"b\\nf32[B,12]\\n384 bytes at 0\"];\n"));
  CHECK(shown.has("  n0 -> n1 [label=\"a\"];\n"));
  CHECK(shown.out.ends_with("}\n"));
  const Ran json = hone("show " + file + " B=8 --graph --json");
  CHECK(json.has(R"("dot":"digraph \"d\" {\n)"));
  const Ran both = hone("show " + file + " B=8 --graph --memory");
  CHECK(both.has("--- memory\ntensor"));
  CHECK(both.has("--- graph\ndigraph"));
}

TEST_CASE("graphs: those of the examples are right") {
  const Hone hone;
  CHECK(hone("run --no-time " + example("perceptron.graph") + " B=1..8").code == 0);
  CHECK(hone("run --no-time " + example("encoder.graph") + " S=16").has("right     at most"));
}

TEST_CASE("graphs: what is wrong names the file and the place") {
  const Hone hone;
  const std::string file = hone.write("g.graph", kSmall);
  const Ran open = hone("run " + file);
  CHECK(open.code == 2);
  CHECK(open.has("dims of `g` are not bound: B"));
  CHECK(hone("show " + file + " B=5 C=2").has("`C=2`: there is no such dim; dims of `g` are B"));
  CHECK(hone("run no.graph B=5").code == 2);
  const Ran wrong =
      hone("run " + hone.write("w.graph", "graph g(x: f32[N]) -> (y: f32[N]) {\n  y = rleu(x)\n}"));
  CHECK(wrong.code == 2);
  CHECK(wrong.has("w.graph:2:7: there is no op `rleu`; did you mean `relu`?"));
}
