// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include "schedules/space/analysis/shape.h"
#include "schedules/space/rules/rule.h"
#include "schedules/steps/edit.h"

namespace hone::schedules {
namespace {

/// Reads of a slice for each of its lines, so that copying it is less than to wait for them.
/// Tuned on: Zen 5 (AVX-512); 1.6 reads gain a quarter.
constexpr int64_t kReadsOfLine = 1;

/// Whether what the call goes through leaves the last cache before it comes again.
/// Tuned on: Zen 5 (AVX-512); 0.6 of that cache stay, 0.85 do not.
bool passes_through(const Plan& plan) {
  int64_t bytes = 0;
  for (const ir::Buffer& b : plan.program().buffers) {
    if (b.role != ir::Role::kTemp) bytes += bytes_of(plan.program(), b);
  }
  return bytes >= plan.machine().l3 / 4 * 3;
}

/// Elements of the tensor that the body of a loop may read, while the variables in `still` have one
/// value each.
int64_t slice_of(const Plan& plan, const Access& a, const std::set<std::string>& still) {
  const ir::Buffer& b = *plan.program().buffer(a.buffer);
  int64_t elements = 1;
  for (size_t d = 0; d < b.shape.size(); ++d) {
    const std::string v = plain_var(a.indices[d]);
    const bool one = ir::is_const(a.indices[d]) || (!v.empty() && still.count(v) != 0);
    if (!one) elements = saturating_product(elements, typical(plan.program(), b.shape[d]));
  }
  return elements;
}

/// The outermost loop whose iterations read a slice of the tensor often enough; "": there is none.
std::string loop_of_slices(const Plan& plan, const ir::Stage& s, const Access& a) {
  const StageFacts& facts = plan.facts(s.name);
  const ir::Buffer& b = *plan.program().buffer(a.buffer);
  const int64_t size = size_of(b.type), whole = bytes_of(plan.program(), b) / size;
  std::set<std::string> still;
  for (const ir::Loop& l : s.loops) {
    if (l.mark != ir::Mark::kSerial && l.mark != ir::Mark::kParallel) return {};
    const std::vector<std::string> roots = roots_of(s, l.name);
    if (roots.size() != 1 || roots.front() != l.name || is_reduction(s, l.name)) return {};
    still.insert(l.name);
    int64_t reads = 1;
    for (const auto* list : {&s.vars, &s.rvars}) {
      for (const ir::IndexVar& v : *list) {
        if (still.count(v.name) == 0) reads = saturating_product(reads, facts.extent(v.name));
      }
    }
    const int64_t slice = slice_of(plan, a, still);
    if (slice >= whole || slice * size > plan.machine().l2) continue;
    const int64_t lines = std::max<int64_t>(1, slice * size / plan.machine().line_bytes);
    return reads >= kReadsOfLine * lines ? l.name : std::string();
  }
  return {};
}

/// Whether the elements of a vector lie in rows of their own, or one a row: no row is read whole.
bool reads_apart(const ir::Stage& s, const Access& a) {
  std::string vector = s.loops.empty() ? std::string() : s.loops.back().name;
  return std::any_of(a.indices.begin(), a.indices.end(), [&](const ir::Expr& index) {
    if (!ir::mentions_load(index)) return false;
    return std::any_of(s.vars.begin(), s.vars.end(), [&](const ir::IndexVar& v) {
      const std::vector<std::string> roots = roots_of(s, vector);
      const bool inner = std::find(roots.begin(), roots.end(), v.name) != roots.end();
      return inner && mentions_var(index, v.name);
    });
  });
}

bool apply_near(Plan& plan, const std::string& name) {
  const ir::Stage s = plan.stage(name);
  if (!s.at.root()) return plan.declines("it is computed inside another stage");
  if (!passes_through(plan)) return plan.declines("the last cache holds all that the call reads");
  plan.declines("data choose no elements of a tensor");
  std::set<std::string> seen;
  bool any = false;
  for (const Access& a : std::vector(plan.facts(name).loads)) {
    const ir::Buffer& b = *plan.program().buffer(a.buffer);
    if (!reads_apart(s, a) || !seen.insert(a.buffer).second) continue;
    if (bytes_of(plan.program(), b) <= plan.machine().l2) {
      plan.declines("a near cache holds " + a.buffer);
      continue;
    }
    const std::string loop = loop_of_slices(plan, s, a);
    if (loop.empty()) {
      plan.declines("no loop reads a slice of " + a.buffer +
                    " that a near cache holds, and each line of it several times");
      continue;
    }
    if (plan.decide("copy slices of " + a.buffer + " at " + name + "/" + loop, 2, 1) == 0) continue;
    const std::string copy = plan.fresh_stage(a.buffer + ".near");
    if (!plan.add(step::stage(a.buffer, {name, loop}, copy))) continue;
    const std::vector<ir::Loop>& loops = plan.stage(copy).loops;
    any |= loops.empty() || plan.add(step::vectorize({copy, loops.back().name}));
  }
  return any;
}

}  // namespace

const Rule cpu::kNear = {
    "near",
    "Elements that data choose one by one, of slices of a tensor that a near cache holds: each "
    "slice is copied there first, in its order, so that no element is waited for.",
    apply_near,
};

}  // namespace hone::schedules
