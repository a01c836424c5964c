// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "schedules/space/analysis/tile_axes.h"
#include "schedules/space/rules/rule.h"
#include "schedules/steps/narrow_sum.h"

namespace hone::schedules {
namespace {

/// Terms from which sums in a narrower type are worth adding up again.
/// Tuned on: nothing; reckoned from a widening and an addition against as many terms.
constexpr int64_t kFewestTerms = 16;

/// A reduced index in parts, whose terms and those of all other reduced indices make a sum.
struct NarrowPart {
  std::string var;
  int64_t steps = 0;  ///< of the index
};

/// The greatest number up to `most` that divides `all`, where it is not much less.
int64_t even_part(int64_t all, int64_t most) {
  for (int64_t n = std::min(all, most); n > most / 2; --n) {
    if (all % n == 0) return n;
  }
  return std::min(all, most);
}

/// The longest reduced index in the longest parts whose sums the narrowest type holds, where these
/// have enough terms. Without an index: there is none.
NarrowPart narrow_part(const Plan& plan, const ir::Stage& s) {
  const StageFacts& facts = plan.facts(s.name);
  NarrowPart out;
  int64_t longest = 0, all = 1;
  for (const ir::IndexVar& r : s.rvars) {
    if (r.lo || !ir::is_const(r.hi)) return {};
    const int64_t extent = std::max<int64_t>(facts.extent(r.name), 1);
    all = saturating_product(all, extent);
    if (extent <= longest) continue;
    longest = extent;
    out.var = r.name;
  }
  if (all < 2) return {};
  const int64_t others = all / longest;
  for (const DType type : kNarrowSums) {
    const int64_t most = terms_in(type, plan.program(), s) / others;
    if (most * others < std::min(all, kFewestTerms)) continue;
    out.steps = even_part(longest, most);
    return out;
  }
  return {};
}

/// True where results lie along a vector, and no lanes are added up.
bool lies_along_vectors(const Plan& plan, const ir::Stage& s) {
  if (s.vars.empty()) return false;
  TiledReduction own{s.name, s.name, {}};
  for (const ir::IndexVar& v : s.vars) own.follows[v.name] = v.name;
  return !tiles_for(plan, own).empty();
}

bool apply_narrow(Plan& plan, const std::string& name) {
  const ir::Stage s = plan.stage(name);
  if (s.reduce != ir::Reduce::kSum || !is_int(s.accumulate)) {
    return plan.declines("it is no sum of integers");
  }
  if (!s.relations.empty() || !s.at.root()) return plan.declines("its loops are cut already");
  const bool wraps = wrapping_sum(plan.program(), s).has_value();
  if (!wraps && !lies_along_vectors(plan, s)) {
    return plan.declines("lanes of a vector are its partial sums");
  }
  const NarrowPart part = wraps ? NarrowPart() : narrow_part(plan, s);
  if (!wraps && part.var.empty()) {
    return plan.declines("no narrower type holds sums of enough terms");
  }
  if (plan.decide("sum " + name + " narrow", 2, 1) == 0) {
    return plan.declines("its sums were decided to be as wide as it is");
  }
  const std::string sums = plan.fresh_stage(name + ".n");
  if (!wraps && part.steps < plan.facts(name).extent(part.var)) {
    return plan.add(step::split_reduction({name, part.var}, part.steps, sums));
  }
  if (!plan.add(step::narrow(name, sums))) return false;
  // What only widens a sum is done where that is read.
  if (plan.program().buffer(s.output)->role == ir::Role::kTemp) plan.add(step::inline_stage(name));
  return true;
}

}  // namespace

const Rule cpu::kNarrow = {
    "narrow",
    "Integers so small that a narrower type holds sums of many are summed in that, in more lanes, "
    "and those sums in the type of the whole. Sums of which readers take few bytes are no wider.",
    apply_narrow,
};

}  // namespace hone::schedules
