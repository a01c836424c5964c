// SPDX-License-Identifier: Apache-2.0
// How much memory a worker needs for what is computed inside its loops.
#include <doctest/doctest.h>

#include <string>

#include "jit/passes/lower.h"
#include "ops/op.h"
#include "schedules/schedule.h"

using namespace hone;

TEST_CASE("scratch: a window that data choose is no longer than its tensor") {
  for (const std::string type : {"u8", "i32", "i64"}) {
    CAPTURE(type);
    const auto p = ops::parse_problem("op f(A: f32[16,16], B: " + type +
                                      "[D + 1]) -> (Y: f32[D]) { t: f32[u in 0..16] = A[u,0]; "
                                      "Y[i] = sum[r in B[i]..B[i + 1]](t[r]) } D=9");
    REQUIRE_MESSAGE(p, p.failure().message);
    const auto schedule = schedules::Schedule::parse("compute t at Y/i");
    REQUIRE(schedule);
    const auto applied = schedules::apply(p->program, *schedule);
    REQUIRE(applied);
    const auto nest = jit::lower(*applied, ir::Target{});
    REQUIRE_MESSAGE(nest, nest.failure().reason);
    CHECK(nest->worker_bytes == 16 * 4);
  }
}
