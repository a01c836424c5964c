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
