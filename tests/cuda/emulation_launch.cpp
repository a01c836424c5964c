// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda/emulation_launch.h"

#include <algorithm>
#include <utility>

namespace emulation {
namespace {

void enter() {
  try {
    cluster->kernel(cluster->parameters);
    if (self().at_end) self().at_end();
  } catch (const Fault& f) {
    if (cluster->fault.empty()) cluster->fault = f.text;
  }
  self().wait = Wait::kDone;
  swapcontext(&self().context, &cluster->scheduler);
}

constexpr size_t kStack = 256 << 10;
using Stacks = std::vector<std::unique_ptr<char[]>>;

void start(Fiber& f, Stacks& stacks) {
  if (stacks.empty()) stacks.push_back(std::unique_ptr<char[]>(new char[kStack]));
  f.stack = std::move(stacks.back());
  stacks.pop_back();
  getcontext(&f.context);
  f.context.uc_stack.ss_sp = f.stack.get();
  f.context.uc_stack.ss_size = kStack;
  f.context.uc_link = nullptr;
  makecontext(&f.context, enter, 0);
}

/// Lets the warps go on whose threads all wait for a shuffle; true when there was one.
bool shuffle_warps(Block& b) {
  bool any = false;
  for (size_t first = 0; first < b.fibers.size(); first += 32) {
    const size_t end = std::min(first + 32, b.fibers.size());
    bool all = true;
    for (size_t t = first; t < end; ++t) all &= b.fibers[t].wait == Wait::kShuffle;
    if (!all) continue;
    any = true;
    for (size_t t = first; t < end; ++t) {
      const size_t from = first + static_cast<size_t>(b.fibers[t].lane);
      b.fibers[t].received = b.fibers[from < end ? from : t].posted;
    }
    for (size_t t = first; t < end; ++t) b.fibers[t].wait = Wait::kNothing;
  }
  return any;
}

/// Does what the lanes of a warp all wait to do together; true when there was such a warp.
bool together_warps(Block& b) {
  bool any = false;
  block = &b;
  for (size_t first = 0; first + 32 <= b.fibers.size() && cluster->fault.empty(); first += 32) {
    void* parts[32];
    bool all = true, same = true;
    for (size_t t = 0; t < 32; ++t) {
      const Fiber& f = b.fibers[first + t];
      all &= f.wait == Wait::kTogether;
      same &= f.together == b.fibers[first].together;
      parts[t] = f.part;
    }
    if (!all) continue;
    b.current = first;
    try {
      if (!same) fail("lanes of a warp meet at different instructions");
      b.fibers[first].together(parts);
    } catch (const Fault& f) {
      cluster->fault = f.text;
    }
    for (size_t t = first; t < first + 32; ++t) b.fibers[t].wait = Wait::kNothing;
    any = true;
  }
  return any;
}

/// Runs every thread of a block that can; whether there was one.
bool run_threads(Block& b, Stacks& stacks) {
  bool any = false;
  block = &b;
  for (b.current = 0; b.current < b.fibers.size() && cluster->fault.empty(); ++b.current) {
    Fiber& f = b.fibers[b.current];
    if (f.wait == Wait::kCondition && f.ready()) f.wait = Wait::kNothing;
    if (f.wait != Wait::kNothing) continue;
    any = true;
    fence_round = f.product_fences + 1;
    if (!f.stack) start(f, stacks);
    swapcontext(&cluster->scheduler, &f.context);
    if (f.wait == Wait::kDone) stacks.push_back(std::move(f.stack));
  }
  return any;
}

/// What works beside the threads does what it has to; whether there was anything.
bool land() {
  std::deque<std::function<void()>> now;
  std::swap(now, cluster->landings);
  try {
    for (const auto& landing : now) landing();
  } catch (const Fault& f) {
    if (cluster->fault.empty()) cluster->fault = f.text;
  }
  return !now.empty();
}

/// Why nothing goes on; "" where all threads are done.
std::string stuck() {
  size_t done = 0, all = 0;
  std::map<std::string, size_t> reasons;
  for (const Block& b : cluster->blocks) {
    all += b.fibers.size();
    for (const Fiber& f : b.fibers) {
      done += f.wait == Wait::kDone;
      if (f.wait == Wait::kCondition && f.waits_for) ++reasons[f.waits_for()];
    }
  }
  if (done == all) return "";
  std::string text;
  for (const auto& [reason, threads] : reasons) {
    text += (text.empty() ? "nothing goes on: " : "; ") + std::to_string(threads) +
            " threads wait for " + reason;
  }
  if (!text.empty()) return text;
  return "a barrier or shuffle is reached by " + std::to_string(all - done) + " of " +
         std::to_string(all) + " threads";
}

void run_cluster(Cluster& c, Stacks& stacks) {
  cluster = &c;
  while (c.fault.empty()) {
    bool any = false;
    for (Block& b : c.blocks) any |= run_threads(b, stacks);
    if (!c.fault.empty()) break;
    for (Block& b : c.blocks) any |= shuffle_warps(b) || together_warps(b);
    if (!c.fault.empty()) break;
    if (any || land()) continue;
    c.fault = stuck();
    break;
  }
  cluster = nullptr;
  block = nullptr;
}

/// The blocks of a cluster, from the one at `first` of the grid.
void add_blocks(Cluster& c, Dim3 first, Dim3 extent, uint32_t dynamic) {
  c.order.threads = size_t{c.shape.count()} * extent.count();
  for (unsigned r = 0; r < c.shape.count(); ++r) {
    Block& b = c.blocks.emplace_back();
    b.extent = extent;
    b.rank = r;
    b.index = {first.x + r % c.shape.x, first.y + r / c.shape.x % c.shape.y,
               first.z + r / c.shape.x / c.shape.y};
    b.arena.dynamic = dynamic;
    b.arena.bytes.resize(Arena::kBegin + dynamic, 0xff);
    b.arena.marks.resize(b.arena.bytes.size());
    b.fibers.resize(extent.count());
    for (unsigned t = 0; t < extent.count(); ++t) {
      b.fibers[t].index = {t % extent.x, t / extent.x % extent.y, t / extent.x / extent.y};
      b.fibers[t].knows.agent = static_cast<Agent>(r * extent.count() + t);
    }
  }
}

}  // namespace

std::string launch(Dim3 grid, Dim3 extent, int64_t dynamic_bytes, Kernel kernel,
                   const void* parameters, Dim3 shape) {
  if (grid.x % shape.x || grid.y % shape.y || grid.z % shape.z) {
    return "the grid is no multiple of the cluster's shape";
  }
  std::unordered_map<const void*, uint64_t> writers;
  Stacks stacks;
  for (unsigned z = 0; z < grid.z; z += shape.z) {
    for (unsigned y = 0; y < grid.y; y += shape.y) {
      for (unsigned x = 0; x < grid.x; x += shape.x) {
        Cluster c;
        c.shape = shape;
        c.grid = grid;
        c.kernel = kernel;
        c.parameters = parameters;
        c.writers = &writers;
        add_blocks(c, {x, y, z}, extent, static_cast<uint32_t>(dynamic_bytes));
        run_cluster(c, stacks);
        if (blocks_ran) blocks_ran();
        if (!c.fault.empty()) return c.fault;
      }
    }
  }
  return "";
}

}  // namespace emulation
