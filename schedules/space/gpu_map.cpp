// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <climits>

#include "schedules/space/gpu.h"
#include "schedules/space/rows.h"
#include "schedules/space/rules.h"
#include "schedules/space/shape.h"
#include "schedules/steps/edit.h"

namespace hone::schedules {
namespace {

/// The variables of a stage, that of the contiguous axis last.
std::vector<std::string> outwards(const Plan& plan, const std::string& name) {
  std::vector<std::string> loops;
  const std::string last = contiguous_var(plan, name);
  for (const ir::IndexVar& v : plan.stage(name).vars) {
    if (v.name != last) loops.push_back(v.name);
  }
  if (!last.empty()) loops.push_back(last);
  return loops;
}

/// Binds blocks outside what is left: `blocks` outermost first. Ranges of the call beyond three
/// axes are walked by each thread, inside `threads`.
bool bind_grid(Plan& plan, const std::string& name, std::vector<std::string> blocks,
               const std::vector<std::string>& threads) {
  std::vector<std::string> walked;
  while (blocks.size() > 3) {
    walked.push_back(blocks.front());
    blocks.erase(blocks.begin());
  }
  std::string order = "reorder";
  blocks.insert(blocks.end(), threads.begin(), threads.end());
  for (const std::string& l : blocks) order += " " + name + "/" + l;
  for (const std::string& l : walked) order += " " + name + "/" + l;
  blocks.resize(blocks.size() - threads.size());
  return plan.add(order) && bind_blocks(plan, name, blocks);
}

/// All variables as one range, a thread each.
bool map_flat(Plan& plan, const std::string& name, std::string& at) {
  const std::vector<std::string> vars = outwards(plan, name);
  std::string order = "reorder";
  for (const std::string& l : vars) order += " " + name + "/" + l;
  if (vars.size() > 1 && !plan.add(order)) return false;
  std::vector<std::string> loops = fuse_loops(plan, name, vars);
  const std::string inner = loops.back();
  at = inner + ".t";
  if (!plan.add("split " + name + "/" + inner + " " +
                plan.knob(knob_name("threads", name), {64, 128, 256, 512}, kBlockThreads) + " -> " +
                inner + ".b " + at)) {
    return false;
  }
  loops.back() = inner + ".b";
  return bind_grid(plan, name, loops, {at}) && plan.add("bind " + name + "/" + at + " thread.x");
}

/// The contiguous axis along x, the one outside it along y: where flat ranges hide from the proofs
/// which elements are read.
bool map_tiles(Plan& plan, const std::string& name, std::string& at) {
  std::vector<std::string> vars = outwards(plan, name);
  std::vector<std::string> threads;
  int64_t left = kBlockThreads;
  std::string order = "reorder";
  for (const std::string& l : vars) order += " " + name + "/" + l;
  if (vars.size() > 1 && !plan.add(order)) return false;
  for (size_t axis = 0; axis < std::min<size_t>(2, vars.size()); ++axis) {
    std::string& var = vars[vars.size() - 1 - axis];
    const int64_t extent = plan.facts(name).extent(var);
    const std::string thread = var + ".t", block = var + ".b";
    const int64_t threads_here = std::clamp<int64_t>(extent, 1, left);
    if (!plan.add("split " + name + "/" + var + " " + std::to_string(threads_here) + " -> " +
                  block + " " + thread)) {
      return false;
    }
    var = block;
    threads.insert(threads.begin(), thread);
    left = std::max<int64_t>(1, left / threads_here);
  }
  at = threads.back();
  if (!bind_grid(plan, name, vars, threads)) return false;
  for (size_t i = 0; i < threads.size(); ++i) {
    const std::string axis(1, "xy"[threads.size() - 1 - i]);
    if (!plan.add("bind " + name + "/" + threads[i] + " thread." + axis)) return false;
  }
  return true;
}

/// Keeps what a thread reduces in its registers: the stage's own sum, and those of stages that it
/// reads point for point. How many of these could not be placed.
int keep_in_registers(Plan& plan, const std::string& name, const std::string& at,
                      const RowMembers& members) {
  const ir::Stage s = plan.stage(name);
  const std::string place = " at " + name + "/" + at;
  for (const ir::Loop& l : s.loops) {
    const bool several = l.mark == ir::Mark::kSerial && !is_reduction(s, l.name);
    if (several) return static_cast<int>(members.size());
  }
  if (s.reduce != ir::Reduce::kNone) {
    plan.add("stage " + s.output + place + " -> " + s.output + ".own in=registers");
  }
  int left = 0;
  const auto stages = plan.program().stages;  // consumers first
  for (size_t i = stages.size(); i-- > 0;) {
    const std::string member = stages[i].name;
    if (!members.contains(member)) continue;
    Plan::Mark before = plan.mark();
    if (plan.add("compute " + member + place + " in=registers") && lowers(plan)) {
      plan.finish(member);
    } else {
      plan.rewind(std::move(before));
      ++left;
    }
  }
  return left;
}

bool apply(Plan& plan, const std::string& name) {
  const ir::Stage s = plan.stage(name);
  if (!s.at.root() || s.vars.empty()) return false;
  std::vector<std::string> prefix;
  RowMembers members = row_members(plan, s, prefix);
  if (prefix.size() != s.vars.size() || s.reduce != ir::Reduce::kNone) members.clear();
  // The way that leaves the fewest stages to launches of their own; flat where that is no matter.
  int fewest = INT_MAX;
  bool (*best)(Plan&, const std::string&, std::string&) = nullptr;
  for (const auto way : {map_flat, map_tiles}) {
    std::string at;
    Plan::Mark before = plan.mark();
    if (way(plan, name, at) && lowers(plan)) {
      const int left = keep_in_registers(plan, name, at, members);
      if (left < fewest) best = way;
      fewest = std::min(left, fewest);
    }
    plan.rewind(std::move(before));
    if (fewest == 0) break;
  }
  std::string at;
  if (!best || !best(plan, name, at)) return false;
  keep_in_registers(plan, name, at, members);
  plan.finish(name);
  return true;
}

}  // namespace

const Rule kGpuMap = {
    "map",
    "A stage gives one result to each thread, neighbours along the contiguous axis; what it "
    "reduces, and what stages reduce that it reads point for point, stays in the thread's "
    "registers.",
    apply,
};

}  // namespace hone::schedules
