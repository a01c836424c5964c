// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "jit/ir/scatter.h"
#include "schedules/space/rules/rule.h"

namespace hone::schedules {
namespace {

/// Bytes of a row that a term adds to. The sort takes some nanoseconds a term, and a row that is
/// grouped is stored once, not read and stored by every term.
/// Tuned on: Zen 5 (AVX-512).
constexpr int64_t kLeastRow = 256;

/// The bytes of the row of `v` neighbours that a term goes to; 0 where they do not lie in a row.
int64_t row_bytes(const Plan& plan, const ir::Stage& s, const std::string& scattered) {
  const StageFacts& facts = plan.facts(s.name);
  int64_t elements = 1;
  bool along = false;
  for (const ir::IndexVar& v : s.vars) {
    if (v.name == scattered) continue;
    elements *= facts.extent(v.name);
    along |= facts.store.stride(v.name) == 1;
  }
  return along ? elements * size_of(plan.program().buffer(s.output)->type) : 0;
}

bool apply_group_terms(Plan& plan, const std::string& name) {
  const ir::Stage s = plan.stage(name);
  const std::vector<ir::ScatteredVar> scattered = ir::scattered_vars(s);
  if (scattered.empty()) return plan.declines("no term tells where it goes");
  const std::string v = scattered.front().var;
  const StageFacts facts = plan.facts(name);
  const int64_t row = row_bytes(plan, s, v);
  if (row < kLeastRow) return plan.declines("a term adds to few bytes, and a sort takes longer");
  if (s.from_old) return plan.declines("rows to which no term goes would be read and stored, too");
  const ir::Buffer& out = *plan.program().buffer(s.output);
  if (bytes_of(plan.program(), out) < plan.machine().l2 / 4) {
    return plan.declines("a near cache holds what terms add to");
  }
  const int64_t terms = facts.points(s.rvars), rows = facts.extent(v);
  const bool pays = 2 * terms >= rows;
  if (plan.decide("group terms of " + name, 2, pays ? 1 : 0) == 0) {
    return plan.declines(pays ? "its terms were decided to come as they are"
                              : "most rows have no terms");
  }
  const std::string order = plan.fresh_stage(name + ".order");
  if (!plan.add(step::group({name, v}, order))) return false;
  plan.finish(order + ".before");  // the counts so far are its value, while it is left as it is
  plan.goes_on();
  return true;
}

}  // namespace

const Rule cpu::kGroup = {
    "group",
    "Terms that go to rows of many, each a few lines long: put in the order of the rows first, by "
    "a counting sort. Each row is then a sum of its own, kept in registers and stored once.",
    apply_group_terms,
    /*forwards=*/false,
    /*ordered=*/true,
};

}  // namespace hone::schedules
