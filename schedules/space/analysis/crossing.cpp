// SPDX-License-Identifier: Apache-2.0
#include "schedules/space/analysis/crossing.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "schedules/space/analysis/shape.h"
#include "schedules/steps/edit.h"

namespace hone::schedules {
namespace {

/// The variable that an index follows step by step, in either direction; "" for a constant. None
/// for any other index.
std::optional<std::string> unit_index(const ir::Expr& index) {
  const auto affine = affine_of(index);
  if (!affine || affine->terms.size() > 1) return {};
  if (affine->terms.empty()) return "";
  const auto& [var, coefficient] = *affine->terms.begin();
  if (std::abs(coefficient) != 1) return {};
  return var;
}

/// Finds the variable along which the one load that is not contiguous with the store is. Else it
/// tells `plan` why there is none.
bool find_tensor(Plan& plan, const ir::Stage& s, const StageFacts& facts, Crossing& c) {
  for (const Access& a : facts.loads) {
    const int64_t stride = a.stride(c.stored);
    if (stride == 0 || stride == 1) continue;
    if (!c.tensor.empty()) {
      return plan.declines("it reads both " + c.tensor + " and " + a.buffer + " across the store");
    }
    if (a.gathers) return plan.declines("data choose where it reads " + a.buffer);
    if (a.guarded) return plan.declines("a load of " + a.buffer + " may leave it");
    c.tensor = a.buffer;
    for (const ir::IndexVar& t : s.vars) {
      if (t.name != c.stored && std::abs(a.stride(t.name)) == 1) c.read = t.name;
    }
    bool unit = !c.read.empty();
    for (size_t d = 0; d < a.indices.size(); ++d) {
      const std::optional<std::string> var = unit_index(a.indices[d]);
      if (var == c.stored) c.stored_dim = d;
      if (var == c.read) c.read_dim = d;
      unit = unit && var;
    }
    if (c.read.empty()) return plan.declines("it reads " + a.buffer + " along memory in no index");
    if (!unit)
      return plan.declines("an index of " + a.buffer + " is no variable, up to a constant");
  }
  // One copy would have to hold what all loads of the tensor take.
  const auto reads = [&](const Access& a) { return a.buffer == c.tensor; };
  if (std::count_if(facts.loads.begin(), facts.loads.end(), reads) > 1) {
    return plan.declines("it reads " + c.tensor + " both along the store and across it");
  }
  return !c.read.empty() || plan.declines("each load runs along memory as the store does");
}

}  // namespace

std::optional<Crossing> crossing_of(Plan& plan, const std::string& name,
                                    const std::string& stored) {
  const ir::Stage s = plan.stage(name);
  const StageFacts facts = plan.facts(name);
  Crossing c;
  c.stored = stored;
  if (!find_tensor(plan, s, facts, c)) return {};
  const DType widest = widest_type(plan.program(), s);
  // The rows of a block are all in registers at once.
  c.side = std::min(plan.lanes(widest), plan.target().vector_registers());
  if (widest != plan.program().buffer(c.tensor)->type) {
    plan.declines("the stage computes in a wider type than it loads");
    return {};
  }
  for (const std::string& var : {c.stored, c.read}) {
    if (facts.extent(var) >= c.side / 2) continue;
    plan.declines("index " + var + " is shorter than half a square of " + std::to_string(c.side));
    return {};
  }
  return c;
}

bool transpose_in_registers(Plan& plan, const std::string& name, const Crossing& c,
                            const std::vector<std::string>& outer) {
  const auto across = plan.split(name, c.read, c.side, ir::Tail::kPeel);
  const auto along = plan.split(name, c.stored, c.side, ir::Tail::kPeel);
  if (across.outer.empty() || along.outer.empty()) return false;
  // Blocks follow each other along the store, so that it fills lines and pages in order.
  std::vector<std::string> order = outer;
  for (const std::string& l : {across.outer, along.outer, across.inner, along.inner}) {
    order.push_back(l);
  }
  if (!order_loops(plan, name, order)) return false;
  const std::string copy = plan.fresh_stage(c.tensor + ".t");
  if (!plan.add(step::stage(c.tensor, {name, along.outer}, copy, {ir::Space::kRegisters}))) {
    return false;
  }
  const std::string read = dim_name(c.stored_dim), contiguous = dim_name(c.read_dim);
  if (!order_loops(plan, copy, {read, contiguous})) return false;
  plan.finish(name);
  plan.finish(copy);
  if (!plan.add(step::unroll({{copy, read}, {name, across.inner}}))) return false;
  return plan.add(step::vectorize({{copy, contiguous}, {name, along.inner}}));
}

}  // namespace hone::schedules
