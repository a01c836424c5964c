// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <climits>

#include "jit/ir/device_limits.h"
#include "schedules/space/analysis/gpu.h"
#include "schedules/space/analysis/gpu_reduce.h"
#include "schedules/space/analysis/row_members.h"
#include "schedules/space/analysis/shape.h"
#include "schedules/space/rules/rule.h"
#include "schedules/steps/edit.h"

namespace hone::schedules {
namespace {

/// Threads that fill a large GPU; with more results than that, a thread may have several.
/// Tuned on: no GPU; reckoned for an H100.
constexpr int64_t kManyThreads = 64 << 10;
/// From this many threads on, a thread may compute several parts of the results. Then come the
/// parts at most, and the bytes of loads under way that are enough. Tuned on: no GPU; reckoned for
/// an H100.
constexpr int64_t kFillingThreads = 256 << 10;
constexpr int64_t kMostParts = 4;
constexpr int64_t kBytesAhead = 32;

/// The variables of a stage, the one along the contiguous axis last.
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
  bool flat = false;   ///< all variables as one range; else the contiguous axis along x, the one
                       ///< outside it along y, which tells proofs which elements are read
  bool fused = true;   ///< of the axes outside these
  int64_t width = 1;   ///< results of a thread, neighbours
  int64_t each = 1;    ///< such neighbours of a thread, by other threads' apart
  bool joined = true;  ///< axes of a tile that run on in memory, as one
};

/// A loop, and about how long it is.
struct Range {
  std::string loop;
  int64_t extent = 1;
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
  std::vector<std::string> order = blocks;
  order.insert(order.end(), threads.begin(), threads.end());
  order.insert(order.end(), walked.begin(), walked.end());
  return plan.add(step::reorder(loops_of(name, order))) && bind_blocks(plan, name, blocks);
}

/// Puts the variables in order, the contiguous one innermost.
bool order_outwards(Plan& plan, const std::string& name, const std::vector<std::string>& vars) {
  return vars.size() <= 1 || plan.add(step::reorder(loops_of(name, vars)));
}

/// Splits a loop into blocks `.b`, threads `.t` and, if a thread has several elements, those `.e`.
/// A thread has `each` elements, as far apart as there are threads.
bool cut_threads(Plan& plan, const std::string& name, const std::string& loop,
                 const Number& threads, int64_t each) {
  const std::string block = loop + ".b", rest = loop + ".r", thread = loop + ".t";
  if (each == 1) return plan.add(step::split({name, loop}, threads, block, thread));
  return plan.add(step::split({name, loop}, threads * each, block, rest)) &&
         plan.add(step::split({name, rest}, threads.again(), loop + ".e", thread));
}

bool map_flat(Plan& plan, const std::string& name, const Way& way, std::string& at) {
  const std::vector<std::string> vars = outwards(plan, name);
  if (!order_outwards(plan, name, vars)) return false;
  std::vector<std::string> loops = fuse_loops(plan, name, vars);
  const std::string inner = cut_vectors(plan, name, loops.back(), way.width);
  const Number threads = plan.knob(knob_name("threads", name), {64, 128, 256, 512}, kBlockThreads);
  if (inner.empty() || !cut_threads(plan, name, inner, threads, way.each)) return false;
  at = inner + ".t";
  loops.back() = inner + ".b";
  std::vector<std::string> inside{at};
  if (way.each > 1) inside.push_back(inner + ".e");
  return bind_grid(plan, name, loops, inside) &&
         plan.add(step::bind({name, at}, ir::Mark::kThreadX)) &&
         (way.each == 1 || plan.add(step::unroll({name, inside.back()})));
}

/// Whether the loops over `outer` and `inner` run through all tensors as through one range.
bool one_range(const StageFacts& facts, const std::string& outer, const std::string& inner) {
  const auto runs_on = [&](const Access& a) {
    return !a.gathers && !a.guarded && a.stride(outer) == facts.extent(inner) * a.stride(inner);
  };
  return runs_on(facts.store) && std::all_of(facts.loads.begin(), facts.loads.end(), runs_on);
}

/// The variables of a stage in order as loops; if `joined`, the innermost that run on in memory as
/// one.
std::vector<Range> ranges_of(Plan& plan, const std::string& name, bool joined) {
  std::vector<Range> out;
  const StageFacts facts = plan.facts(name);
  const std::vector<std::string> vars = outwards(plan, name);
  for (const std::string& v : vars) out.push_back({v, facts.extent(v)});
  for (size_t i = vars.size(); joined && i-- > 1 && one_range(facts, vars[i - 1], vars[i]);) {
    const Range inner = out.back(), outer = out[out.size() - 2];
    const std::string both = outer.loop + "." + inner.loop;
    if (!plan.add(step::fuse({name, outer.loop}, {name, inner.loop}, both))) break;
    out.pop_back();
    out.back() = {both, outer.extent * inner.extent};
  }
  return out;
}

/// Threads of a block along a range, `most` at most: one for each element, or whole warps that
/// leave few idle at the range's end.
int64_t threads_along(int64_t extent, int64_t most) {
  constexpr int64_t kWarp = ir::DeviceLimits::kWarp;  // Fixed by: CUDA.
  if (extent <= most || most < 2 * kWarp) return std::clamp<int64_t>(extent, 1, most);
  int64_t best = most;
  const auto had = [&](int64_t threads) { return (extent + threads - 1) / threads * threads; };
  for (int64_t t = most; t >= most / 2; t -= kWarp) {
    if (had(t) < had(best)) best = t;
  }
  return best;
}

bool map_tiles(Plan& plan, const std::string& name, const Way& way, std::string& at) {
  if (!order_outwards(plan, name, outwards(plan, name))) return false;
  std::vector<Range> ranges = ranges_of(plan, name, way.joined);
  std::vector<std::string> threads, each;
  int64_t left = kBlockThreads;
  const size_t tiled = std::min<size_t>(2, ranges.size());
  for (size_t axis = 0; axis < tiled; ++axis) {
    Range& r = ranges[ranges.size() - 1 - axis];
    if (axis == 0) {
      r.loop = cut_vectors(plan, name, r.loop, way.width);
      r.extent = (r.extent + way.width - 1) / way.width;
      if (r.loop.empty()) return false;
    }
    const int64_t here = threads_along(r.extent, left);
    // A thread has the same part of several rows: what all rows share is read once.
    const int64_t some = axis + 1 == tiled && r.extent >= here * way.each ? way.each : 1;
    if (!cut_threads(plan, name, r.loop, here, some)) return false;
    threads.insert(threads.begin(), r.loop + ".t");
    if (some > 1) each.push_back(r.loop + ".e");
    r.loop += ".b";
    left = std::max<int64_t>(1, left / here);
  }
  at = threads.back();
  std::vector<std::string> outer;
  for (const Range& r : ranges) outer.push_back(r.loop);
  if (way.fused) {
    const auto tiles = outer.end() - static_cast<long>(tiled);
    std::vector<std::string> fused = fuse_loops(plan, name, {outer.begin(), tiles});
    fused.insert(fused.end(), tiles, outer.end());
    outer = std::move(fused);
  }
  std::vector<std::string> inside = threads;
  inside.insert(inside.end(), each.begin(), each.end());
  if (!bind_grid(plan, name, outer, inside)) return false;
  for (size_t i = 0; i < threads.size(); ++i) {
    const ir::Mark axis = i + 1 == threads.size() ? ir::Mark::kThreadX : ir::Mark::kThreadY;
    if (!plan.add(step::bind({name, threads[i]}, axis))) return false;
  }
  return each.empty() || plan.add(step::unroll({name, each[0]}));
}

bool map_results(Plan& plan, const std::string& name, const Way& way, std::string& at) {
  return way.flat ? map_flat(plan, name, way, at) : map_tiles(plan, name, way, at);
}

/// The sum of a stage in the registers of its thread; of several neighbours as a vector.
bool keep_own(Plan& plan, const std::string& name, const ir::Place& place, const Way& way) {
  const std::string own = plan.stage(name).output + ".own";
  const std::string last = outwards(plan, name).back();
  if (!plan.add(step::stage(plan.stage(name).output, place, own, {ir::Space::kRegisters}))) {
    return way.width == 1;
  }
  // Rows that data choose come from far: several at a time.
  const StageFacts facts = plan.facts(own);
  for (const ir::IndexVar& v : plan.stage(own).rvars) {
    const bool far = std::any_of(facts.loads.begin(), facts.loads.end(), [&](const Access& a) {
      return a.gathers && a.stride(v.name) != 0;
    });
    if (far && v.lo) plan.add(step::unroll({own, v.name}));
  }
  return way.width == 1 ||
         (move_innermost(plan, own, last) && plan.add(step::vectorize({own, last})));
}

/// Keeps what a thread reduces in its registers: the stage's own sum, and those of stages that it
/// reads point for point. How many of these could not be placed.
int keep_in_registers(Plan& plan, const std::string& name, const std::string& at, const Way& way,
                      const RowMembers& members) {
  const ir::Stage s = plan.stage(name);
  const ir::Place place{name, at};
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
    if (plan.add(step::compute({member}, place, ir::Space::kRegisters)) && lowers(plan)) {
      plan.finish(member);
    } else {
      plan.rewind(std::move(before));
      ++left;
    }
  }
  return left;
}

