// SPDX-License-Identifier: Apache-2.0
#include "schedules/space/rules/rule.h"

namespace hone::schedules {
namespace {

/// Bytes that a call touches: when they exceed the last level, what is stored is gone before the
/// next call reads it.
int64_t traffic(const ir::Program& p) {
  int64_t bytes = 0;
  for (const ir::Buffer& b : p.buffers) {
    if (b.role != ir::Role::kTemp) bytes += bytes_of(p, b);
  }
  return bytes;
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
  const bool exceeds = traffic(plan.program()) >= plan.machine().l3;
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
