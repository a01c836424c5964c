// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <climits>

#include "schedules/space/gpu.h"
#include "schedules/space/gpu_reduce.h"
#include "schedules/space/rows.h"
#include "schedules/space/rules.h"
#include "schedules/space/shape.h"
#include "schedules/steps/edit.h"

namespace hone::schedules {
namespace {

/// Threads that fill a large GPU; with more results than that, a thread may have several.
constexpr int64_t kManyThreads = 64 << 10;

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

/// How the results of a stage are spread over threads.
struct Way {
  bool flat = false;  ///< all variables as one range; else the contiguous axis along x, the one
                      ///< outside it along y, which tells proofs which elements are read
  bool fused = true;  ///< of the axes outside these
  int64_t width = 1;  ///< results of a thread, neighbours
};

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

/// Puts the variables in order, the contiguous one innermost.
bool order_outwards(Plan& plan, const std::string& name, const std::vector<std::string>& vars) {
  std::string order = "reorder";
  for (const std::string& l : vars) order += " " + name + "/" + l;
  return vars.size() <= 1 || plan.add(order);
}

bool map_flat(Plan& plan, const std::string& name, const Way& way, std::string& at) {
  const std::vector<std::string> vars = outwards(plan, name);
  if (!order_outwards(plan, name, vars)) return false;
  std::vector<std::string> loops = fuse_loops(plan, name, vars);
  const std::string inner = cut_vectors(plan, name, loops.back(), way.width);
  at = inner + ".t";
  if (inner.empty() ||
      !plan.add("split " + name + "/" + inner + " " +
                plan.knob(knob_name("threads", name), {64, 128, 256, 512}, kBlockThreads) + " -> " +
                inner + ".b " + at)) {
    return false;
  }
  loops.back() = inner + ".b";
  return bind_grid(plan, name, loops, {at}) && plan.add("bind " + name + "/" + at + " thread.x");
}

bool map_tiles(Plan& plan, const std::string& name, const Way& way, std::string& at) {
  std::vector<std::string> vars = outwards(plan, name);
  std::vector<std::string> threads;
  int64_t left = kBlockThreads;
  if (!order_outwards(plan, name, vars)) return false;
  const size_t tiled = std::min<size_t>(2, vars.size());
  for (size_t axis = 0; axis < tiled; ++axis) {
    std::string& var = vars[vars.size() - 1 - axis];
    int64_t extent = plan.facts(name).extent(var);
    if (axis == 0) {
      var = cut_vectors(plan, name, var, way.width);
      extent /= way.width;
      if (var.empty()) return false;
    }
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
  if (way.fused) {
    const auto tiles = vars.end() - static_cast<long>(tiled);
    std::vector<std::string> outer = fuse_loops(plan, name, {vars.begin(), tiles});
    outer.insert(outer.end(), tiles, vars.end());
    vars = std::move(outer);
  }
  if (!bind_grid(plan, name, vars, threads)) return false;
  for (size_t i = 0; i < threads.size(); ++i) {
    const std::string axis(1, "xy"[threads.size() - 1 - i]);
    if (!plan.add("bind " + name + "/" + threads[i] + " thread." + axis)) return false;
  }
  return true;
}

bool map_results(Plan& plan, const std::string& name, const Way& way, std::string& at) {
  return way.flat ? map_flat(plan, name, way, at) : map_tiles(plan, name, way, at);
}

/// The sum of a stage in the registers of its thread; of several neighbours as a vector.
bool keep_own(Plan& plan, const std::string& name, const std::string& place, const Way& way) {
  const std::string own = plan.stage(name).output + ".own";
  const std::string last = outwards(plan, name).back();
  if (!plan.add("stage " + plan.stage(name).output + place + " -> " + own + " in=registers")) {
    return way.width == 1;
  }
  return way.width == 1 ||
         (move_innermost(plan, own, last) && plan.add("vectorize " + own + "/" + last));
}

/// Keeps what a thread reduces in its registers: the stage's own sum, and those of stages that it
/// reads point for point. How many of these could not be placed.
int keep_in_registers(Plan& plan, const std::string& name, const std::string& at, const Way& way,
                      const RowMembers& members) {
  const ir::Stage s = plan.stage(name);
  const std::string place = " at " + name + "/" + at;
  for (const ir::Loop& l : s.loops) {
    const bool several = l.mark == ir::Mark::kSerial && !is_reduction(s, l.name);
    if (several) return static_cast<int>(members.size());
  }
  int left = 0;
  if (s.reduce != ir::Reduce::kNone && !keep_own(plan, name, place, way)) ++left;
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

/// True where all tensors lie as the results do: neighbours stay neighbours in one flat range.
bool lies_flat(const Plan& plan, const std::string& name) {
  const StageFacts facts = plan.facts(name);
  return std::all_of(facts.loads.begin(), facts.loads.end(), [&](const Access& a) {
    return !a.gathers && a.strides == facts.store.strides;
  });
}

/// Ways to map a stage, the most wanted first.
std::vector<Way> ways_of(Plan& plan, const std::string& name, bool alone) {
  std::vector<Way> out;
  const std::string last = outwards(plan, name).back();
  const int64_t width = alone ? vector_width(plan, name, {last}) : 1;
  int64_t results = 1;
  for (const ir::IndexVar& v : plan.stage(name).vars) results *= plan.facts(name).extent(v.name);
  const bool many = results / std::max<int64_t>(1, width) >= kManyThreads;
  if (width > 1 && plan.decide("several results to a thread", 2, many ? 1 : 0) == 1) {
    if (lies_flat(plan, name)) out.push_back({true, true, width});
    out.push_back({false, true, width});
  }
  out.push_back({true, true, 1});
  out.push_back({false, true, 1});
  out.push_back({false, false, 1});
  return out;
}

bool apply(Plan& plan, const std::string& name) {
  const ir::Stage s = plan.stage(name);
  if (!s.at.root() || s.vars.empty()) return false;
  std::vector<std::string> prefix;
  RowMembers members = beside(plan, s, prefix);
  if (prefix.size() != s.vars.size() || s.reduce != ir::Reduce::kNone) members.clear();
  // The first way that leaves the fewest stages to launches of their own.
  int fewest = INT_MAX;
  Way best;
  for (const Way& way : ways_of(plan, name, members.empty() && !s.where)) {
    std::string at;
    Plan::Mark before = plan.mark();
    if (map_results(plan, name, way, at) && lowers(plan)) {
      const int left = keep_in_registers(plan, name, at, way, members);
      if (left < fewest && lowers(plan)) {
        best = way;
        fewest = left;
      }
    }
    plan.rewind(std::move(before));
    if (fewest == 0) break;
  }
  std::string at;
  if (fewest == INT_MAX || !map_results(plan, name, best, at)) return false;
  keep_in_registers(plan, name, at, best, members);
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
