// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "schedules/space/analysis/gpu_product.h"
#include "schedules/space/analysis/shape.h"
#include "schedules/space/rules/rule.h"
#include "schedules/steps/parts.h"
#include "schedules/steps/tensor.h"

namespace hone::schedules {
namespace {

/// Arithmetic of a point up to which it is done again rather than kept in a wider type.
/// Tuned on: no GPU; reckoned for an H100.
constexpr int kCheapAgain = 48;

/// The value that a factor reads rounded: below the conversions to wider types.
ir::Expr rounded_in(const ir::Expr& factor) {
  ir::Expr at = factor;
  while (at->op == ir::Op::kCast && size_of(at->type) > size_of(at->args[0]->type)) {
    at = at->args[0];
  }
  return at->op == ir::Op::kCast && is_float(at->type) && size_of(at->type) == 2 ? at : ir::Expr();
}

/// `s` with `part` read from a tensor, for a look at what instructions take it.
ir::Stage with_tensor(const ir::Stage& s, const ir::Expr& part) {
  std::vector<ir::Expr> indices;
  for (const ir::IndexVar& v : variables_in(s, part)) indices.push_back(ir::make_var(v.name));
  const ir::Expr load = ir::make_load("rounded", part->type, indices);
  ir::Stage out = s;
  out.value =
      ir::rewrite(s.value, [&](const ir::Expr& e) { return equal(e, part) ? load : ir::Expr(); });
  return out;
}

/// Puts what `stage` reads into it, where each of its readers takes each value once.
void inline_sources(Plan& plan, const std::string& stage) {
  std::vector<std::string> sources;
  ir::visit(plan.stage(stage).value, [&](const ir::Expr& e) {
    if (e->op == ir::Op::kLoad) sources.push_back(e->name);
  });
  for (const std::string& source : sources) {
    const ir::Stage* made = plan.program().producer(source);
    if (!made || made->reduce != ir::Reduce::kNone) continue;
    const std::string name = made->name;
    if (plan.facts(name).operations > kCheapAgain) continue;
    bool once = plan.program().buffer(source)->role == ir::Role::kTemp;
    for (size_t r : readers_of(plan.program(), source)) {
      const ir::Stage& reader = plan.program().stages[r];
      const StageFacts facts = plan.facts(reader.name);
      for (const Access& a : facts.loads) {
        if (a.buffer != source) continue;
        for (const auto& [var, extent] : facts.extents) once &= extent <= 1 || a.stride(var) != 0;
      }
    }
    if (once) plan.add(step::inline_stage(name));
  }
}

bool apply_rounded(Plan& plan, const std::string& name) {
  const ir::Stage s = plan.stage(name);
  if (s.reduce != ir::Reduce::kSum || s.value->op != ir::Op::kMul) {
    return plan.declines("it is no sum of products");
  }
  const Product p = product_of(plan, name);
  if (p.m.empty()) return plan.declines(p.missing);
  bool any = false;
  for (const ir::Expr& factor : s.value->args) {
    const ir::Expr part = rounded_in(factor);
    if (!part || !instruction_for(with_tensor(plan.stage(name), part), plan.target())) continue;
    const std::vector<Part> parts = parts_of(plan.stage(name));
    const size_t place = place_of(parts, part);
    const std::string made = plan.fresh_stage(name + ".a");
    if (place == parts.size() || !plan.add(step::precompute(name, place, made))) continue;
    inline_sources(plan, made);
    any = true;
  }
  return any ||
         plan.declines("no factor is a value rounded to a type that tensor instructions take");
}

}  // namespace

const Rule gpu::kRounded = {
    "rounded",
    "A factor of a product that is computed and rounded to a type of tensor instructions is a "
    "tensor of that type, made once. What it is rounded from is computed again by those that read "
    "each value once, and not kept.",
    apply_rounded,
};

}  // namespace hone::schedules
