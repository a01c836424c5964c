// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "schedules/space/gpu.h"
#include "schedules/space/rules.h"
#include "schedules/space/shape.h"
#include "schedules/steps/edit.h"

namespace hone::schedules {
namespace {

bool apply(Plan& plan, const std::string& name) {
  const ir::Stage s = plan.stage(name);
  if (!s.at.root() || s.vars.empty()) return false;
  std::vector<std::string> loops;
  const std::string last = contiguous_var(plan, name);
  for (const ir::IndexVar& v : s.vars) {
    if (v.name != last) loops.push_back(v.name);
  }
  if (!last.empty()) loops.push_back(last);
  const bool reduces = s.reduce != ir::Reduce::kNone;
  std::string order = "reorder";
  for (const std::string& l : loops) order += " " + name + "/" + l;
  if (loops.size() > 1 && !plan.add(order)) return false;
  loops = fuse_loops(plan, name, loops);
  const std::string inner = loops.back();
  const std::string block = inner + ".b", thread = inner + ".t";
  if (!plan.add("split " + name + "/" + inner + " " +
                plan.knob(knob_name("threads", name), {64, 128, 256, 512}, kBlockThreads) + " -> " +
                block + " " + thread)) {
    return false;
  }
  loops.back() = block;
  // Ranges of the call beyond three axes are walked by each thread.
  std::vector<std::string> blocks(
      loops.end() - static_cast<long>(std::min<size_t>(3, loops.size())), loops.end());
  if (blocks.size() < loops.size()) {
    std::string outward = "reorder";
    for (const std::string& l : blocks) outward += " " + name + "/" + l;
    outward += " " + name + "/" + thread;
    for (size_t i = 0; i + blocks.size() < loops.size(); ++i)
      outward += " " + name + "/" + loops[i];
    if (!plan.add(outward)) return false;
  }
  if (!bind_blocks(plan, name, blocks)) return false;
  if (!plan.add("bind " + name + "/" + thread + " thread.x")) return false;
  if (reduces && blocks.size() == loops.size()) {
    plan.add("stage " + s.output + " at " + name + "/" + thread + " -> " + s.output +
             ".own in=registers");
  }
  plan.finish(name);
  return true;
}

}  // namespace

const Rule kGpuMap = {
    "map",
    "A stage gives one result to each thread, neighbours along the contiguous axis; what it "
    "reduces "
    "stays in the thread's registers.",
    apply,
};

}  // namespace hone::schedules
