// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "schedules/space/rules/rule.h"

namespace hone::schedules {
namespace {

/// Bytes that a call reads and writes.
struct Traffic {
  int64_t read = 0;
  int64_t all = 0;
};

Traffic traffic_of(const ir::Program& p) {
  Traffic t;
  for (const ir::Buffer& b : p.buffers) {
    if (b.role == ir::Role::kTemp) continue;
    t.all = std::min(t.all + bytes_of(p, b), kMostCount);
    if (b.role != ir::Role::kOutput) t.read = std::min(t.read + bytes_of(p, b), kMostCount);
  }
  return t;
}

/// True where what is stored is gone from the last cache before the next call comes to it. Then a
/// store past the caches saves the read of its line. Where hardly anything is read, whole lines
/// that are stored one after another need no read. So only what exceeds the cache by far gains.
/// Tuned on: Zen 5, copies and fills of 1 to 128 MB.
bool exceeds_caches(const Traffic& t, int64_t l3) {
  return t.all >= l3 && (t.read >= l3 / 2 || t.all >= 4 * l3);
}

bool apply_stream_out(Plan& plan, const std::string& name) {
  const ir::Stage s = plan.stage(name);
  const ir::Buffer& out = *plan.program().buffer(s.output);
  if (out.role != ir::Role::kOutput) return plan.declines("its result is no output of the op");
  if (s.reduce != ir::Reduce::kNone) {
    return plan.declines("it reduces, and so reads what it has written");
  }
  if (bytes_of(plan.program(), out) < plan.machine().l3 / 4) {
    return plan.declines("the result fits into a quarter of the last cache");
  }
  const bool exceeds = exceeds_caches(traffic_of(plan.program()), plan.machine().l3);
  if (plan.decide("stream " + out.name, 2, exceeds ? 1 : 0) == 0) {
    return plan.declines(exceeds ? "its result was decided to pass through the caches"
                                 : "the tensors of the op fit into the last cache");
  }
  return plan.add(step::stream(out.name));
}

}  // namespace

const Rule cpu::kStream = {
    "stream",
    "An output of a call that exceeds the last level is stored past the caches.",
    apply_stream_out,
};

}  // namespace hone::schedules