/// True where all tensors lie as the results do, without gaps: neighbours stay neighbours in one
/// flat range.
bool lies_flat(const Plan& plan, const std::string& name) {
  const StageFacts& facts = plan.facts(name);
  const std::vector<std::string> vars = outwards(plan, name);
  for (size_t i = 1; i < vars.size(); ++i) {
    if (!one_range(facts, vars[i - 1], vars[i])) return false;
  }
  return std::all_of(facts.loads.begin(), facts.loads.end(), [&](const Access& a) {
    return !a.gathers && !a.guarded && a.strides == facts.store.strides;
  });
}

/// Parts of a stage that each thread computes, so that enough loads are under way. 1 where there
/// are too few results for that.
int64_t parts_of_thread(const Plan& plan, const std::string& name, const std::string& last,
                        int64_t width, int64_t results) {
  const StageFacts& facts = plan.facts(name);
  int64_t bytes = 0;
  for (const Access& a : facts.loads) {
    // What many results share is in a near cache.
    int64_t points = 1;
    for (const ir::IndexVar& v : plan.stage(name).vars) {
      if (a.stride(v.name) != 0) points = saturating_product(points, facts.extent(v.name));
    }
    if (a.stride(last) == 0 || points < results) continue;
    bytes += width * size_of(plan.program().buffer(a.buffer)->type);
  }
  int64_t each = 1;
  while (each < kMostParts && each * bytes < kBytesAhead &&
         results / width / (2 * each) >= filling(plan, kFillingThreads)) {
    each *= 2;
  }
  return each;
}

