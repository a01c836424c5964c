// SPDX-License-Identifier: Apache-2.0
// Gradients from the command line: which are made, from what, and where there is none.
#include <doctest/doctest.h>

#include <string>

#include "tests/cli/program.h"

using hone::tests::Hone;
using hone::tests::Ran;

TEST_CASE("grad: an op a line, by all tensors of floats") {
  const Hone hone;
  const Ran made = hone("grad gather_rows_or_zero");
  CHECK(made.code == 0);
  CHECK(made.out ==
        "op gather_rows_or_zero_grad<T=f32, I=i64>(ids: I[N], dY: T[N,D]) -> (dE: T[R,D]) {\n"
        "  dE[ids[n],d] else skip += dY[n,d]\n"
        "}\n");
  const Ran json = hone("grad dot --json");
  CHECK(json.has(R"("name":"dot_grad")"));
  CHECK(json.has(R"("op":"op dot_grad<T=f32>(x: T[K], y: T[K], ds: T[]) -> (dx: T[K], dy: T[K]))"));
}

TEST_CASE("grad: --wrt chooses arguments, scalars too; --take gives what the caller has kept") {
  const Hone hone;
  const Ran one = hone("grad fc --wrt b,A");
  CHECK(one.has("(W: T[K,N], dY: T[M,N]) -> (dA: T[M,K], db: T[N])"));
  CHECK(hone("grad scale --wrt alpha").has("-> (dalpha: T[])"));
  CHECK(hone("grad softmax").has("m[i] = max[j](X[i,j])"));
  const Ran kept = hone("grad softmax --wrt X --take e,s");
  CHECK(kept.has("op softmax_grad<T=f32>(e: T[M,N], s: T[M], dY: T[M,N]) -> (dX: T[M,N])"));
  CHECK(kept.out.find("max[") == kept.out.npos);
}

TEST_CASE("grad: what it prints is a problem with the words that follow") {
  const Hone hone;
  const Ran run = hone("run --no-time \"$('" + std::string(std::getenv("HONE_PROGRAM")) +
                       "' grad softmax) M=3 N=9\"");
  CHECK(run.code == 0);
  CHECK(run.has("softmax_grad"));
  CHECK(run.has("right"));
}

TEST_CASE("grad: errors say where, and what would be right") {
  const Hone hone;
  const Ran flat = hone("grad 'op f(X: f32[N]) -> (Y: f32[N]) { Y[i] = 2 * round(X[i]) }'");
  CHECK(flat.code == 2);
  CHECK(flat.has("1:45: `round` has no derivative"));
  CHECK(flat.has("^~~~~~~~~~~"));
  CHECK(hone("grad matmul --wrt D").has("`matmul` has no argument `D`; it has A, B"));
  CHECK(hone("grad softmax --take q").has("`softmax` has no value to take `q`; it has m, e, s, Y"));
  CHECK(hone("grad softmx").has("did you mean `softmax`?"));
  CHECK(hone("grad gather_rows --wrt ids").has("ask for those of floats: E"));
}

TEST_CASE("grad: of a graph it is a graph, which runs") {
  const Hone hone;
  hone.write(
      "net.graph",
      "op square(X: f32[N]) -> (L: f32[]) { L[] = sum[i](X[i]*X[i]) } graph net(x: f32[N], "
      "const w: f32[N], const v: f32[N]) -> (L) { y = mul(x, w); z = mul(y, v); L = square(z) "
      "}");
  const Ran made = hone("grad " + hone.file("net.graph") + " --loss L --wrt w,x --scale s");
  CHECK(made.code == 0);
  CHECK(
      made.has("graph net_grad(x: f32[N], w: f32[N], const v: f32[N], s: f32[]) -> (L, dw, dx) {"));
  hone.write("net_grad.graph", made.out);
  const Ran run = hone("run --no-time " + hone.file("net_grad.graph") + " N=5");
  CHECK(run.code == 0);
  CHECK(run.has("right"));
  CHECK(hone("grad " + hone.file("net.graph") + " --json --loss L").has(R"("graph":"op square)"));
  const Ran wrong = hone("grad " + hone.file("net.graph") + " --loss z");
  CHECK(wrong.code == 2);
  CHECK(wrong.has("`z` has the shape [N], and a loss has one element"));
  CHECK(hone("grad " + hone.file("net.graph") + " --take y").has("--take is for ops"));
  CHECK(hone("grad softmax --loss Y").has("are for graphs"));
}
