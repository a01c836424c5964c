// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "jit/ir/device_limits.h"
#include "jit/ir/poly.h"
#include "jit/ir/sort.h"
#include "schedules/space/analysis/align.h"
#include "schedules/space/analysis/gpu.h"
#include "schedules/space/analysis/gpu_gemm.h"
#include "schedules/space/analysis/shape.h"
#include "schedules/space/rules/rule.h"

namespace hone::schedules {
namespace {

/// Bytes of an operand's row that a block holds at a time.
/// Tuned on: no GPU; reckoned for an H100.
constexpr int64_t kMmaDepthBytes = 64;
/// Results along an axis that are worth a warp, and those that it has at most.
/// Tuned on: no GPU; reckoned for an H100.
constexpr int64_t kWarpSide = 32, kMostWarpSide = 64;
/// Threads of a warp.
/// Fixed by: CUDA.
constexpr int64_t kWarpThreads = ir::DeviceLimits::kWarp;

/// A product, and how it is cut.
struct MmaTile : Gemm {
  Number warp_m, warp_n;    ///< results of a warp along each
  Number warps_m, warps_n;  ///< warps of a block along each
};

/// The product that `name` stores, without an instruction.
Gemm unassigned(const Plan& plan, const std::string& name, int64_t least) {
  Gemm t;
  t.name = name;
  t.of = own_product(plan, name, t.product, least);
  if (t.of.m.empty()) return t;
  std::map<std::string, std::string> follow;
  if (t.product != name) follow = alignment(plan.stage(t.product), plan.stage(name));
  const auto own = [&](const std::string& var) {
    const auto found = follow.find(var);
    return found == follow.end() ? var : found->second;
  };
  t.m = own(t.of.m);
  t.n = own(t.of.n);
  const StageFacts& facts = plan.facts(name);
  for (const std::string& v : t.of.others) t.others.push_back(own(v));
  t.count = facts.points(t.others);
  return t;
}

/// Why no instruction of a kind takes what the product sums.
std::string no_row(const Plan& plan, const Gemm& t, const char* kind) {
  const ir::Stage& s = plan.stage(t.product);
  const Factors f = factors_of(s);
  if (!f) return "what it reduces is no sum of products of two loads";
  const auto type = [](DType t) { return std::string(name_of(t)); };
  return std::string("the target has no ") + kind + " for " + type(f.a->type) + " by " +
         type(f.b->type) + ", summed as " + type(s.accumulate);
}

/// Results of a warp, and warps of a block, along an axis: as few as cover a short one.
struct Side {
  int64_t warp, warps;
};
Side side_of(int64_t extent, int64_t most, int64_t least) {
  Side s{most, 2};
  const auto twice = [&] { return s.warp * s.warps >= 2 * extent; };
  if (twice() && s.warp > kWarpSide) s.warp = kWarpSide;
  if (twice()) s.warps = 1;
  while (twice() && s.warp > least) s.warp /= 2;
  return s;
}

/// Sizes that keep the whole GPU busy, as knobs.
void choose_sizes(Plan& plan, MmaTile& t, int64_t m, int64_t n, int64_t others) {
  const ir::Instruction& row = *t.row;
  const int64_t most = size_of(row.accumulate) > 4 ? kWarpSide : kMostWarpSide;
  Side rows = side_of(m, most, row.rows), columns = side_of(n, most, 2 * row.columns);
  const auto blocks = [&] {
    const int64_t bm = rows.warp * rows.warps, bn = columns.warp * columns.warps;
    return others * ((m + bm - 1) / bm) * ((n + bn - 1) / bn);
  };
  for (Side* side : {&columns, &rows}) {
    if (blocks() >= multiprocessors(plan)) break;
    if (side->warp > kWarpSide) {
      side->warp = kWarpSide;
    } else {
      side->warps = 1;
    }
  }
  const auto knob = [&](const char* name, std::vector<int64_t> domain, int64_t value) {
    return plan.knob(knob_name(name, t.name), std::move(domain), value);
  };
  t.warp_m = knob("rows", {kWarpSide, kMostWarpSide}, rows.warp);
  t.warps_m = knob("row_warps", {1, 2, 4}, rows.warps);
  t.warp_n = knob("columns", {kWarpSide, kMostWarpSide}, columns.warp);
  t.warps_n = knob("column_warps", {1, 2, 4}, columns.warps);
}

/// Cuts the owner's loops into blocks, warps and what a warp computes.
bool cut_mma(Plan& plan, const MmaTile& t) {
  const auto axis = [&](const std::string& v, const Number& warp, const Number& warps) {
    const std::string block = v + ".b", inside = v + ".i";
    return plan.add(step::split({t.name, v}, warp * warps, block, inside, ir::Tail::kPad)) &&
           plan.add(step::split({t.name, inside}, warp.again(), v + ".w", v + ".r"));
  };
  if (!axis(t.m, t.warp_m, t.warps_m) || !axis(t.n, t.warp_n, t.warps_n)) return false;
  std::vector<std::string> outer = t.others;
  outer.insert(outer.end(), {t.m + ".b", t.n + ".b", t.m + ".w", t.n + ".w"});
  if (!order_loops(plan, t.name, outer, {t.m + ".r", t.n + ".r"})) return false;
  std::vector<std::string> others = fuse_loops(plan, t.name, t.others);
  others.push_back(t.m + ".b");
  others.push_back(t.n + ".b");
  return bind_blocks(plan, t.name, others) &&
         plan.add(step::bind({t.name, t.m + ".w"}, ir::Mark::kThreadZ)) &&
         plan.add(step::bind({t.name, t.n + ".w"}, ir::Mark::kThreadY));
}

/// Copies an operand's part of a block's tile into shared memory, in the order of memory. All
/// threads of the block copy words of 16 bytes. Rows are swizzled, so that no two rows of a matrix
/// that is read lie in one bank.
bool share_mma(Plan& plan, const MmaTile& t, const std::string& operand, const std::string& copy) {
  const ir::Buffer b = *plan.program().buffer(operand);
  const std::vector<size_t> dims = by_stride(plan, b);
  CopyOptions options{ir::Space::kSharedMemory, 0, true, {}};
  for (size_t d : dims) options.layout.push_back({dim_name(d)});
  if (!plan.add(step::stage(operand, {t.tile, "k.o"}, copy, std::move(options)))) return false;
  if (dims.size() < 2) return plan.declines("the factor " + operand + " has one dim");
  const auto at = [&](const std::string& loop) { return ir::Place{copy, loop}; };
  const std::string last = dim_name(dims.back()), before = dim_name(dims[dims.size() - 2]);
  std::vector<std::string> order;
  for (size_t i = 0; i + 1 < dims.size(); ++i) order.push_back(dim_name(dims[i]));
  order.insert(order.end(), {"c", "v"});
  const Number across = Number(kWarpThreads) * t.warps_n.again();
  return plan.add(step::split(at(last), kLongestAccess / size_of(b.type), "c", "v")) &&
         plan.add(step::reorder(loops_of(copy, order))) &&
         plan.add(step::fuse(at(before), at("c"), "t")) &&
         plan.add(step::split(at("t"), across * t.warps_m.again(), "t.o", "t.i")) &&
         plan.add(step::split(at("t.i"), across, "z", "t.r")) &&
         plan.add(step::split(at("t.r"), kWarpThreads, "y", "x")) &&
         plan.add(step::bind(at("z"), ir::Mark::kThreadZ)) &&
         plan.add(step::bind(at("y"), ir::Mark::kThreadY)) &&
         plan.add(step::bind(at("x"), ir::Mark::kThreadX)) && plan.add(step::vectorize(at("v")));
}

/// Brings a factor into the registers of the warps, through shared memory.
bool bring(Plan& plan, const MmaTile& t, const ir::Expr& factor, const std::string& row_var,
           const std::string& k) {
  const std::string shared = factor->name + ".shared", warp = factor->name + ".warp";
  const std::string rows = dim_along(factor, row_var), columns = dim_along(factor, k);
  return share_mma(plan, t, factor->name, shared) &&
         plan.add(step::stage(shared, {t.tile, "k.s"}, warp, {ir::Space::kWarp})) &&
         plan.add(step::lanes({warp, rows}, {warp, columns}, std::max(1, 4 / size_of(factor->type)),
                              "lane"));
}

/// The tile's loops: steps of the reduction, each of whole instructions.
bool fill_mma(Plan& plan, const MmaTile& t) {
  const Product& p = t.of;
  const ir::Instruction& row = *t.row;
  const int64_t steps = std::max<int64_t>(2, kMmaDepthBytes / size_of(row.a) / row.group);
  const Number terms =
      plan.knob(knob_name("steps", t.name), {steps / 2, steps, 2 * steps}, steps) * row.group;
  const auto at = [&](const std::string& loop) { return ir::Place{t.tile, loop}; };
  if (!plan.add(step::split(at(p.k), terms, "k.o", "k.i", ir::Tail::kPad)) ||
      !plan.add(step::split(at("k.i"), row.group, "k.s", "k.t")) ||
      !plan.add(step::split(at(p.m), row.rows, "m.o", "m.t")) ||
      !plan.add(step::split(at(p.n), row.columns, "n.o", "n.t"))) {
    return false;
  }
  if (!order_loops(plan, t.tile, p.others, {"k.o", "k.s", "m.o", "n.o", "m.t", "n.t", "k.t"},
                   p.k)) {
    return false;
  }
  const Factors f = factors_by_side(plan, t);
  if (!f) return plan.declines(no_factors(plan, t));
  if (!bring(plan, t, f.a, p.m, p.k) || !bring(plan, t, f.b, p.n, p.k)) return false;
  plan.add(step::pipeline(at("k.o"), plan.knob(knob_name("stages", t.name), {2, 3, 4}, 3)));
  return plan.add(step::tensorize({at("m.t"), at("n.t"), at("k.t")}, row));
}

bool apply_mma(Plan& plan, const std::string& name) {
  MmaTile t{mma_product(plan, name), {}, {}, {}, {}};
  if (!t.row) return plan.declines(t.of.missing);
  const StageFacts facts = plan.facts(name);
  choose_sizes(plan, t, facts.extent(t.m), facts.extent(t.n), t.count);
  if (!cut_mma(plan, t) || !place_tile(plan, t, t.n + ".w") || !fill_mma(plan, t)) return false;
  if (!plan.add(step::lanes({name, t.m + ".r"}, {name, t.n + ".r"}, 2, "lane"))) return false;
  plan.add(step::vectorize({name, t.n + ".r.w"}));
  plan.finish(name);
  plan.finish(t.product);
  return lowers(plan);
}

}  // namespace

Gemm mma_product(const Plan& plan, const std::string& name) {
  Gemm t = unassigned(plan, name, kShortestSide);
  if (t.of.m.empty()) return t;
  t.row = instruction_for(plan.stage(t.product), plan.target());
  if (t.row && t.row->lanes == 0) t.row = nullptr;
  if (!t.row) t.of.missing = no_row(plan, t, "mma");
  return t;
}

Gemm wgmma_product(const Plan& plan, const std::string& name) {
  Gemm t = unassigned(plan, name, kVeryShortSide);
  if (t.of.m.empty()) return t;
  t.row = wgmma_instruction_for(plan.stage(t.product), plan.target());
  if (!t.row) {
    t.of.missing = no_row(plan, t, "wgmma");
    return t;
  }
  const StageFacts& facts = plan.facts(name);
  if (facts.extent(t.m) < t.row->rows && facts.extent(t.n) >= t.row->rows) {
    std::swap(t.m, t.n);
    std::swap(t.of.m, t.of.n);
  }
  return t;
}

Gemm simt_product(const Plan& plan, const std::string& name) {
  return unassigned(plan, name, kShortestSide);
}

bool place_tile(Plan& plan, Gemm& t, const std::string& loop, ir::Space in) {
  const ir::Place at{t.name, loop};
  const std::string output = plan.stage(t.name).output;
  const bool own = t.product == t.name;
  t.tile = own ? output + ".tile" : t.product;
  return plan.add(own ? step::stage(output, at, t.tile, {in}) : step::compute({t.product}, at, in));
}

std::vector<size_t> by_stride(const Plan& plan, const ir::Buffer& b) {
  std::vector<int64_t> strides = dim_strides(plan.program(), b);
  for (size_t d = 0; d < strides.size(); ++d) {
    int64_t extent = 0;
    if (ir::is_const(b.shape[d], &extent) && extent == 1) strides[d] = INT64_MAX;
  }
  return ir::stable_order(strides.size(),
                          [&](size_t a, size_t c) { return strides[a] > strides[c]; });
}

std::string dim_along(const ir::Expr& load, const std::string& var) {
  const int d = ir::dim_along(load->args, var);
  return d < 0 ? "" : dim_name(static_cast<size_t>(d));
}

Factors factors_by_side(const Plan& plan, const Gemm& t) {
  Factors f = factors_of(plan.stage(t.tile));
  if (!f || f.a->name == f.b->name) return {};
  if (dim_along(f.a, t.of.m).empty()) std::swap(f.a, f.b);
  return f;
}

std::string no_factors(const Plan& plan, const Gemm& t) {
  const Factors f = factors_of(plan.stage(t.tile));
  return f ? "both factors are " + f.a->name : "what it reduces is no sum of products of two loads";
}

const Rule gpu::kMmaGemm = {
    "mma_gemm",
    "A product of types that a tensor instruction of the target takes: a tile of results in the "
    "registers of each warp, operands through shared memory some steps ahead, and a consumer point "
    "for point takes the results from there.",
    apply_mma,
};

}  // namespace hone::schedules
