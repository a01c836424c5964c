// SPDX-License-Identifier: Apache-2.0
// How much memory a worker needs for what is computed inside its loops.
#include <doctest/doctest.h>

#include <algorithm>
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

TEST_CASE("scratch: blocks of a fused loop need the rows that they go through") {
  const auto p = ops::parse_problem(
      "op f(A: f32[N], X: f32[N,3]) -> (Y: f32[N,3]) { t[n] = A[n]*A[n]; Y[n,c] = X[n,c]*t[n] } "
      "N=1000");
  REQUIRE_MESSAGE(p, p.failure().message);
  struct Case {
    const char* schedule;
    int64_t rows;
  };
  for (const Case& c :
       {Case{"split Y/nc 48 -> o i tail=peel; compute t at Y/o", 16},
        Case{"split Y/nc 48 -> o i; compute t at Y/o", 16},
        Case{"split Y/nc 7 -> o i; compute t at Y/o", 3}, Case{"compute t at Y/nc", 1}}) {
    CAPTURE(c.schedule);
    const auto schedule =
        schedules::Schedule::parse("fuse Y/n Y/c -> nc; " + std::string(c.schedule));
    REQUIRE(schedule);
    const auto applied = schedules::apply(p->program, *schedule);
    REQUIRE(applied);
    const auto nest = jit::lower(*applied, ir::Target{});
    REQUIRE_MESSAGE(nest, nest.failure().reason);
    int64_t most = 0;
    for (const ir::NestBuffer& buffer : nest->buffers) {
      if (buffer.name == "t") most = std::max(most, buffer.max_bytes);
    }
    CHECK(most == c.rows * 4);
  }
}
