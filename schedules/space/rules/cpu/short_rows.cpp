// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "schedules/space/analysis/shape.h"
#include "schedules/space/rules/rule.h"

namespace hone::schedules {
namespace {

/// Lanes that rows may leave idle, as a part of those at work.
/// Tuned on: Zen 4 (AVX-512).
constexpr double kIdleInRows = 0.15;
/// Instructions of one iteration of the vector loop.
/// Tuned on: Zen 4 (AVX-512).
constexpr int64_t kRowsBody = 192;
/// Vectors of one iteration, where fewer end with a row.
/// Tuned on: Zen 4 (AVX-512).
constexpr int64_t kVectors = 4;
/// Vectors that one iteration may have: more run in a loop, in which none knows its rows.
/// Fixed by: loops over vectors, as instruction selection lays them out.
constexpr int64_t kMostVectors = 16;

/// Two indices of a stage: the outer goes on in the result where the inner ends.
struct Pair {
  std::string outer, inner;
};

/// Those where rows of the inner leave lanes idle. False, and `plan` told why, where there are
/// none.
bool find_pair(Plan& plan, const std::string& name, Pair& out) {
  const ir::Stage s = plan.stage(name);
  const StageFacts facts = plan.facts(name);
  out.inner = contiguous_var(plan, name);
  if (out.inner.empty() || facts.store.stride(out.inner) != 1) {
    return plan.declines("no index runs along memory in the result");
  }
  const int64_t extent = facts.extent(out.inner);
  if (!ir::is_const(s.var(out.inner)->hi)) {
    return plan.declines("the call decides the extent of " + out.inner);
  }
  if (idle_lanes(extent, plan.lanes(widest_type(plan.program(), s))) <= kIdleInRows) {
    return plan.declines("rows along " + out.inner + " fill their vectors");
  }
  for (const ir::IndexVar& v : s.vars) {
    if (facts.store.stride(v.name) == extent && facts.extent(v.name) > 1) out.outer = v.name;
  }
  if (out.outer.empty()) {
    return plan.declines("no index goes on in the result where " + out.inner + " ends");
  }
  // An index over all rows is not proved to stay inside an open number of them.
  return ir::is_const(s.var(out.outer)->hi) ||
         plan.declines("the call decides the extent of " + out.outer);
}

bool apply_short_rows(Plan& plan, const std::string& name) {
  const ir::Stage s = plan.stage(name);
  if (s.reduce != ir::Reduce::kNone) return plan.declines("the stage reduces");
  if (s.where) return plan.declines("the stage has a `where`");
  if (!s.relations.empty()) return plan.declines("its loops are split or fused already");
  if (!s.at.root() || hosts_stages(plan, name)) {
    return plan.declines("its loops stand in another stage's, or hold another's");
  }
  Pair pair;
  if (!find_pair(plan, name, pair)) return false;
  const StageFacts facts = plan.facts(name);
  for (const Access& a : facts.loads) {
    if (a.guarded) return plan.declines("a load of " + a.buffer + " may leave it");
    if (!std::all_of(a.indices.begin(), a.indices.end(), is_clamped)) {
      return plan.declines("divisions or data choose where it reads " + a.buffer);
    }
    const int64_t step = a.stride(pair.inner);
    if (step != 0 && step != 1 && !a.slow.contains(pair.inner)) {
      return plan.declines("it reads " + a.buffer + " across its rows");
    }
  }
  const int64_t extent = facts.extent(pair.inner);
  const int64_t lanes = plan.lanes(widest_type(plan.program(), s));
  // Where a vector ends with a row, the next ones read as these do.
  const int64_t vectors = std::lcm(extent, lanes) / lanes;
  const int64_t body = facts.operations + static_cast<int64_t>(facts.loads.size()) + 2;
  if (vectors > kMostVectors || vectors * body > kRowsBody) {
    return plan.declines("rows along " + pair.inner + " end with a vector after " +
                         std::to_string(vectors) + " of them, which is too much code");
  }
  if (plan.decide("rows of " + name + " together", 2, 1) == 0) {
    return plan.declines("its rows were decided to be apart");
  }
  const std::string all = pair.outer + "." + pair.inner;
  if (!order_by_memory(plan, name, {pair.outer, pair.inner})) return false;
  if (!plan.add(step::fuse({name, pair.outer}, {name, pair.inner}, all))) return false;
  std::string vector = all;
  const int64_t step = vectors * lanes * std::max<int64_t>(kVectors / vectors, 1);
  if (saturating_product(extent, facts.extent(pair.outer)) > step) {
    const Number factor = plan.knob(knob_name("u", name), {step / 2, step, 2 * step}, step);
    vector = all + ".i";
    if (!plan.add(step::split({name, all}, factor, all + ".o", vector, ir::Tail::kPeel)))
      return false;
  }
  if (!plan.add(step::vectorize({name, vector}))) return false;
  spread(plan, name);
  plan.finish(name);
  return true;
}

}  // namespace

const Rule cpu::kShortRows = {
    "short_rows",
    "Rows of a result that fill no vectors run as one, where each goes on where the last one ends.",
    apply_short_rows,
};

}  // namespace hone::schedules
