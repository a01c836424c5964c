// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "schedules/space/analysis/align.h"
#include "schedules/space/analysis/gpu.h"
#include "schedules/space/analysis/gpu_product.h"
#include "schedules/space/analysis/shape.h"
#include "schedules/space/rules/rule.h"

namespace hone::schedules {
namespace {

/// Threads of a block along each axis of its tile.
/// Tuned on: no GPU; reckoned for an H100.
constexpr int64_t kTileSide = 16;
/// Iterations of the reduction that a block holds at a time.
/// Tuned on: no GPU; reckoned for an H100.
constexpr int64_t kTileDepth = 16;

/// Copies an operand's part of the tile into shared memory, neighbours by neighbouring threads.
bool share_tile(Plan& plan, const std::string& operand, const ir::Place& at) {
  const std::string copy = operand + ".shared";
  const ir::Buffer& b = *plan.program().buffer(operand);
  const std::vector<int64_t> strides = dim_strides(plan.program(), b);
  const size_t dims = b.shape.size();
  if (!plan.add(step::stage(operand, at, copy, {ir::Space::kSharedMemory}))) return false;
  const size_t x =
      static_cast<size_t>(std::min_element(strides.begin(), strides.end()) - strides.begin());
  for (size_t d = 0; d < dims; ++d) plan.set_window(copy, dim_name(d), 2 * kTileSide);
  if (!bind_threads(plan, copy, dim_name(x), kTileSide, ir::Mark::kThreadX)) return false;
  if (dims == 1) return true;
  const size_t y = x == dims - 1 ? dims - 2 : dims - 1;
  return bind_threads(plan, copy, dim_name(y), kTileSide, ir::Mark::kThreadY);
}

/// Cuts the owner's loops over `m` and `n` into blocks, threads and what a thread computes.
bool cut_tile(Plan& plan, const std::string& name, const std::string& m, const std::string& n,
              std::vector<std::string> others) {
  const auto cut = [&](const std::string& var, const std::string& knob) {
    const Number each = plan.knob(knob_name(knob, name), {2, 4, 8}, 4);
    const std::string block = var + ".b", inside = var + ".i";
    return plan.add(step::split({name, var}, Number(kTileSide) * each, block, inside,
                                ir::Tail::kPeel)) &&
           plan.add(step::split({name, inside}, each.again(), var + ".t", var + ".r"));
  };
  if (!cut(m, "rows") || !cut(n, "columns")) return false;
  std::vector<std::string> outer = others;
  outer.insert(outer.end(), {m + ".b", n + ".b", m + ".t", n + ".t"});
  if (!order_loops(plan, name, outer, {m + ".r", n + ".r"})) return false;
  others = fuse_loops(plan, name, others);
  others.push_back(m + ".b");
  others.push_back(n + ".b");
  return bind_blocks(plan, name, others) &&
         plan.add(step::bind({name, m + ".t"}, ir::Mark::kThreadY)) &&
         plan.add(step::bind({name, n + ".t"}, ir::Mark::kThreadX));
}

/// Reduces the tile in registers, the operands in shared memory a few iterations at a time.
bool fill_tile(Plan& plan, const std::string& tile, const Product& p) {
  const Plan::Halves k = plan.split(tile, p.k, kTileDepth, ir::Tail::kPeel);
  if (k.outer.empty()) return false;
  std::vector<std::string> inner = {k.outer, k.inner};
  for (const ir::IndexVar& v : plan.stage(tile).vars) inner.push_back(v.name);
  if (!order_loops(plan, tile, {}, inner, p.k)) return false;
  for (const std::string& operand : p.operands) {
    if (!share_tile(plan, operand, {tile, k.outer})) return false;
  }
  plan.add(step::unroll({{tile, p.m}, {tile, p.n}}));
  return true;
}

bool apply_tiled_reduction(Plan& plan, const std::string& name) {
  std::string product;
  const Product p = own_product(plan, name, product);
  if (p.m.empty()) return plan.declines(p.missing);
  std::map<std::string, std::string> follow;
  if (product != name) follow = alignment(plan.stage(product), plan.stage(name));
  const auto own = [&](const std::string& var) {
    const auto found = follow.find(var);
    return found == follow.end() ? var : found->second;
  };
  const std::string m = own(p.m), n = own(p.n);
  std::vector<std::string> others;
  for (const std::string& v : p.others) others.push_back(own(v));
  if (!cut_tile(plan, name, m, n, others)) return false;
  const ir::Place at{name, n + ".t"};
  const std::string output = plan.stage(name).output;
  const std::string tile = product == name ? output + ".own" : product;
  const bool placed =
      plan.add(product == name ? step::stage(output, at, tile, {ir::Space::kRegisters})
                               : step::compute({product}, at, ir::Space::kRegisters));
  if (!placed || !fill_tile(plan, tile, p)) return false;
  plan.add(step::unroll({{name, m + ".r"}, {name, n + ".r"}}));
  plan.finish(name);
  plan.finish(product);
  return lowers(plan);
}

}  // namespace

const Rule gpu::kTiledReduction = {
    "tiled_reduction",
    "A reduction whose operands are used again along two axes is cut into tiles, a block each: "
    "operands pass through shared memory, each thread keeps a part of the tile in registers, and a "
    "consumer point for point takes it from there.",
    apply_tiled_reduction,
};

}  // namespace hone::schedules