/// Whether the axes of a tile have threads enough for a block: indices are then plain, where those
/// of a flat range are quotients.
bool fills_tile(const Plan& plan, const std::string& name, const std::vector<std::string>& vars) {
  if (vars.size() < 2) return false;
  const StageFacts& facts = plan.facts(name);
  const int64_t columns = facts.extent(vars.back()), rows = facts.extent(vars[vars.size() - 2]);
  return std::min(columns, kBlockThreads) * rows >= kBlockThreads / 2;
}

/// Ways to compute a stage elementwise, the most wanted first. `alone`: it needs no other stage
/// beside it.
std::vector<Way> ways_of(Plan& plan, const std::string& name, bool alone) {
  std::vector<Way> out;
  const std::vector<std::string> vars = outwards(plan, name);
  const int64_t results = plan.facts(name).points(vars);
  const bool moves = alone && plan.stage(name).reduce == ir::Reduce::kNone;
  const auto add = [&](bool flat, int64_t width) {
    const int64_t each = moves ? parts_of_thread(plan, name, vars.back(), width, results) : 1;
    if (each > 1) out.push_back({flat, true, width, each});
    out.push_back({flat, true, width});
  };
  const bool flat = alone && lies_flat(plan, name);
  // A reduction stores each result once and loads its terms often.
  std::set<std::string> seldom;
  if (plan.stage(name).reduce != ir::Reduce::kNone) seldom.insert(plan.stage(name).output);
  const int64_t width = !alone ? 1
                        : flat ? vector_width(plan, name, vars)
                               : vector_width(plan, name, {vars.back()}, seldom);
  const bool many = results / std::max<int64_t>(1, width) >= filling(plan, kManyThreads);
  if (width > 1 && plan.decide("several results to a thread", 2, many ? 1 : 0) == 1) {
    add(flat, width);
    if (flat) out.push_back({false, true, vector_width(plan, name, {vars.back()})});
  }
  if (!flat && fills_tile(plan, name, vars)) {
    if (alone) add(false, 1);
    if (!alone) out.push_back({false, true, 1, 1, false});
  }
  add(true, 1);
  for (const bool fused : {true, false}) out.push_back({false, fused, 1, 1, false});
  return out;
}

bool apply_gpu_elementwise(Plan& plan, const std::string& name) {
  const ir::Stage s = plan.stage(name);
  if (!s.at.root()) return plan.declines("the stage is computed inside another");
  if (s.vars.empty()) return plan.declines("the stage has one result");
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

const Rule gpu::kElementwise = {
    "elementwise",
    "A stage gives one result to each thread, neighbours along the contiguous axis; what it "
    "reduces, and what stages reduce that it reads point for point, stays in the thread's "
    "registers.",
    apply_gpu_elementwise,
};

}  // namespace hone::schedules
