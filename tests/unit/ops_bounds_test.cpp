// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <map>
#include <random>

#include "ops/bounds.h"

namespace {

using hone::ir::Dim;
using hone::ir::Expr;
using hone::ir::make_binary;
using hone::ir::make_dim;
using hone::ir::make_int;
using hone::ir::make_var;
using hone::ir::Op;
using hone::ops::Proof;
using hone::ops::Prover;

using Point = std::map<std::string, int64_t>;

int64_t value_of(const Expr& e, const Point& point) {
  if (e->op == Op::kInt) return e->i;
  if (e->op == Op::kVar || e->op == Op::kDim) return point.at(e->name);
  const int64_t a = value_of(e->args[0], point);
  if (e->op == Op::kNeg) return -a;
  const int64_t b = value_of(e->args[1], point);
  const Expr folded = make_binary(e->op, make_int(a), make_int(b));
  REQUIRE(folded->op == Op::kInt);
  return folded->i;
}

Expr random_expr(std::mt19937& random, int depth) {
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<uint32_t>(n)); };
  if (depth == 0) {
    if (below(3) == 0) return make_int(below(7) - 3);
    const char* names[] = {"i", "j"};
    return below(4) == 0 ? make_dim("D") : make_var(names[below(2)]);
  }
  const Expr a = random_expr(random, depth - 1), b = random_expr(random, depth - 1);
  switch (below(16)) {
    case 0:
      return a - b;
    case 9:
    case 14:
    case 15:
      return make_int(-1 - below(3));
    case 10:
      return make_binary(Op::kBitAnd, a, below(2) == 0 ? make_int(below(9)) : b);
    case 11:
      return make_binary(Op::kBitOr, a, below(2) == 0 ? make_int(below(9)) : b);
    case 12:
      return make_binary(Op::kBitXor, a, below(2) == 0 ? make_int(below(9)) : b);
    case 13:
      return make_binary(below(2) == 0 ? Op::kShr : Op::kShl, a, b);
    case 6:
      return a * b;
    case 7:
      return make_binary(Op::kDiv, a, make_dim("D"));
    case 8:
      return make_binary(Op::kMod, a, make_dim("D"));
    case 1:
      return a * make_int(below(5) - 2);
    case 2:
      return make_binary(Op::kDiv, a, make_int(1 + below(4)));
    case 3:
      return make_binary(Op::kMod, a, make_int(1 + below(4)));
    case 4:
      return make_binary(Op::kMin, a, b);
    case 5:
      return make_binary(Op::kMax, a, b);
    default:
      return a + b;
  }
}

}  // namespace

TEST_CASE("ops bounds: a proof holds at every point, a refutation fails at one") {
  int proved = 0, refuted = 0;
  CHECK(rc::check([&](uint32_t seed) {
    std::mt19937 random(seed);
    const std::vector<Dim> dims = {{"D", 0, 4, {}}};
    // j's range depends on i; a fact holds in half of the runs.
    Prover prover(dims);
    const Expr i = make_var("i"), j = make_var("j"), d = make_dim("D");
    const bool triangular = random() % 2, with_fact = random() % 4 == 0;
    prover.add_variable({"i", make_int(0), d + make_int(1)});
    prover.add_variable({"j", make_int(0), triangular ? i + make_int(1) : make_int(3)});
    const bool apart = random() % 4 == 0;
    if (with_fact) prover.add_fact(make_binary(Op::kLe, i, j));
    if (apart) prover.add_fact(hone::ops::negated(make_binary(Op::kEq, i, make_int(0))));
    for (int n = 0; n < 8; ++n) {
      const Expr e = random_expr(random, 1 + static_cast<int>(random() % 3));
      const Proof proof = prover.non_negative(e);
      bool holds = true;
      for (int64_t dv = 0; dv <= 4; ++dv) {
        for (int64_t iv = 0; iv < dv + 1; ++iv) {
          for (int64_t jv = 0; jv < (triangular ? iv + 1 : 3); ++jv) {
            if ((with_fact && iv > jv) || (apart && iv == 0)) continue;
            holds &= value_of(e, {{"D", dv}, {"i", iv}, {"j", jv}}) >= 0;
          }
        }
      }
      if (proof == Proof::kYes) RC_ASSERT(holds);
      if (proof == Proof::kNo) RC_ASSERT(!holds);
      proved += proof == Proof::kYes;
      refuted += proof == Proof::kNo;
    }
  }));
  CHECK(proved > 2);
  CHECK(refuted > 0);
}

