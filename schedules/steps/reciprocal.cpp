// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "schedules/steps/edit.h"
#include "schedules/steps/rows.h"

namespace hone::schedules {
namespace {

Applied apply_reciprocal(ir::Program p, const Step& step) {
  auto at = find_loop(p, step.name("loop"));
  if (!at) return at.failure();
  ir::Stage& s = p.stages.edit(at->stage);
  const std::string loop = s.loops[at->loop].name;
  if (!s.var(loop)) {
    return ir::Reject{"loop " + loop + " is a part of an index; name the index, before it is cut"};
  }
  const ir::Expr value = ir::rewrite(s.value, [&](const ir::Expr& e) {
    return divides_by_one_value(e, loop) ? ir::by_reciprocal(e) : ir::Expr();
  });
  if (value.get() == s.value.get()) {
    return ir::Reject{"stage " + s.name + " has no quotient of f32 or f64 that " + loop +
                      " changes, but not its divisor; or it is one by reciprocal already"};
  }
  s.value = value;
  return p;
}

}  // namespace

const StepRow kReciprocal = {
    "reciprocal",
    {{Arg::kLoop, "loop"}},
    "Float quotients that the loop changes, but not their divisor, are made of its reciprocal, in "
    "two parts, which CPUs compute in front of the loop. Whole quotients stay exact; of others "
    "about "
    "one in 2^24, midway between two values, is rounded to the other.\n"
    "Y[i,j] = X[i,j]/s[i]  =>  reciprocal Y/j  =>  Y[i,j] = X[i,j]*reciprocal(s[i])",
    apply_reciprocal,
};

}  // namespace hone::schedules
