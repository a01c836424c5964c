// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "schedules/space/analysis/shape.h"
#include "schedules/space/rules/rule.h"
#include "schedules/steps/edit.h"

namespace hone::schedules {
namespace {

/// The variable along which the one load that is not contiguous with the store is, or "".
std::string other_axis(const ir::Stage& s, const StageFacts& facts, const std::string& v,
                       std::string& tensor, size_t& v_dim, size_t& t_dim) {
  std::string other;
  for (const Access& a : facts.loads) {
    const int64_t stride = a.stride(v);
    if (stride == 0 || stride == 1) continue;
    if (!tensor.empty() || a.gathers || a.guarded) return {};
    tensor = a.buffer;
    for (const ir::IndexVar& t : s.vars) {
      if (t.name != v && a.stride(t.name) == 1) other = t.name;
    }
    bool plain = !other.empty();
    for (size_t d = 0; d < a.indices.size(); ++d) {
      const std::string var = plain_var(a.indices[d]);
      if (var == v) v_dim = d;
      if (var == other) t_dim = d;
      plain = plain && (!var.empty() || a.indices[d]->op == ir::Op::kInt);
    }
    if (!plain) return {};
  }
  return other;
}

bool apply_transpose(Plan& plan, const std::string& name) {
  const ir::Stage s = plan.stage(name);
  if (s.reduce != ir::Reduce::kNone || s.vars.size() < 2 || s.where) {
    return plan.declines("it reduces, has a `where`, or fewer than two loops");
  }
  const std::string v = contiguous_var(plan, name);
  const StageFacts facts = plan.facts(name);
  if (v.empty() || facts.store.stride(v) != 1) {
    return plan.declines("no index runs along memory in the result");
  }
  std::string tensor;
  size_t v_dim = 0, t_dim = 0;
  const std::string t = other_axis(s, facts, v, tensor, v_dim, t_dim);
  if (t.empty()) return plan.declines("no load runs along memory in another index");
  const DType type = plan.program().buffer(tensor)->type;
  // The rows of a block are all in registers at once.
  const int64_t side =
      std::min(plan.lanes(widest_type(plan.program(), s)), plan.target().vector_registers());
  if (widest_type(plan.program(), s) != type) {
    return plan.declines("the stage computes in a wider type than it loads");
  }
  if (facts.extent(v) < side / 2 || facts.extent(t) < side / 2) {
    return plan.declines("an axis is shorter than half a tile");
  }
  if (plan.decide("transpose " + tensor + " in registers", 2, 1) == 0)
    return plan.declines("so decided");
  std::vector<std::string> panels;
  const bool large =
      bytes_of(plan.program(), *plan.program().buffer(tensor)) > plan.machine().l3 / 4;
  if (plan.decide("transpose " + tensor + " by panels", 2, large ? 1 : 0) == 1) {
    // A panel's pages, of either tensor, fit the TLB.
    for (const auto& [var, knob] : {std::pair{t, "pt"}, std::pair{v, "pv"}}) {
      const auto h = plan.split(
          name, var,
          plan.knob(knob_name(knob, name), {2 * side, 4 * side, 8 * side, 16 * side}, 8 * side),
          ir::Tail::kPeel);
      if (h.outer.empty()) return false;
      panels.push_back(h.outer);
    }
  }
  const auto across = plan.split(name, t, side, ir::Tail::kPeel);
  const auto along = plan.split(name, v, side, ir::Tail::kPeel);
  if (across.outer.empty() || along.outer.empty()) return false;
  // Blocks follow each other along the store, so that it fills lines and pages in order.
  std::vector<std::string> order = panels;
  for (const std::string& l : {across.outer, along.outer, across.inner, along.inner}) {
    order.push_back(l);
  }
  if (!order_loops(plan, name, order)) return false;
  const std::string copy = plan.fresh_stage(tensor + ".t");
  if (!plan.add(step::stage(tensor, {name, along.outer}, copy, {ir::Space::kRegisters}))) {
    return false;
  }
  const std::string read = dim_name(v_dim), contiguous = dim_name(t_dim);
  if (!order_loops(plan, copy, {read, contiguous})) return false;
  plan.finish(name);
  plan.finish(copy);
  if (!plan.add(step::unroll({{copy, read}, {name, across.inner}}))) return false;
  return plan.add(step::vectorize({{copy, contiguous}, {name, along.inner}}));
}

}  // namespace

const Rule cpu::kTranspose = {
    "transpose",
    "A tensor read along another axis than the store's is transposed in registers, block by block.",
    apply_transpose,
};

}  // namespace hone::schedules
