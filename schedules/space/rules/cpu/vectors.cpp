// SPDX-License-Identifier: Apache-2.0
#include "schedules/space/analysis/axis.h"
#include "schedules/space/analysis/shape.h"
#include "schedules/space/rules/rule.h"

namespace hone::schedules {
namespace {

bool apply_vectors(Plan& plan, const std::string& name) {
  const StageFacts facts = plan.facts(name);
  const VectorAxis axis = vector_axis(plan, name, facts.store, false);
  if (axis.var.empty()) return plan.declines("it has no index to run as vectors");
  if (facts.extent(axis.var) <= 1) {
    return plan.declines("its cheapest axis " + axis.var + " has one value");
  }
  const std::string loop = plan.loop_of(name, axis.var);
  if (!move_innermost(plan, name, loop)) return false;
  if (!plan.add(step::vectorize({name, loop}))) return false;
  plan.finish(name);
  return true;
}

}  // namespace

const Rule cpu::kVectors = {
    "vectors",
    "Where no other rule's steps can be had: the cheapest axis of a stage as vectors, nothing kept "
    "in registers.",
    apply_vectors,
};

}  // namespace hone::schedules