TEST_CASE("ops bounds: what indices of real ops need") {
  const std::vector<Dim> dims = {{"H", 3, 1000, {}}};
  const Expr h = make_var("h"), r = make_var("r"), H = make_dim("H");
  Prover conv(dims);
  // h*2 + r stays inside H for h in 0..(H-3)/2+1, r in 0..3.
  conv.add_variable(
      {"h", make_int(0), make_binary(Op::kDiv, H - make_int(3), make_int(2)) + make_int(1)});
  conv.add_variable({"r", make_int(0), make_int(3)});
  CHECK(conv.non_negative(H - make_int(1) - (h * make_int(2) + r)) == Proof::kYes);
  CHECK(conv.non_negative(H - make_int(2) - (h * make_int(2) + r)) != Proof::kYes);
  Prover upsample(dims);
  upsample.add_variable({"h", make_int(0), H * make_int(2)});
  CHECK(upsample.non_negative(H - make_int(1) - make_binary(Op::kDiv, h, make_int(2))) ==
        Proof::kYes);
  // 2*(h/3) + r stays inside 4 for h in 0..6, r in 0..2: the channels of a group.
  Prover groups(dims);
  groups.add_variable({"h", make_int(0), make_int(6)});
  groups.add_variable({"r", make_int(0), make_int(2)});
  const Expr channel = make_int(2) * make_binary(Op::kDiv, h, make_int(3)) + r;
  CHECK(groups.non_negative(make_int(3) - channel) == Proof::kYes);
  CHECK(groups.non_negative(make_int(2) - channel) != Proof::kYes);
  CHECK(groups.non_negative(channel) == Proof::kYes);
  Prover empty(dims);
  empty.add_variable({"h", make_int(0), make_int(0)});
  CHECK(empty.non_negative(make_int(-1)) == Proof::kYes);
}

TEST_CASE("ops bounds: bits of an index that a constant changes stay within their block") {
  const Expr i = make_var("i");
  const auto proof = [&](Op op, int64_t bits, int64_t end, int64_t extent) {
    Prover prover({});
    prover.add_variable({"i", make_int(0), make_int(end)});
    return prover.non_negative(make_int(extent - 1) - make_binary(op, i, make_int(bits)));
  };
  // Butterflies: 512 is a multiple of 64.
  CHECK(proof(Op::kBitXor, 32, 512, 512) == Proof::kYes);
  CHECK(proof(Op::kBitOr, 32, 512, 512) == Proof::kYes);
  CHECK(proof(Op::kBitXor, 21, 91, 96) == Proof::kYes);
  CHECK(proof(Op::kBitXor, 32, 96, 96) != Proof::kYes);
  CHECK(proof(Op::kBitXor, 1, 95, 95) != Proof::kYes);
}

TEST_CASE("ops bounds: products and quotients of dims known only at the call") {
  const std::vector<Dim> dims = {{"M", 0, 1000, {}}, {"N", 0, 1000, {}}};
  const Expr i = make_var("i"), j = make_var("j"), M = make_dim("M"), N = make_dim("N");
  Prover rows(dims);  // X[i*N+j] of X[M*N]
  rows.add_variable({"i", make_int(0), M});
  rows.add_variable({"j", make_int(0), N});
  CHECK(rows.non_negative(M * N - make_int(1) - (i * N + j)) == Proof::kYes);
  CHECK(rows.non_negative(M * N - make_int(2) - (i * N + j)) != Proof::kYes);
  CHECK(rows.non_negative(M * N - make_int(1) - (i * M + j)) != Proof::kYes);
  Prover flat(dims);  // X[i/N, i%N] of X[M,N]
  flat.add_variable({"i", make_int(0), M * N});
  CHECK(flat.non_negative(M - make_int(1) - make_binary(Op::kDiv, i, N)) == Proof::kYes);
  CHECK(flat.non_negative(N - make_int(1) - make_binary(Op::kMod, i, N)) == Proof::kYes);
  CHECK(flat.non_negative(M - make_int(2) - make_binary(Op::kDiv, i, N)) != Proof::kYes);
  Prover ring(dims);  // X[(i+1) % N]
  ring.add_variable({"i", make_int(0), N});
  const Expr next = make_binary(Op::kMod, i + make_int(1), N);
  CHECK(ring.non_negative(next) == Proof::kYes);
  CHECK(ring.non_negative(N - make_int(1) - next) == Proof::kYes);
  CHECK(ring.non_negative(N - make_int(2) - next) != Proof::kYes);
}
