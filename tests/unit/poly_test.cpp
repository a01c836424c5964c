// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "jit/ir/facts.h"

using namespace hone::ir;
using hone::DType;

namespace {

Expr loop(int id) { return make_var("i" + std::to_string(id), id); }
Expr c(int64_t v) { return make_int(v); }

}  // namespace

TEST_CASE("polynomials cancel, order and print canonically") {
  const Poly p = Poly::of(c(6) * loop(0) + loop(1) - c(6) * loop(0));
  CHECK(p == Poly::atom(loop(1)));
  CHECK(Poly::of(loop(1) + loop(0)) == Poly::of(loop(0) + loop(1)));
  CHECK(print(Poly::of((loop(0) + c(2)) * (loop(1) - c(3))).expr()) ==
        print(Poly::of(loop(0) * loop(1) - c(3) * loop(0) + c(2) * loop(1) - c(6)).expr()));
}

TEST_CASE("divisions resolve where the ranges decide them") {
  Facts facts;
  facts.define_loop(0, 0, 10);
  facts.define_loop(1, 0, 6);
  const Poly m = Poly::of(c(6) * loop(0) + loop(1));
  CHECK(floor_div(m, 6, &facts) == Poly::atom(loop(0)));
  CHECK(floor_mod(m, 6, &facts) == Poly::atom(loop(1)));
  CHECK(floor_div(m + Poly(192), 6, &facts) == Poly::atom(loop(0)) + Poly(32));
  CHECK(floor_div(Poly(-7), 6, nullptr) == Poly(-2));
  CHECK(ceil_div(Poly(13), 6, nullptr) == Poly(3));
}

TEST_CASE("bounds of blocked indices are proved with dims known only at the call") {
  Facts facts;
  facts.define_dim("M", 0, 512);
  const Poly m = Poly::atom(make_dim("M"));
  const Poly blocks = floor_div(m, 6, &facts);
  facts.define_loop(0, 0, blocks);
  facts.define_loop(1, 0, 6);
  const Poly index = Poly::of(c(6) * loop(0) + loop(1));
  CHECK(facts.nonnegative(index));
  CHECK(facts.at_most(index, m - Poly(1)));
  CHECK_FALSE(facts.at_most(index, m - Poly(2)));
  CHECK(facts.upper(index) == 509);
}

TEST_CASE("a masked tail's inner loop stays inside") {
  Facts facts;
  facts.define_loop(0, 0, 17);
  const Poly left = min(6, Poly(100) - Poly(6) * Poly::atom(loop(0)), &facts);
  facts.define_loop(1, 0, left);
  CHECK(facts.at_most(Poly::of(c(6) * loop(0) + loop(1)), 99));
  CHECK(facts.upper(left) == 6);
}

TEST_CASE("bits of an index stay within the blocks that they may change") {
  Facts facts;
  facts.define_loop(0, 0, 44);
  facts.define_dim("M", 10, 100);
  facts.define_loop(1, 0, Poly::atom(make_dim("M")));
  const auto with = [](Op op, int id, int64_t bits) {
    return Poly::of(make_binary(op, loop(id), c(bits)));
  };
  CHECK(facts.upper(with(Op::kBitXor, 0, 1)) == 43);
  CHECK(facts.upper(with(Op::kBitOr, 0, 2)) == 43);
  CHECK(facts.upper(with(Op::kBitXor, 0, 4)) == 47);
  CHECK(facts.lower(with(Op::kBitOr, 0, 6)) == 6);
  const Poly m = Poly::atom(make_dim("M"));
  CHECK(facts.at_most(with(Op::kBitXor, 1, 3), m + Poly(2)));
  CHECK_FALSE(facts.at_most(with(Op::kBitXor, 1, 3), m - Poly(1)));
}

TEST_CASE("what a branch assumes counts inside it only") {
  Facts facts;
  facts.define_dim("M", 0, 100);
  const Poly m = Poly::atom(make_dim("M"));
  CHECK_FALSE(facts.nonnegative(m - Poly(4)));
  facts.assume(m - Poly(4));
  CHECK(facts.nonnegative(m - Poly(4)));
  CHECK(facts.nonnegative(m - Poly(3)));
  facts.forget();
  CHECK_FALSE(facts.nonnegative(m - Poly(4)));
}

