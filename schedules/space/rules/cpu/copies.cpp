// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "jit/ir/scatter.h"
#include "schedules/space/rules/rule.h"

namespace hone::schedules {
namespace {

/// Copies at most of the results, to which terms next to one another are added. An element is then
/// read back later than it takes to store it.
/// Tuned on: Zen 5 (AVX-512).
constexpr int64_t kCopies = 8;
/// Terms of each copied element, so that adding up the copies is little.
/// Chosen: a tenth of the time or less (not measured).
constexpr int64_t kTermsOfElement = 10;
/// Parts of very many terms, each with copies of its own. Whatever threads there are, these are as
/// many, and so is what floats are rounded to.
/// Chosen: work for some threads, memory of a near cache (not measured).
constexpr int64_t kParts = 16;
/// Terms of a part: more than waking a thread is worth.
/// Tuned on: nothing; reckoned as a few hundred microseconds.
constexpr int64_t kTermsOfPart = int64_t{1} << 18;

bool apply_copies(Plan& plan, const std::string& name) {
  const ir::Stage s = plan.stage(name);
  const std::vector<ir::ScatteredVar> scattered = ir::scattered_vars(s);
  if (scattered.empty()) return plan.declines("no term tells where it goes");
  const StageFacts facts = plan.facts(name);
  const std::string last = s.rvars.back().name;
  const int64_t elements = facts.points(s.vars), terms = facts.points(s.rvars);
  const int64_t fit = plan.machine().l1d / 2 / saturating_product(elements, size_of(s.accumulate));
  const int64_t copies = fit < 4 ? 2 : fit < kCopies ? 4 : kCopies;
  for (const ir::IndexVar& v : s.vars) {
    const bool told =
        std::any_of(scattered.begin(), scattered.end(),
                    [&](const ir::ScatteredVar& other) { return other.var == v.name; });
    if (!told && facts.extent(v.name) > 1)
      return plan.declines("a term is added to several elements");
  }
  if (fit < 2) return plan.declines("copies would not fit a near cache");
  if (terms / kTermsOfElement < elements * copies || facts.extent(last) < 2 * copies) {
    return plan.declines("copies would take as long to add up as the terms");
  }
  std::string copied = name;
  if (facts.extent(last) / kParts >= kTermsOfPart && s.rvars.size() == 1) {
    copied = plan.fresh_stage(name + ".q");
    const int64_t part = (facts.extent(last) + kParts - 1) / kParts;
    if (!plan.add(step::split_reduction({name, last}, part, copied))) return false;
  }
  const Plan::Halves h = plan.split(copied, last, copies);
  return !h.outer.empty() &&
         plan.add(step::rfactor({copied, h.inner}, plan.fresh_stage(name + ".p")));
}

}  // namespace

const Rule cpu::kCopies = {
    "copies",
    "Terms that go to single elements of few: neighbouring terms are added to copies of the "
    "elements, so that none waits for the one before to be stored. Very many terms are cut into "
    "parts for threads, each with copies of its own.",
    apply_copies,
    /*forwards=*/false,
    /*ordered=*/true,
};

}  // namespace hone::schedules
