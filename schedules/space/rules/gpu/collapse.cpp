// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "schedules/space/analysis/gpu_product.h"
#include "schedules/space/analysis/shape.h"
#include "schedules/space/rules/rule.h"

namespace hone::schedules {
namespace {

/// True where an operand does not move along `var`, so that tiles use it again, or all are summed.
bool used_again(const StageFacts& facts, const std::string& var) {
  return facts.store.stride(var) == 0 ||
         std::any_of(facts.loads.begin(), facts.loads.end(),
                     [&](const Access& a) { return a.stride(var) == 0; });
}

/// Makes one index of two of `vars`. False, and `plan` told why, where there are none.
bool collapse_two(Plan& plan, const std::string& name, const std::vector<ir::IndexVar>& vars) {
  const StageFacts facts = plan.facts(name);
  plan.declines("no index of it goes on in every tensor where another ends");
  for (const ir::IndexVar& inner : vars) {
    const int64_t extent = facts.extent(inner.name);
    if (extent <= 1 || !used_again(facts, inner.name)) continue;
    for (const ir::IndexVar& outer : vars) {
      const auto runs = [&](const Access& a) { return runs_on(a, outer.name, inner.name, extent); };
      if (outer.name == inner.name || facts.extent(outer.name) <= 1 || !runs(facts.store) ||
          !std::all_of(facts.loads.begin(), facts.loads.end(), runs)) {
        continue;
      }
      const std::string both = outer.name + "." + inner.name;
      Plan::Mark before = plan.mark();
      if (plan.add(step::collapse({name, outer.name}, {name, inner.name}, both)) &&
          plan.decide("collapse " + both + " of " + name, 2, 1) == 1) {
        return true;
      }
      plan.rewind(std::move(before));
    }
  }
  return false;
}

/// The same of the product's indices, of those that it sums over last.
bool collapse_two(Plan& plan, const std::string& name) {
  const ir::Stage s = plan.stage(name);
  return collapse_two(plan, name, s.vars) || collapse_two(plan, name, s.rvars);
}

bool apply_gpu_collapse(Plan& plan, const std::string& name) {
  std::string product;
  const Product p = own_product(plan, name, product, 1);
  if (p.m.empty()) return plan.declines(p.missing);
  bool any = false;
  while (plan.program().stage(product) && collapse_two(plan, product)) any = true;
  return any;
}

}  // namespace

const Rule gpu::kCollapse = {
    "collapse",
    "Two indices of a product that every tensor runs through as through one become one, so that "
    "tiles are large.",
    apply_gpu_collapse,
};

}  // namespace hone::schedules
