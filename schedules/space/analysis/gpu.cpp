// SPDX-License-Identifier: Apache-2.0
#include "schedules/space/analysis/gpu.h"

#include <algorithm>
#include <cstdlib>

#include "jit/ir/device_limits.h"
#include "jit/passes/lower.h"
#include "schedules/space/analysis/shape.h"
#include "schedules/steps/edit.h"

namespace hone::schedules {
namespace {

/// Elements from a tensor's start at which an access is where all variables are 0.
int64_t begin_of(const Plan& plan, const Access& a) {
  const std::vector<int64_t> strides =
      dim_strides(plan.program(), *plan.program().buffer(a.buffer));
  int64_t begin = 0;
  for (size_t d = 0; d < a.indices.size() && d < strides.size(); ++d) {
    const auto affine = affine_of(a.indices[d]);
    if (affine) begin += affine->constant * strides[d];
  }
  return begin;
}

}  // namespace

int64_t multiprocessors(const Plan& plan) { return plan.machine().multiprocessors; }

int64_t filling(const Plan& plan, int64_t of_large) {
  constexpr int64_t kLarge = 132;  // Fixed by: an H100, for which `of_large` is given.
  return std::max<int64_t>(1, of_large * multiprocessors(plan) / kLarge);
}

int64_t operand_bytes(const Plan& plan) {
  // The rest is for what else a block has there: mbarriers, parts of reductions, edges of tiles.
  // Tuned on: no GPU; reckoned for an H100.
  constexpr int64_t kRest = 27 << 10;
  return plan.machine().block_shared_bytes - kRest;
}

std::vector<std::string> fuse_loops(Plan& plan, const std::string& stage,
                                    std::vector<std::string> loops) {
  // From the inside, so that a range known only at the call stays outermost.
  while (loops.size() > 1) {
    const std::string inner = loops.back(), outer = loops[loops.size() - 2];
    const std::string fused = outer + "." + inner;
    if (!plan.add(step::fuse({stage, outer}, {stage, inner}, fused))) break;
    loops.pop_back();
    loops.back() = fused;
  }
  return loops;
}

bool order_loops(Plan& plan, const std::string& stage, const std::vector<std::string>& outer,
                 const std::vector<std::string>& inner, const std::string& k) {
  std::vector<std::string> order = outer;
  for (const ir::IndexVar& v : plan.stage(stage).rvars) {
    if (v.name != k) order.push_back(v.name);
  }
  order.insert(order.end(), inner.begin(), inner.end());
  return plan.add(step::reorder(loops_of(stage, order)));
}

bool bind_blocks(Plan& plan, const std::string& stage, const std::vector<std::string>& loops) {
  if (loops.empty()) return plan.declines("no loop is left for the blocks of the grid");
  if (loops.size() > 3) return plan.declines("a grid has three axes, for more loops than that");
  const auto extent = [&](const std::string& loop) {
    return at_most(plan.program(), extent_of(plan.stage(stage), loop));
  };
  size_t x = loops.size() - 1;
  for (size_t i = 0; i + 1 < loops.size(); ++i) {
    if (extent(loops[i]) > kMostGridBlocks && extent(loops[i]) > extent(loops[x])) x = i;
  }
  for (size_t i = 0; i < loops.size(); ++i) {
    if (i != x && extent(loops[i]) > kMostGridBlocks) {
      return plan.declines("loop " + loops[i] + " has more iterations than its grid axis blocks");
    }
  }
  std::vector<ir::Mark> left = {ir::Mark::kBlockY};  // the outer of two others takes z
  if (loops.size() == 3) left.push_back(ir::Mark::kBlockZ);
  for (size_t i = 0; i < loops.size(); ++i) {
    ir::Mark axis = ir::Mark::kBlockX;
    if (i != x) {
      axis = left.back();
      left.pop_back();
    }
    if (!plan.add(step::bind({stage, loops[i]}, axis))) return false;
  }
  return true;
}

int64_t vector_width(const Plan& plan, const StageFacts& facts, const Access& a,
                     const std::vector<std::string>& range) {
  const std::string& var = range.back();
  const ir::Buffer& buffer = *plan.program().buffer(a.buffer);
  if (a.stride(var) != 1) return 1;
  int64_t width = kLongestAccess / size_of(buffer.type);
  const auto suits = [&](int64_t elements) {
    while (width > 1 && elements % width != 0) width /= 2;
  };
  suits(begin_of(plan, a));
  for (const auto& [other, stride] : a.strides) {
    if (std::find(range.begin(), range.end(), other) == range.end()) suits(stride);
  }
  // What is inside a tensor and what is not differs by whole vectors.
  for (size_t d = 0; a.guarded && d < a.indices.size(); ++d) {
    const auto affine = affine_of(a.indices[d]);
    if (affine && affine->terms.contains(var)) suits(typical(plan.program(), buffer.shape[d]));
  }
  if (facts.extents.size() != range.size()) suits(facts.points(range));
  return width;
}

int64_t vector_width(const Plan& plan, const std::string& stage,
                     const std::vector<std::string>& range, const std::set<std::string>& inside) {
  const StageFacts& facts = plan.facts(stage);
  std::vector<Access> all = facts.loads;
  all.push_back(facts.store);
  int64_t width = kLongestAccess;
  for (const Access& a : all) {
    if (a.stride(range.back()) == 0 || inside.contains(a.buffer)) continue;
    width = std::min(width, vector_width(plan, facts, a, range));
  }
  return width;
}

std::string cut_vectors(Plan& plan, const std::string& stage, const std::string& loop,
                        int64_t width) {
  if (width <= 1) return loop;
  const std::string outer = loop + ".q", inner = loop + ".v";
  const bool cut = plan.add(step::split({stage, loop}, width, outer, inner)) &&
                   plan.add(step::vectorize({stage, inner}));
  return cut ? outer : "";
}

bool spread_chains(Plan& plan, const std::string& stage, std::vector<std::string> chains,
                   const std::string& apart) {
  // Threads of a block: few, so that chains reach more multiprocessors.
  // Tuned on: no GPU; reckoned for an H100.
  constexpr int64_t kChainThreads = 64;
  const ir::Stage s = plan.stage(stage);
  const Access store = plan.facts(stage).store;
  const auto step_of = [&](const std::string& loop) {
    return std::abs(store.stride(roots_of(s, loop)[0]));
  };
  std::stable_sort(chains.begin(), chains.end(), [&](const std::string& a, const std::string& b) {
    return step_of(a) > step_of(b);
  });
  std::vector<std::string> ordered;
  for (const ir::Loop& l : s.loops) {
    if (std::find(chains.begin(), chains.end(), l.name) == chains.end()) ordered.push_back(l.name);
  }
  if (!order_loops(plan, stage, chains, ordered)) return false;
  const auto middle = std::find(chains.begin(), chains.end(), apart);
  std::vector<std::string> blocks = fuse_loops(plan, stage, {chains.begin(), middle});
  if (middle != chains.end()) {
    const std::vector<std::string> after = fuse_loops(plan, stage, {middle + 1, chains.end()});
    blocks.push_back(apart);
    blocks.insert(blocks.end(), after.begin(), after.end());
  }
  const std::string last = blocks.back();
  const Number threads = plan.knob(knob_name("threads", stage), {32, 64, 128, 256}, kChainThreads);
  if (!plan.add(step::split({stage, last}, threads, last + ".b", last + ".t"))) return false;
  blocks.back() = last + ".b";
  return bind_blocks(plan, stage, blocks) &&
         plan.add(step::bind({stage, last + ".t"}, ir::Mark::kThreadX));
}

bool bind_threads(Plan& plan, const std::string& stage, const std::string& var, int64_t threads,
                  ir::Mark axis) {
  const int64_t extent = plan.facts(stage).extent(var);
  if (extent <= threads) {
    return plan.add(step::bind({stage, plan.loop_of(stage, var)}, axis));
  }
  const Plan::Halves h = plan.split(stage, var, threads);
  return !h.outer.empty() && plan.add(step::bind({stage, h.inner}, axis));
}

void unroll_share(Plan& plan, const std::string& stage, const std::string& loop, int64_t extent,
                  int64_t threads, int64_t width) {
  const int64_t share = (extent + threads * width - 1) / (threads * width);
  if (share * width <= kMostHeld) {
    plan.add(step::unroll({stage, loop}));
    return;
  }
  // As many as divide the share, so that nothing is asked between them.
  const int64_t most = std::max<int64_t>(2, kMostHeld / 2 / width);
  int64_t some = most;
  while (some > 2 && share % some != 0) --some;
  if (share % some != 0) some = most / 2;
  if (some > 1 && plan.add(step::split({stage, loop}, some, loop + ".o", loop + ".u"))) {
    plan.add(step::unroll({stage, loop + ".u"}));
  }
}

bool copy_words(Plan& plan, const std::string& copy, const std::vector<std::string>& dims,
                const Number& y, int64_t x) {
  if (dims.size() < 2) return plan.declines("the copy " + copy + " has fewer than two loops");
  const auto at = [&](const std::string& loop) { return ir::Place{copy, loop}; };
  const DType type = plan.program().buffer(plan.stage(copy).output)->type;
  const std::string before = dims[dims.size() - 2];
  std::vector<std::string> order(dims.begin(), dims.end() - 1);
  order.insert(order.end(), {"c", "v"});
  return plan.add(step::split(at(dims.back()), kLongestAccess / size_of(type), "c", "v")) &&
         plan.add(step::reorder(loops_of(copy, order))) &&
         plan.add(step::fuse(at(before), at("c"), "t")) &&
         plan.add(step::split(at("t"), Number(x) * y, "t.o", "t.i")) &&
         plan.add(step::split(at("t.i"), x, "y", "x")) &&
         plan.add(step::bind(at("y"), ir::Mark::kThreadY)) &&
         plan.add(step::bind(at("x"), ir::Mark::kThreadX)) && plan.add(step::vectorize(at("v")));
}

bool lowers(Plan& plan) {
  const auto nest = jit::lower(plan.program(), plan.target());
  return nest || plan.declines("what comes of it does not lower: " + nest.failure().reason);
}

int64_t power_of_two(int64_t n) {
  int64_t out = 1;
  while (out < n) out *= 2;
  return out;
}

}  // namespace hone::schedules
