// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include "schedules/space/analysis/shape.h"
#include "schedules/space/rules/rule.h"
#include "schedules/steps/edit.h"

namespace hone::schedules {
namespace {

/// Elements of a tensor that one iteration of the loops inside `loop` reads in a row.
int64_t row_of(const Plan& plan, const ir::Stage& s, const Access& a, const std::string& loop) {
  const StageFacts& facts = plan.facts(s.name);
  int64_t row = 1;
  bool inside = false;
  for (const ir::Loop& l : s.loops) {
    for (const std::string& var : roots_of(s, l.name)) {
      if (inside && a.stride(var) == 1) row = std::max(row, facts.extent(var));
    }
    inside = inside || l.name == loop;
  }
  return row;
}

/// The innermost loop over which the access goes where the hardware does not prefetch. There it
/// goes from one row chosen by data to the next, or from page to page.
std::string leaping_loop(const Plan& plan, const ir::Stage& s, const Access& a) {
  const int64_t size = size_of(plan.program().buffer(a.buffer)->type);
  const bool data = std::any_of(a.indices.begin(), a.indices.end(), ir::mentions_load);
  for (size_t i = s.loops.size(); i-- > 0;) {
    const ir::Loop& l = s.loops[i];
    if (l.mark != ir::Mark::kSerial && l.mark != ir::Mark::kParallel) continue;
    for (const std::string& var : roots_of(s, l.name)) {
      bool leaps = !data && std::abs(a.stride(var)) * size >= plan.machine().page_bytes;
      for (const ir::Expr& index : a.indices) {
        if (!ir::mentions_load(index)) continue;
        ir::visit(index,
                  [&](const ir::Expr& n) { leaps |= n->op == ir::Op::kVar && n->name == var; });
      }
      if (leaps) return l.name;
      if (!data && a.stride(var) != 0) return {};  // lines follow each other further in
    }
  }
  return {};
}

/// Bytes of the rows that data choose, as many as there are places; all of them at most.
int64_t bytes_chosen(const Plan& plan, const Access& a, int64_t bytes, int64_t row) {
  int64_t places = 0;
  for (const ir::Expr& index : a.indices) {
    ir::visit(index, [&](const ir::Expr& n) {
      if (n->op != ir::Op::kLoad) return;
      const ir::Buffer& b = *plan.program().buffer(n->name);
      places = std::max(places, bytes_of(plan.program(), b) / size_of(b.type));
    });
  }
  return std::min(bytes, saturating_product(places, row));
}

/// Iterations to look ahead: enough lines for the latency of where the tensor comes from. Nothing
/// where rows are in order, which hardware mostly foresees.
int64_t distance_for(const Plan& plan, const Access& a, int64_t bytes, int64_t row) {
  // Lines that are on their way at a time, from the last cache and from memory.
  // Tuned on: Zen 5 (AVX-512).
  constexpr int64_t kNear = 64, kFar = 256;
  const bool data = std::any_of(a.indices.begin(), a.indices.end(), ir::mentions_load);
  if (!data) return 0;
  const int64_t lines = std::max<int64_t>(1, row / plan.machine().line_bytes);
  // Others use the last cache, too: half of it is as much as stays from call to call.
  const int64_t l3 = plan.machine().l3;
  const bool far = bytes > l3 || bytes_chosen(plan, a, bytes, row) > l3 / 2;
  const int64_t ahead = (far ? kFar : kNear) / lines;
  for (const int64_t distance : {64, 32, 16}) {
    if (ahead >= distance) return distance;
  }
  return 8;
}

bool apply_prefetch_ahead(Plan& plan, const std::string& name) {
  const ir::Stage s = plan.stage(name);
  std::set<std::string> seen;
  plan.declines("it reads no tensor");
  bool any = false;
  for (const Access& a : std::vector(plan.facts(name).loads)) {
    if (!seen.insert(a.buffer).second) continue;
    const ir::Buffer& b = *plan.program().buffer(a.buffer);
    const int64_t bytes = bytes_of(plan.program(), b);
    const ir::Stage* made = plan.program().producer(a.buffer);
    const bool window = made != nullptr && !made->at.root();  // near, whatever the whole comes to
    const std::string loop =
        window || bytes <= plan.machine().l2 ? std::string() : leaping_loop(plan, s, a);
    if (loop.empty()) {
      plan.declines(window ? "what it reads of " + a.buffer + " is made beside it"
                    : bytes <= plan.machine().l2
                        ? "a near cache holds " + a.buffer
                        : "hardware foresees how its loops go through " + a.buffer);
      continue;
    }
    const int64_t row = row_of(plan, s, a, loop) * size_of(b.type);
    const int64_t distance = distance_for(plan, a, bytes, row);
    const Number ahead =
        plan.knob(knob_name("pf", name + "_" + a.buffer), {0, 8, 16, 32, 64}, distance);
    any |= plan.add(step::prefetch(a.buffer, {name, loop}, ahead));
  }
  return any;
}

}  // namespace

const Rule cpu::kPrefetch = {
    "prefetch",
    "Rows that data choose, or that lie pages apart, of a tensor that a near cache does not hold "
    "are asked for some iterations ahead.",
    apply_prefetch_ahead,
};

}  // namespace hone::schedules