TEST_CASE("an answer counts until a definition is new") {
  Facts facts;
  facts.define_loop(0, 0, 10);
  const Poly index = Poly::atom(loop(0)) + Poly::atom(make_dim("M")) + Poly::atom(loop(1));
  CHECK_FALSE(facts.upper(index));
  facts.define_loop(1, 0, 4);
  CHECK_FALSE(facts.upper(index));
  const Facts before = facts;
  facts.define_dim("M", 0, 100);
  CHECK(facts.upper(index) == 112);
  CHECK_FALSE(before.upper(index));
  facts.define_loop(0, 2, 3);
  CHECK(facts.upper(index) == 105);
  CHECK(facts.lower(index) == 2);
  const Expr load = make_load("X", hone::DType::kI32, {c(0)});
  CHECK(facts.lower(Poly::atom(load)) == INT32_MIN);
  facts.define_elements({"X", Poly(3), Poly(7)});
  CHECK(facts.lower(Poly::atom(load)) == 3);
}

TEST_CASE("multiples are seen in every term, and in both sides of a minimum") {
  const Poly m = Poly::atom(make_dim("M"));
  CHECK(is_multiple(Poly(6), 2));
  CHECK_FALSE(is_multiple(Poly(6), 4));
  CHECK(is_multiple(Poly(-4), 4));
  CHECK(is_multiple(Poly(8) * m + Poly(4), 4));
  CHECK_FALSE(is_multiple(Poly(8) * m + Poly(2), 4));
  const Poly left = min(Poly(4), Poly(6) - Poly(4) * Poly::atom(loop(0)), nullptr);
  CHECK(is_multiple(left, 2));
  CHECK_FALSE(is_multiple(left, 4));
  CHECK(is_multiple(Poly(2) * left * m, 4));
  CHECK(is_multiple(max(left, Poly(2) * m, nullptr), 2));
  CHECK_FALSE(is_multiple(max(left, m, nullptr), 2));
}

TEST_CASE("a remainder in 32 bits is bounded where it is cast to an index") {
  const Facts facts;
  Node load;
  load.op = Op::kLoad;
  load.type = DType::kU8;
  load.name = "B";
  load.args = {make_var("i")};
  const Expr byte = make_cast(DType::kI32, make_node(std::move(load)));
  const Expr shifted = make_binary(Op::kShr, byte, make_cast(DType::kI32, make_var("n")));
  const Expr low = make_binary(Op::kBitAnd, shifted, make_int(15, DType::kI32));
  const Expr eight = make_int(8, DType::kI32);
  const Expr both = make_binary(Op::kBitXor, low, eight) - eight;
  const auto index = [](const Expr& e) { return Poly::of(make_cast(DType::kI64, e)); };
  CHECK(facts.lower(index(low)) == 0);
  CHECK(facts.upper(index(low)) == 15);
  CHECK(facts.lower(index(both)) == -8);
  CHECK(facts.upper(index(both)) == 7);
  CHECK(facts.upper(index(shifted)) == 255);
  // A product of 32 bits may have wrapped.
  CHECK_FALSE(facts.upper(index(byte * make_int(1 << 30, DType::kI32))));
  CHECK_FALSE(facts.upper(index(make_cast(DType::kI32, make_var("n")))));
}

TEST_CASE("digits of a number stay below their base, also where a loop is part of it") {
  // A number in base 16 by 16, of which a split is 132 and another 8 by a multiple of its digit.
  Facts facts;
  facts.define_loop(0, 0, 4);
  facts.define_loop(1, 0, 132);
  const auto second = [](const Expr& x, int64_t low, int64_t base) {
    const Expr digit = make_binary(Op::kDiv, x, c(low));
    const Expr above = make_binary(Op::kDiv, x, c(low * base));
    return Poly::of(digit) - Poly(base) * Poly::of(above);
  };
  for (const int64_t low : {16, 8, 4, 3}) {
    const Poly digit = second(c(132) * loop(0) + loop(1), low, 16);
    CHECK(facts.nonnegative(digit));
    CHECK(facts.at_most(digit, 15));
    CHECK_FALSE(facts.at_most(digit, 14));
  }
}

TEST_CASE("the dim that moves with a variable, whatever else is added there") {
  const Expr k = make_var("k"), p = make_var("p"), m = make_var("m");
  CHECK(dim_along({m, c(64) * p + k}, "k") == 1);
  CHECK(dim_along({m, c(64) * p + k}, "m") == 0);
  CHECK(dim_along({m, c(64) * p + k}, "p") == -1);
  CHECK(dim_along({k, k}, "k") == -1);
  CHECK(dim_along({m, c(2) * k}, "k") == -1);
  CHECK(dim_along({m, make_binary(Op::kDiv, k, c(2))}, "k") == -1);
  CHECK(dim_along({m, k + make_binary(Op::kDiv, k, c(2))}, "k") == -1);
  CHECK(*beside_var(c(64) * p + k, "k") == Poly::of(c(64) * p));
  CHECK(*beside_var(k, "k") == Poly(0));
}
