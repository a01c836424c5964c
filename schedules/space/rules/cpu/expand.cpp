// SPDX-License-Identifier: Apache-2.0
#include "schedules/space/rules/rule.h"
#include "schedules/steps/edit.h"
#include "schedules/steps/tensor.h"

namespace hone::schedules {
namespace {

/// Of the products' cost, what the sums of the other terms may cost.
/// Chosen: less than a dot product saves on the least of instruction sets (not measured).
constexpr double kMostOthers = 0.25;

double points_of(const Plan& plan, const std::string& stage) {
  const StageFacts& facts = plan.facts(stage);
  return static_cast<double>(facts.points(facts.extents));
}

/// The stages that `expand` made, the first and the others by number.
std::vector<std::string> made_of(const Plan& plan, const std::string& first) {
  std::vector<std::string> out;
  std::string name = first;
  while (plan.program().stage(name) != nullptr) {
    out.push_back(name);
    name = first + "." + std::to_string(out.size());
  }
  return out;
}

/// Why expanding does not pay; "" where it does.
std::string unworthy(const Plan& plan, const std::vector<std::string>& made) {
  double others = 0, all = 0;
  int products = 0;
  for (const std::string& name : made) {
    const bool dots = instruction_for(plan.stage(name), plan.target(), true) != nullptr;
    products += dots ? 1 : 0;
    (dots ? all : others) += points_of(plan, name);
  }
  if (products != 1) return "not one of its terms is a product that an instruction takes";
  return others > kMostOthers * all ? "the sums of its other terms cost too much" : "";
}

bool apply_expand(Plan& plan, const std::string& name) {
  const ir::Stage s = plan.stage(name);
  if (s.reduce != ir::Reduce::kSum || !is_int(s.accumulate) || s.value->op != ir::Op::kMul) {
    return plan.declines("it is no sum of products of integers");
  }
  if (instruction_for(s, plan.target(), true) != nullptr) {
    return plan.declines("an instruction takes its products as they are");
  }
  Plan::Mark before = plan.mark();
  const std::string first = plan.fresh_stage(name + ".e");
  if (!plan.add(step::expand(name, first))) return false;
  std::string why = unworthy(plan, made_of(plan, first));
  if (plan.decide("multiply out " + name, 2, why.empty() ? 1 : 0) == 1) return true;
  plan.rewind(std::move(before));
  return plan.declines(why.empty() ? "its products were decided to stay as they are" : why);
}

}  // namespace

const Rule cpu::kExpand = {
    "expand",
    "A sum of products of integers less some offset, as zero points are, is multiplied out where "
    "that leaves products for a dot product instruction.",
    apply_expand,
};

}  // namespace hone::schedules
