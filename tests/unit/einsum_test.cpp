// SPDX-License-Identifier: Apache-2.0
// Texts of einsum, and the ops that they stand for. tests/oracle/einsum.py has NumPy judge them.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "include/hone/hone.h"
#include "ops/op.h"

using hone::Op;

namespace {

std::string error_of(const std::string& letters) {
  const auto op = Op::try_einsum(letters);
  return op ? "no error" : op.failure().message;
}

}  // namespace

TEST_CASE("einsum: letters name dims and indices") {
  CHECK(Op::einsum("bhqd,bkhd->bhqk").text() ==
        "op einsum<T=f32>(X1: T[B,H,Q,D], X2: T[B,K,H,D]) -> (Y1: T[B,H,Q,K]) { Y1[b,h,q,k] = "
        "sum[d](X1[b,h,q,d]*X2[b,k,h,d]) }");
  CHECK(Op::einsum("ij , jk -> ik").text() == Op::einsum("\"ij,jk->ik\"").text());
  // A diagonal, an outer product, a scalar, three operands.
  CHECK(Op::einsum("ii->i").text() ==
        "op einsum<T=f32>(X1: T[I,I]) -> (Y1: T[I]) { Y1[i] = X1[i,i] }");
  CHECK(Op::einsum(",j").text().ends_with("{ Y1[j] = X1[]*X2[j] }"));
  CHECK(Op::einsum("i,ij,j->").text().ends_with("{ Y1[] = sum[i,j](X1[i]*X2[i,j]*X3[j]) }"));
  // Capitals are letters of their own, and `t` leaves no room for a dtype T.
  CHECK(Op::einsum("aA,Ab->ab").text() ==
        "op einsum<T=f32>(X1: T[A,AA], X2: T[AA,B]) -> (Y1: T[A,B]) { Y1[a,b] = "
        "sum[aa](X1[a,aa]*X2[aa,b]) }");
  CHECK(Op::einsum("td->t").text() ==
        "op einsum<TYPE=f32>(X1: TYPE[T,D]) -> (Y1: TYPE[T]) { Y1[t] = sum[d](X1[t,d]) }");
}

TEST_CASE("einsum: without an arrow the result has what stands once, in order") {
  CHECK(Op::einsum("ba").text() == Op::einsum("ba->ab").text());
  CHECK(Op::einsum("ij,jk").text() == Op::einsum("ij,jk->ik").text());
  CHECK(Op::einsum("bA,A").text() == Op::einsum("bA,A->b").text());
  CHECK(Op::einsum("bA").text() == Op::einsum("bA->Ab").text());
  CHECK(Op::einsum("ii").text() == Op::einsum("ii->").text());
}

TEST_CASE("einsum: in a problem, and errors in it") {
  const auto problem = hone::ops::parse_problem("einsum ij, jk -> ik I=2 J=3 K=4 T=f64");
  REQUIRE(problem);
  CHECK(problem->text == Op::einsum("ij,jk->ik").text() + " I=2 J=3 K=4 T=f64");
  CHECK(hone::ops::parse_problem("einsum \"i,i\" I=2"));
  CHECK(hone::ops::parse_problem("einsum , "));
  CHECK_FALSE(hone::ops::parse_problem("einsum ij->ji I=2 K=3"));
  CHECK(error_of("i...,i->i") ==
        "1:9: letters, `,` and one `->` stand here, as in `ij,jk->ik`; there is no `...`: give "
        "each dim a letter\n  einsum i...,i->i\n          ^");
  CHECK(error_of("ij->ik") ==
        "1:13: no operand has `k`; the result has letters of theirs\n"
        "  einsum ij->ik\n              ^");
  CHECK(error_of("ij->ii") ==
        "1:13: `i` stands twice in the result\n  einsum ij->ii\n              ^");
  CHECK(error_of("ij->i->j").find("one `->`") != std::string::npos);
  CHECK(error_of("i1").find("letters") != std::string::npos);
  CHECK(error_of("abcdefghijklm").find("at most 12 dims") != std::string::npos);
}

TEST_CASE("einsum: runs") {
  hone::Engine engine({.cache = ":memory:"});
  const hone::Kernel kernel = engine.compile(Op::einsum("ij,jk->ki"), "I=2 J=2 K=1");
  const std::vector<float> a = {1, 2, 3, 4}, b = {5, 6};
  std::vector<float> y(2);
  kernel(hone::TensorRef(a.data(), {2, 2}), hone::TensorRef(b.data(), {2, 1}),
         hone::TensorRef(y.data(), {1, 2}));
  CHECK(y == std::vector<float>{17, 39});
}
