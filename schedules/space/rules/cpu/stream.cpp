// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "jit/ir/operations.h"
#include "jit/ir/scatter.h"
#include "jit/ir/so_far.h"
#include "schedules/space/analysis/shape.h"
#include "schedules/space/rules/rule.h"

namespace hone::schedules {
namespace {

/// What a call moves and computes, in bytes.
struct Traffic {
  int64_t read = 0;
  int64_t all = 0;
  double computed = 0;  ///< by arithmetic instructions
};

int64_t sum_of(int64_t a, int64_t b) { return std::min(a + b, kMostCount); }

/// Terms of each result of a stage. Those that tell where they go are shared out among the results.
/// Ranges that data choose are taken not to overlap: together they have the elements of a tensor
/// that they index.
int64_t terms_of(const Plan& plan, const ir::Stage& s) {
  const StageFacts facts = facts_of(plan.program(), s);  // of all elements, not of a window
  int64_t terms = 1, places = 1;
  for (const ir::ScatteredVar& v : ir::scattered_vars(s)) {
    places = saturating_product(places, typical(plan.program(), s.var(v.var)->hi));
  }
  if (!s.at.root() && ir::is_so_far(plan.program(), s, plan.stage(s.at.stage))) return 1;
  for (const ir::IndexVar& v : s.rvars) {
    int64_t each = std::max<int64_t>(facts.extent(v.name), 1);
    const bool chosen = ir::mentions_load(v.hi);
    for (const Access& a : facts.loads) {
      for (size_t d = 0; chosen && d < a.indices.size(); ++d) {
        if (plain_var(a.indices[d]) != v.name) continue;
        const ir::Expr& extent = plan.program().buffer(a.buffer)->shape[d];
        each = std::min(each, std::max<int64_t>(
                                  1, typical(plan.program(), extent) / facts.points(facts.bounds)));
      }
    }
    terms = saturating_product(terms, each);
  }
  return std::max<int64_t>(1, terms / std::max<int64_t>(1, places));
}

Traffic traffic_of(const Plan& plan) {
  const ir::Program& p = plan.program();
  Traffic t;
  for (const ir::Buffer& b : p.buffers) {
    if (b.role == ir::Role::kTemp) continue;
    t.all = sum_of(t.all, bytes_of(p, b));
    if (b.role != ir::Role::kOutput) t.read = sum_of(t.read, bytes_of(p, b));
  }
  for (const ir::Stage& s : p.stages) {
    // Of the whole call; the extents of a stage inside a loop are those of one iteration.
    const int64_t terms = terms_of(plan, s);
    const ir::Buffer& made = *p.buffer(s.output);
    const double each = ir::operations_of(s.value) + (s.reduce == ir::Reduce::kNone ? 0 : 1);
    const double width = size_of(widest_type(p, s)) / static_cast<double>(size_of(made.type));
    t.computed += each * width * static_cast<double>(saturating_product(bytes_of(p, made), terms));
  }
  return t;
}

/// True where a store past the caches saves the read of its line, and time.
///
/// What is stored is gone from the last cache before the next call comes to it. Where hardly
/// anything is read, a part of it stays there, so that twice the size gains. Where much is
/// computed, such stores hold up the loads behind them, the more so the further away memory is.
/// Tuned on: Zen 5, copies, fills and polynomials of 1 to 128 MB.
bool gains(const Traffic& t, int64_t l3) {
  const bool far = t.all >= 4 * l3;
  if (t.all < l3 || (t.read < l3 / 2 && t.all < 2 * l3)) return false;
  return t.computed <= (far ? 2.0 : 5.0) * static_cast<double>(t.all);
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
  const bool past = gains(traffic_of(plan), plan.machine().l3);
  if (plan.decide("stream " + out.name, 2, past ? 1 : 0) == 0) {
    return plan.declines(past ? "its result was decided to pass through the caches"
                              : "the caches hold its result, or it is computed in that time");
  }
  return plan.add(step::stream(out.name));
}

}  // namespace

const Rule cpu::kStream = {
    "stream",
    "An output of a call that exceeds the last level is stored past the caches, where little is "
    "computed.",
    apply_stream_out,
};

}  // namespace hone::schedules
