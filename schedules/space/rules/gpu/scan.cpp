// SPDX-License-Identifier: Apache-2.0
#include "jit/ir/scan.h"

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

bool apply_gpu_scan(Plan& plan, const std::string& name) {
  const ir::Stage s = plan.stage(name);
  const std::string var = ir::scanned_var(s);
  if (var.empty()) return plan.declines("its elements do not each combine the one before");
  if (ir::scan_of(s.value, [&](const ir::Expr& e) { return e->name == s.output; })->factor) {
    return plan.declines("products of the factors of a block may leave the range of the type");
  }
  const StageFacts facts = plan.facts(name);
  const std::vector<std::string> chains = ir::independent_vars(s);
  int64_t count = 1;
  for (const std::string& v : chains) count = saturating_product(count, facts.extent(v));
  const int64_t extent = facts.extent(var);
  if (extent < kFewestScanned) return plan.declines("its chains are short");
  if (count >= filling(plan, kBusyChains)) return plan.declines("its chains fill the GPU");
  if (plan.decide("scan " + name + " in blocks", 2, 1) == 0) return false;
  const std::string part = plan.fresh_stage(name + ".s");
  const int64_t block = block_of(extent);
  if (!plan.add(step::scan({name, var}, block, part))) return false;
  const Plan::Halves h = plan.split(name, var, block);
  if (h.outer.empty()) return false;
  std::vector<std::string> loops = chains;
  loops.push_back(h.outer);
  // Where the last block ends is plain to see of a loop that is no part of another.
  int64_t known = 0;
  const bool even = ir::is_const(s.var(var)->hi, &known) && known % block == 0;
  if (!spread_chains(plan, name, std::move(loops), even ? "" : h.outer)) return false;
  const std::string thread = plan.stage(name).loops.end()[-2].name;
  plan.finish(name);
  plan.finish(part);
  return plan.add(step::compute({part}, {name, h.inner}, ir::Space::kRegisters, {name, thread})) &&
         lowers(plan);
}

}  // namespace

const Rule gpu::kScan = {
    "scan",
    "Long chains that combine each element with the one before, where they are few: blocks of them "
    "are added up, go on from one another, and then each goes on by itself, in a thread, which "
    "keeps the last element.",
    apply_gpu_scan,
    /*forwards=*/false,
    /*ordered=*/true,
};

}  // namespace hone::schedules
