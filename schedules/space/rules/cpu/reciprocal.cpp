// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <vector>

#include "jit/ir/choices.h"
#include "jit/ir/functions/function.h"
#include "jit/ir/operations.h"
#include "schedules/space/analysis/axis.h"
#include "schedules/space/analysis/facts.h"
#include "schedules/space/analysis/shape.h"
#include "schedules/space/rules/rule.h"
#include "schedules/steps/edit.h"

namespace hone::schedules {
namespace {

/// Vectors of quotients by one value from which its reciprocal is worth making.
/// Tuned on: an Intel server (AVX-512).
constexpr int64_t kFewestVectors = 4;
/// Instructions that run while a vector is divided, or while its square roots are taken. Vectors of
/// 32 bytes take half as long, with more ports beside.
/// Tuned on: an Intel server (AVX-512, AVX2).
constexpr double kBeside = 20, kBesideShort = 12;

/// Counts what keeps the divider busy in the elements along `var`.
int divisions_along(const ir::Expr& value, const std::string& var) {
  int n = 0;
  ir::visit(value, [&](const ir::Expr& e) {
    const bool root = e->op == ir::Op::kCall && e->fn->expansion == ir::Expansion::kSqrt;
    n += (root || e->op == ir::Op::kDiv) && is_float(e->type) && ir::mentions_var(e, var);
  });
  return n;
}

/// True where all divisors can be looked at in front of the loops along `var`. What a choice reads
/// may not be there where it is not chosen, unless it is among `asked`.
bool known_before(const ir::Expr& e, const std::string& var, const std::vector<ir::Expr>& asked,
                  bool chosen) {
  const auto reads = [&](const ir::Expr& x) {
    const auto same = [&](const ir::Expr& a) { return equal(a, x); };
    return x->op == ir::Op::kLoad && std::none_of(asked.begin(), asked.end(), same);
  };
  if (chosen && divides_by_one_value(e, var) && ir::any_node(e->args[1], reads)) return false;
  for (size_t i = 0; i < e->args.size(); ++i) {
    if (!known_before(e->args[i], var, asked, chosen || ir::is_choice(e, i))) return false;
  }
  return true;
}

bool apply_reciprocal(Plan& plan, const std::string& name) {
  const ir::Stage s = plan.stage(name);
  const auto divides = [](const ir::Expr& e) { return e->op == ir::Op::kDiv && is_float(e->type); };
  if (!ir::any_node(s.value, divides)) return plan.declines("no floats are divided");
  if (!plan.target().has(ir::Isa::kAvx2)) return plan.declines("products are not fused with sums");
  const StageFacts facts = plan.facts(name);
  const VectorAxis axis = vector_axis(plan, name, facts.store, s.reduce != ir::Reduce::kNone);
  if (axis.var.empty()) return plan.declines("its loops have no vectors");
  const auto gains = [&](const ir::Expr& e) { return divides_by_one_value(e, axis.var); };
  if (!ir::any_node(s.value, gains)) {
    return plan.declines("each lane of a vector has a divisor of its own");
  }
  if (!known_before(s.value, axis.var, ir::loads_in_any_case(s.value), false)) {
    return plan.declines("a divisor is read where a condition holds");
  }
  const DType widest = widest_type(plan.program(), s);
  const int64_t lanes = plan.target().vector_bytes() / size_of(widest);
  if (facts.extent(axis.var) < kFewestVectors * lanes) {
    return plan.declines("a divisor has few quotients");
  }
  const double beside = plan.target().has(ir::Isa::kAvx512) ? kBeside : kBesideShort;
  if (beside * divisions_along(s.value, axis.var) <= ir::operations_of(s.value)) {
    return plan.declines("other instructions take longer than the divisions");
  }
  if (plan.decide("reciprocals in " + name, 2, 1) == 0) {
    return plan.declines("its quotients were decided to stay");
  }
  return plan.add(step::reciprocal({name, axis.var}));
}

}  // namespace

const Rule cpu::kReciprocal = {
    "reciprocal",
    "Quotients of a vector by one value, for many vectors, are made of the value's reciprocal: a "
    "division takes as long as ten multiplications.",
    apply_reciprocal,
};

}  // namespace hone::schedules
