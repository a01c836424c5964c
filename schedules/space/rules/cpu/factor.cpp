// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <vector>

#include "jit/ir/operations.h"
#include "jit/ir/product.h"
#include "schedules/space/analysis/axis.h"
#include "schedules/space/analysis/product_order.h"
#include "schedules/space/analysis/shape.h"
#include "schedules/space/rules/rule.h"

namespace hone::schedules {
namespace {

/// What partial results save at least where they are worth their stages, of the products of all
/// factors in one loop.
/// Tuned on: Zen 5 (AVX-512).
constexpr double kWorthFactoring = 0.2;
/// How much slower a sum of products of several factors is: of two alone they are packed, no more.
/// Tuned on: Zen 5 (AVX-512).
constexpr double kSeveral = 1.25;
/// The same on a GPU, where no instruction nor pipeline of products takes them.
/// Tuned on: no GPU; reckoned for an H100.
constexpr double kGpuSeveral = 4;
/// Part of the registers that a tile has rows, about, which share a factor computed once.
/// Chosen: tiles of 16 and 8 rows (not measured).
constexpr double kRowsOfRegisters = 0.5;
/// What an element of a partial result costs, in multiply-adds of one element.
/// Tuned on: Zen 5 (AVX-512).
constexpr double kPartialElement = 8;
/// The same on a GPU, whose memory is further away.
/// Tuned on: no GPU; reckoned for an H100.
constexpr double kGpuPartialElement = 64;
/// What a stage costs to begin with, in the same measure: on a CPU, and a launch of a GPU.
/// Tuned on: Zen 5 (AVX-512); for a GPU none, reckoned for an H100.
constexpr double kPartialStage = 2000, kGpuPartialStage = 4e7;
/// Elements that a partial result may have, as a multiple of those that the stage reads and writes,
/// and where that is less.
/// Chosen: memory of a call that nobody expects (not measured).
constexpr double kMostPartial = 8, kAlwaysPartial = 1 << 20;

/// Elements of all tensors that the stage reads and writes.
double elements_accessed(const Plan& plan, const std::string& name) {
  double out = 0;
  const StageFacts& facts = plan.facts(name);
  std::vector<std::string> buffers{facts.store.buffer};
  for (const Access& a : facts.loads) buffers.push_back(a.buffer);
  std::sort(buffers.begin(), buffers.end());
  buffers.erase(std::unique(buffers.begin(), buffers.end()), buffers.end());
  for (const std::string& b : buffers) {
    const ir::Buffer& buffer = *plan.program().buffer(b);
    out += static_cast<double>(bytes_of(plan.program(), buffer)) / size_of(buffer.type);
  }
  return out;
}

/// True where constants alone decide the product of `factors` of a stage.
bool made_of_constants(const Plan& plan, const ir::Stage& s, const std::vector<ir::Expr>& factors) {
  ir::Stage part = s;
  part.value = ir::product_of(factors);
  part.where = {};
  for (auto* list : {&part.vars, &part.rvars}) {
    std::erase_if(*list, [&](const ir::IndexVar& v) { return !mentions_var(part.value, v.name); });
  }
  return made_at_bind(plan.program(), part);
}

/// True where vectors run along the sum of a partial result. Along each of its indices some tensor
/// lies apart then, and is not laid out anew before the call.
bool adds_lanes_up(const Plan& plan, const std::string& partial) {
  if (!reduces_along_vector(plan, partial)) return false;
  const StageFacts& facts = plan.facts(partial);
  const std::vector<ir::IndexVar>& vars = plan.stage(partial).vars;
  return std::none_of(vars.begin(), vars.end(), [&](const ir::IndexVar& v) {
    return facts.extent(v.name) > 1 &&
           std::all_of(facts.loads.begin(), facts.loads.end(), [&](const Access& a) {
             const int64_t stride = a.stride(v.name);
             return stride == 0 || stride == 1 ||
                    is_bound(plan.program(), *plan.program().buffer(a.buffer));
           });
  });
}

/// What adding the lanes of a partial result up costs, in multiply-adds of one element.
double cost_of_lanes(const Plan& plan, const std::string& partial) {
  if (!adds_lanes_up(plan, partial)) return 0;
  const ir::Stage& s = plan.stage(partial);
  const StageFacts& facts = plan.facts(partial);
  return static_cast<double>(facts.points(s.vars)) * vector_cost::horizontal(s) *
         plan.lanes(s.accumulate);
}

/// How much slower the stage is with all factors in one loop, for lanes that do nothing.
double slowed_by_idle_lanes(const Plan& plan, const std::string& name) {
  const StageFacts& facts = plan.facts(name);
  const VectorAxis axis = vector_axis(plan, name, facts.store, true);
  if (axis.var.empty()) return 1;
  const int lanes = plan.lanes(widest_type(plan.program(), plan.stage(name)));
  return 1 + idle_lanes(std::max<int64_t>(1, facts.extent(axis.var)), lanes);
}

bool apply_factor(Plan& plan, const std::string& name) {
  const ir::Stage s = plan.stage(name);
  if (!ir::sums_products(s)) return plan.declines("it is no sum of products");
  if (s.where) return plan.declines("the stage has a `where`");
  const StageFacts facts = plan.facts(name);
  const bool gpu = plan.target().is_cuda();
  ProductCosts costs;
  costs.points = [&](const std::vector<std::string>& vars) {
    double n = 1;
    for (const std::string& v : vars)
      n *= static_cast<double>(std::max<int64_t>(1, facts.extent(v)));
    return n;
  };
  costs.ready = [&](const std::vector<ir::Expr>& factors) {
    return made_of_constants(plan, s, factors);
  };
  costs.several = gpu ? kGpuSeveral : kSeveral * slowed_by_idle_lanes(plan, name);
  costs.element = gpu ? kGpuPartialElement : kPartialElement;
  costs.stage = gpu ? kGpuPartialStage : kPartialStage;
  if (!gpu) {
    costs.factor = ir::operations_of;
    const int size = size_of(s.accumulate);
    const ir::Machine& machine = plan.machine();
    costs.sharing = kRowsOfRegisters * machine.vector_registers;
    // In multiply-adds, which the core makes as many of in the time.
    const double in_a_cycle = plan.lanes(s.accumulate) * machine.arithmetic_ports;
    costs.ready_element = [=](double elements) {
      const double bytes = elements * size;
      const double near = kPartialElement / 2;
      if (bytes <= static_cast<double>(machine.l2)) return near;
      const bool held = bytes <= static_cast<double>(machine.l3);
      const double moved = in_a_cycle * size / (held ? machine.l3_bytes : machine.memory_bytes);
      return held ? std::max(near, moved) : near + moved;
    };
  }
  costs.most = std::max(kAlwaysPartial, kMostPartial * elements_accessed(plan, name));
  const ProductOrder order = cheapest_order(plan.program(), s, costs);
  if (order.steps.empty()) return plan.declines("its factors cost least in one loop");
  const double most = order.together - kWorthFactoring * order.products;
  const bool worth = order.cost <= most;
  if (plan.decide("factors of " + name + " in the cheapest order", 2, worth ? 1 : 0) == 0) {
    return plan.declines(worth ? "its factors were decided to stay in one loop"
                               : "another order of its factors saves too little");
  }
  double lanes = 0;
  for (const std::vector<size_t>& factors : order.steps) {
    const std::string partial = plan.fresh_stage(name + ".f");
    if (!plan.add(step::factor(name, factors, partial))) return false;
    if (!gpu) lanes += cost_of_lanes(plan, partial);
  }
  if (worth && order.cost + lanes > most) {
    return plan.declines("lanes of partial results would be added up too often");
  }
  return true;
}

}  // namespace

const Rule cpu::kFactor = {
    "factor",
    "A sum of products of several factors multiplies and sums some of them first, in the cheapest "
    "order, where that saves.",
    apply_factor,
};

}  // namespace hone::schedules
