// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "schedules/space/gpu.h"
#include "schedules/space/rows.h"
#include "schedules/space/rules.h"
#include "schedules/space/shape.h"

namespace hone::schedules {
namespace {

/// A row shorter than this is a thread's, not a block's.
constexpr int64_t kLong = 64;
/// Bytes of shared memory that a row may take.
constexpr int64_t kShared = 32 << 10;

/// The reduced variable along which the stage reads neighbours, or "".
std::string along(const Plan& plan, const std::string& name) {
  const StageFacts facts = plan.facts(name);
  for (const ir::IndexVar& v : plan.stage(name).rvars) {
    if (v.lo || facts.bounds.contains(v.name)) continue;
    for (const Access& a : facts.loads) {
      if (!a.gathers && a.stride(v.name) == 1) return v.name;
    }
  }
  return {};
}

/// Gives the reduced `var` of a stage in registers to the threads of the block.
bool reduce_by_threads(Plan& plan, const std::string& name, const std::string& var) {
  const int64_t extent = plan.facts(name).extent(var);
  const Plan::Halves h = plan.split(name, var, std::to_string(threads_for(extent)));
  if (h.outer.empty()) return false;
  // Threads outside all that is reduced: they are combined once.
  std::string order = "reorder " + name + "/" + h.inner;
  for (const ir::Loop& l : plan.stage(name).loops) {
    bool reduced = false;
    for (const ir::IndexVar& v : plan.stage(name).rvars) {
      reduced |= l.name == v.name || l.name == h.outer;
    }
    if (reduced) order += " " + name + "/" + l.name;
  }
  return plan.add(order) && plan.add("bind " + name + "/" + h.inner + " thread.x");
}

/// A reduction on its own: a block for each result.
bool reduce_row(Plan& plan, const std::string& name) {
  const ir::Stage s = plan.stage(name);
  const std::string var = along(plan, name);
  if (var.empty() || s.vars.empty() || plan.facts(name).extent(var) < kLong) return false;
  std::vector<std::string> loops;
  for (const ir::IndexVar& v : s.vars) loops.push_back(v.name);
  loops = fuse_loops(plan, name, loops);
  if (!bind_blocks(plan, name, loops)) return false;
  const std::string own = s.output + ".own";
  if (!plan.add("stage " + s.output + " at " + name + "/" + loops.back() + " -> " + own +
                " in=registers")) {
    return false;
  }
  return reduce_by_threads(plan, own, var);
}

/// Places what a row needs: results of reductions with every thread, longer parts shared.
bool place_member(Plan& plan, const std::string& member, const std::vector<std::string>& followed,
                  const std::string& at) {
  const ir::Stage s = plan.stage(member);
  for (const std::string& var : followed) plan.set_window(member, var, 1);
  if (s.reduce != ir::Reduce::kNone) {
    const std::string var = along(plan, member);
    if (followed.size() != s.vars.size() || var.empty()) return false;
    return plan.add("compute " + member + " at " + at + " in=registers") &&
           reduce_by_threads(plan, member, var);
  }
  int64_t bytes = size_of(plan.program().buffer(s.output)->type);
  for (const ir::IndexVar& v : s.vars) bytes *= plan.facts(member).extent(v.name);
  const std::string var = contiguous_var(plan, member);
  if (followed.size() == s.vars.size())
    return plan.add("compute " + member + " at " + at + " in=registers");
  if (bytes > kShared || var.empty() ||
      std::find(followed.begin(), followed.end(), var) != followed.end()) {
    return plan.add("inline " + member);
  }
  return plan.add("compute " + member + " at " + at + " in=shared") &&
         bind_threads(plan, member, var, threads_for(plan.facts(member).extent(var)), "x");
}

bool apply(Plan& plan, const std::string& name) {
  const ir::Stage root = plan.stage(name);
  if (!root.at.root()) return false;
  if (root.reduce != ir::Reduce::kNone) {
    if (!reduce_row(plan, name)) return false;
    plan.finish(name);
    return true;
  }
  std::vector<std::string> prefix;
  const RowMembers members = row_members(plan, root, prefix);
  const std::string last = contiguous_var(plan, name);
  const bool whole = prefix.size() == root.vars.size();
  if (members.empty() || whole || last.empty() ||
      std::find(prefix.begin(), prefix.end(), last) != prefix.end() ||
      plan.facts(name).extent(last) < kLong) {
    return false;
  }
  const std::vector<std::string> loops = fuse_loops(plan, name, prefix);
  if (!bind_blocks(plan, name, loops)) return false;
  const std::string at = name + "/" + loops.back();
  const auto stages = plan.program().stages;  // consumers first: an inlined stage has none left
  for (size_t i = stages.size(); i-- > 0;) {
    const auto member = members.find(stages[i].name);
    if (member == members.end()) continue;
    if (!place_member(plan, member->first, member->second, at)) return false;
    plan.finish(member->first);
  }
  for (const std::string& var : prefix) plan.set_window(name, var, 1);
  if (!bind_threads(plan, name, last, threads_for(plan.facts(name).extent(last)), "x"))
    return false;
  plan.finish(name);
  return true;
}

}  // namespace

const Rule kGpuRows = {
    "rows",
    "A long reduction along a contiguous axis is a block's, its threads along the row; a stage "
    "that "
    "needs such results, and what it needs with it, runs in the same block.",
    apply,
};

}  // namespace hone::schedules
