// SPDX-License-Identifier: Apache-2.0
#include "jit/ir/scan.h"

#include <algorithm>

#include "jit/ir/device_limits.h"
#include "jit/ir/recurrence.h"
#include "schedules/space/analysis/gpu.h"
#include "schedules/space/analysis/shape.h"
#include "schedules/space/rules/rule.h"

namespace hone::schedules {
namespace {

/// Elements of the shortest chains that are cut.
/// Chosen: blocks of 8 at least (not measured).
constexpr int64_t kFewestScanned = 64;
/// Chains that keep a large GPU busy by themselves.
/// Tuned on: no GPU; reckoned for an H100.
constexpr int64_t kBusyChains = 132 * 512;
/// Elements of a block that shared memory holds, at most: odd, so that threads that each follow one
/// read different banks. Threads that do.
/// Tuned on: no GPU; reckoned for an H100.
constexpr int64_t kMostShared = 33, kSharing = 64;
/// Elements of the shortest chains along memory that go through shared memory.
/// Chosen: a warp has blocks of 8 (not measured).
constexpr int64_t kFewestShared = 256;
/// Blocks that go on from one another in one thread, at most.
/// Tuned on: no GPU; reckoned from 59 ns a step that an H200 took.
constexpr int64_t kMostStates = 256;

/// The block of chains of `extent`: as many elements, about, as there are blocks, for both go on
/// one after the other. A divisor if one is near.
int64_t block_of(int64_t extent) {
  int64_t most = 2;
  while (most * most < extent) most *= 2;
  for (int64_t block = most; 2 * block > most; --block) {
    if (extent % block == 0) return block;
  }
  return most;
}

/// The elements that a stage combines one after the other, and the stage that does in blocks.
struct Chains {
  std::string stage, var, part;
  std::vector<std::string> others;  ///< variables at each of whose values there is a chain
  int64_t block = 0, threads = 0;
};

/// A thread to each block, neighbours in memory beside one another.
bool spread_blocks(Plan& plan, const Chains& c) {
  const Plan::Halves h = plan.split(c.stage, c.var, c.block);
  if (h.outer.empty()) return false;
  std::vector<std::string> loops = c.others;
  loops.push_back(h.outer);
  // Where the last block ends is plain to see of a loop that is no part of another.
  int64_t known = 0;
  const ir::Expr extent = plan.stage(c.stage).var(c.var)->hi;
  const bool even = ir::is_const(extent, &known) && known % c.block == 0;
  if (!spread_chains(plan, c.stage, std::move(loops), even ? "" : h.outer)) return false;
  const ir::Place thread{c.stage, plan.stage(c.stage).loops.end()[-2].name};
  return plan.add(step::compute({c.part}, {c.stage, h.inner}, ir::Space::kRegisters, thread));
}

/// What a block of threads brings to shared memory of a tensor whose rows lie along the chains.
bool share_rows(Plan& plan, const Chains& c, const std::string& tensor, const ir::Place& at) {
  const std::string copy = plan.fresh_stage(tensor + ".c");
  if (!plan.add(step::stage(tensor, at, copy, {ir::Space::kSharedMemory}))) return false;
  plan.finish(copy);
  const size_t last = plan.program().buffer(tensor)->shape.size() - 1;
  const Plan::Halves h = plan.split(copy, dim_name(last), c.threads);
  return !h.outer.empty() && plan.add(step::bind({copy, h.inner}, ir::Mark::kThreadX));
}

/// A thread to each block, in a tile of shared memory that holds their results.
bool compute_tile(Plan& plan, const Chains& c, const ir::Place& at) {
  const std::string tile = plan.fresh_stage(c.stage + ".t");
  const std::string output = plan.stage(c.stage).output;
  if (!plan.add(step::stage(output, at, tile, {ir::Space::kSharedMemory}))) return false;
  plan.finish(tile);
  const Plan::Halves h = plan.split(tile, c.var, c.block);
  if (h.outer.empty()) return false;
  const ir::Place thread{tile, h.outer}, along{tile, h.inner};
  return plan.add(step::bind(thread, ir::Mark::kThreadX)) &&
         plan.add(step::compute({c.part}, along, ir::Space::kRegisters, thread));
}

/// Blocks beside one another in memory, through shared memory: neighbouring threads read and write
/// neighbouring elements.
bool share_blocks(Plan& plan, const Chains& c) {
  const Plan::Halves h = plan.split(c.stage, c.var, c.block * c.threads);
  if (h.outer.empty()) return false;
  std::vector<std::string> loops = c.others;
  loops.insert(loops.end(), {h.outer, h.inner});
  if (!order_loops(plan, c.stage, loops, {})) return false;
  std::vector<std::string> blocks = fuse_loops(plan, c.stage, c.others);
  blocks.push_back(h.outer);
  const ir::Place at{c.stage, h.outer};
  if (!bind_blocks(plan, c.stage, blocks) || !compute_tile(plan, c, at)) return false;
  const Plan::Halves out = plan.split(c.stage, c.var, c.threads);
  if (out.outer.empty()) return false;
  if (!plan.add(step::bind({c.stage, out.inner}, ir::Mark::kThreadX))) return false;
  const StageFacts facts = plan.facts(c.part);
  for (const Access& a : facts.loads) {
    const bool temporary = plan.program().buffer(a.buffer)->role == ir::Role::kTemp;
    if (temporary || a.stride(c.part + ".t") != 1) continue;
    if (!share_rows(plan, c, a.buffer, at)) return false;
  }
  return true;
}

/// Chains that lie along memory, of a known length, in blocks of elements beside one another.
bool runs_along_memory(const Plan& plan, const ir::Stage& s, const std::string& var) {
  return plan.facts(s.name).store.stride(var) == 1 && !s.var(var)->backward &&
         ir::is_const(s.var(var)->hi);
}

bool scan_in_blocks(Plan& plan, const std::string& name, const std::string& var) {
  const ir::Stage s = plan.stage(name);
  const int64_t extent = plan.facts(name).extent(var);
  Chains c{name, var, plan.fresh_stage(name + ".s"), ir::independent_vars(s), block_of(extent)};
  const bool shared = runs_along_memory(plan, s, var) && extent >= kFewestShared;
  if (shared) {
    constexpr int64_t kWarp = ir::DeviceLimits::kWarp;
    c.block = std::min(kMostShared, (extent / kWarp) | 1);
    c.threads = c.block * kWarp >= extent ? kWarp : kSharing;
  }
  if (!plan.add(step::scan({name, var}, c.block, c.part))) return false;
  plan.finish(name);
  plan.finish(c.part);
  if (!(shared ? share_blocks(plan, c) : spread_blocks(plan, c)) || !lowers(plan)) return false;
  // The chain of blocks is one as well.
  const std::string state = c.part + ".state";
  const std::string along = ir::scanned_var(plan.stage(state));
  if (along.empty() || plan.facts(state).extent(along) <= kMostStates) return true;
  Plan::Mark before = plan.mark();
  if (!scan_in_blocks(plan, state, along)) plan.rewind(std::move(before));
  return true;
}

bool apply_gpu_scan(Plan& plan, const std::string& name) {
  const ir::Stage s = plan.stage(name);
  const std::string var = ir::scanned_var(s);
  if (var.empty()) return plan.declines("its elements do not each combine the one before");
  if (ir::scan_of(s.value, [&](const ir::Expr& e) { return e->name == s.output; })->factor) {
    return plan.declines("products of the factors of a block may leave the range of the type");
  }
  const StageFacts facts = plan.facts(name);
  int64_t count = 1;
  for (const std::string& v : ir::independent_vars(s)) {
    count = saturating_product(count, facts.extent(v));
  }
  if (facts.extent(var) < kFewestScanned) return plan.declines("its chains are short");
  if (count >= filling(plan, kBusyChains) && !runs_along_memory(plan, s, var)) {
    return plan.declines("its chains fill the GPU");
  }
  if (plan.decide("scan " + name + " in blocks", 2, 1) == 0) return false;
  return scan_in_blocks(plan, name, var);
}

}  // namespace

const Rule gpu::kScan = {
    "scan",
    "Long chains that combine each element with the one before, where they are few or lie along "
    "memory: blocks of them are added up, go on from one another, and then each goes on by itself, "
    "in a thread, which keeps the last element. Blocks beside one another in memory pass through "
    "shared memory.",
    apply_gpu_scan,
    /*forwards=*/false,
    /*ordered=*/true,
};

}  // namespace hone::schedules
