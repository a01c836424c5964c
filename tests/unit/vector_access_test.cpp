// SPDX-License-Identifier: Apache-2.0
//
// Which accesses of a vector loop are one access, and which conditions all lanes share.
#include "jit/cuda/vector_access.h"

#include <doctest/doctest.h>

using namespace hone;
using namespace hone::jit;

namespace {

/// Loops o in 0..100 (0) and v in 0..4 (1).
struct Fixture {
  Fixture() {
    facts.define_loop(0, 0, 100);
    facts.define_loop(1, 0, 4);
  }
  ir::Expr o = ir::make_var("o", 0), v = ir::make_var("v", 1);
  ir::Expr n = ir::make_dim("n", 0);
  VectorLanes lanes{1, ir::make_int(0), 4};
  ir::Facts facts;

  int64_t width(const ir::Expr& offset, DType type = DType::kF32, int64_t align = 16) const {
    ir::NestBuffer b;
    b.type = type;
    b.align = align;
    return access_width(b, offset, lanes, facts);
  }
  bool uniform(const ir::Expr& a, const ir::Expr& b) const {
    return is_uniform(make_binary(ir::Op::kLt, a, b), lanes, facts);
  }
};

ir::Expr times(int64_t k, const ir::Expr& e) { return ir::make_int(k) * e; }

}  // namespace

TEST_CASE_FIXTURE(Fixture, "vector access: neighbours at a multiple of the access are one access") {
  CHECK(width(times(4, o) + v) == 4);
  CHECK(width(times(4, o) + v + ir::make_int(8)) == 4);
  CHECK(width(times(4, o) + v, DType::kF64) == 2);
  CHECK(width(times(4, o) + v, DType::kF16) == 4);
  CHECK(width(times(2, o) + v) == 2);
  CHECK(width(times(4, o) + v + ir::make_int(2)) == 2);
  CHECK(width(times(4, o) + v + ir::make_int(1)) == 1);
  CHECK(width(times(4, o) + times(2, v)) == 1);
  CHECK(width(times(4, o) - v) == 1);
  CHECK(width(times(4, o)) == 1);
  CHECK(width(n * o + v) == 1);
  CHECK(width(times(4, n * o) + v) == 4);
}

TEST_CASE_FIXTURE(Fixture, "vector access: what the tensor promises bounds the access") {
  CHECK(width(times(4, o) + v, DType::kF32, 8) == 2);
  CHECK(width(times(4, o) + v, DType::kF32, 4) == 1);
  CHECK(width(times(4, o) + v, DType::kF32, 0) == 1);
  CHECK(width(times(4, o) + v, DType::kF32, 64) == 4);
}

TEST_CASE_FIXTURE(Fixture, "vector access: a vector loop that begins later") {
  lanes.begin = ir::make_int(4);
  CHECK(width(times(4, o) + v) == 4);
  lanes.begin = ir::make_int(2);
  CHECK(width(times(4, o) + v) == 2);
  CHECK(width(times(4, o) + v + ir::make_int(2)) == 4);
}

TEST_CASE_FIXTURE(Fixture, "vector access: bounds at multiples of the lanes hold for all or none") {
  const ir::Expr i = times(4, o) + v;
  CHECK(uniform(i, ir::make_int(40)));
  CHECK_FALSE(uniform(i, ir::make_int(42)));
  CHECK(uniform(i, times(8, n)));
  CHECK_FALSE(uniform(i, n));
  CHECK(uniform(o, n));
  CHECK(uniform(ir::make_int(7), i));
  CHECK_FALSE(uniform(ir::make_int(6), i));
  CHECK_FALSE(uniform(times(3, o) + v, ir::make_int(40)));
  CHECK(is_uniform(make_binary(ir::Op::kAnd, make_binary(ir::Op::kLe, ir::make_int(0), i),
                               make_binary(ir::Op::kLt, i, ir::make_int(96))),
                   lanes, facts));
  // By trying: what is called uniform is.
  for (int64_t step : {-3, -2, -1, 1, 2, 3}) {
    for (int64_t apart : {4, 6, 8, 12}) {
      for (int64_t c = -20; c <= 20; ++c) {
        bool same = true;
        for (int64_t at = -20; at <= 20; ++at) {
          int holds = 0;
          for (int64_t lane = 0; lane < 4; ++lane) holds += apart * at + step * lane < c;
          same &= holds == 0 || holds == 4;
        }
        CHECK(uniform(times(apart, o) + times(step, v), ir::make_int(c)) == same);
      }
    }
  }
}
