// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <vector>

#include "schedules/space/analysis/group_members.h"
#include "schedules/space/analysis/shape.h"
#include "schedules/space/rules/rule.h"
#include "schedules/steps/parts.h"

namespace hone::schedules {
namespace {

/// A stage that is read at so small a part of its places is computed where it is read.
/// Tuned on: Zen 4 (AVX-512).
constexpr double kSmallPart = 0.5;
/// The same of a reduction, which may be faster at all of its elements: as a product of matrices.
/// Tuned on: Zen 3 (AVX2).
constexpr double kSmallPartOfReduction = 0.25;

/// Points at which the indices of `load` differ: of the variables that they mention.
double places_read(const ir::Stage& reader, const StageFacts& facts, const ir::Expr& load) {
  double points = 1;
  for (const ir::IndexVar& v : variables_in(reader, load)) {
    points *= static_cast<double>(facts.extent(v.name));
  }
  return points;
}

/// How often readers compute a stage that they read, each load of them.
struct Reads {
  double places = 0;  ///< where each of the places that are read is computed once
  double points = 0;  ///< where each reader computes it at its own points
};

Reads reads_of(const Plan& plan, const std::string& buffer, const std::vector<size_t>& readers) {
  Reads out;
  for (const size_t r : readers) {
    const ir::Stage& reader = plan.program().stages[r];
    const StageFacts& facts = plan.facts(reader.name);
    for (const ir::Expr& load : loads_of(reader, buffer)) {
      out.places += places_read(reader, facts, load);
      out.points += static_cast<double>(facts.points(facts.extents));
    }
  }
  return out;
}

/// Makes a stage of each read of `buffer`, so that its value is computed there once.
bool precompute_reads(Plan& plan, const std::string& buffer) {
  std::vector<std::string> names;
  for (const size_t r : readers_of(plan.program(), buffer)) {
    names.push_back(plan.program().stages[r].name);
  }
  for (const std::string& name : names) {
    for (const ir::Expr& load : loads_of(plan.stage(name), buffer)) {
      const std::vector<Part> parts = parts_of(plan.stage(name));
      const size_t place = place_of(parts, load);
      if (place == parts.size()) continue;  // one with an equal one, or in an index
      if (!plan.add(step::precompute(name, place, plan.fresh_stage(buffer + ".r")))) return false;
    }
  }
  return true;
}

bool apply_in_part(Plan& plan, const std::string& name) {
  const ir::Stage s = plan.stage(name);
  if (plan.program().buffer(s.output)->role != ir::Role::kTemp) {
    return plan.declines("a result of the op is stored");
  }
  const std::vector<size_t> readers = readers_of(plan.program(), s.output);
  if (readers.empty()) return plan.declines("no stage reads it");
  if (best_at_bind(plan, s)) {
    return plan.declines("constants alone decide it: it is computed once, when they are bound");
  }
  const bool reduces = s.reduce != ir::Reduce::kNone;
  if (in_steps(plan, name)) return plan.declines("a recurrence goes on by it");
  const Reads reads = reads_of(plan, s.output, readers);
  const StageFacts facts = plan.facts(name);
  double elements = 1;
  for (const ir::IndexVar& v : s.vars) elements *= static_cast<double>(facts.extent(v.name));
  const double part = (reduces ? kSmallPartOfReduction : kSmallPart) * elements;
  if (reads.places > part) return plan.declines("its readers take more than a small part of it");
  if (!reduces && reads.points <= part && plan.add(step::inline_stage(name))) return true;
  // The value stands in a reader as often as it is read there, which may be too long.
  return precompute_reads(plan, s.output) && plan.add(step::inline_stage(name));
}

}  // namespace

const Rule cpu::kInPart = {
    "in_part",
    "A stage that is read at few of its places is computed at those alone, in its readers or as "
    "stages. Consumers come first, so that what it reads may be read in part as well.",
    apply_in_part,
};

}  // namespace hone::schedules
