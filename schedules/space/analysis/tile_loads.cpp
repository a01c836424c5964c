// SPDX-License-Identifier: Apache-2.0
#include "schedules/space/analysis/tile_loads.h"

#include <algorithm>

#include "jit/ir/structures.h"
#include "schedules/space/analysis/axis.h"
#include "schedules/space/analysis/shape.h"

namespace hone::schedules {
namespace {

/// Steps of a reduction that share a load at most.
/// Tuned on: Zen 5 (AVX-512).
constexpr int64_t kMostSharing = 4;

/// True of an index that goes on every few steps of `r` alone, as in X[k/2].
bool is_quotient_of(const ir::Expr& index, const ir::IndexVar& r) {
  return ir::any_node(index, [&](const ir::Expr& e) {
    int64_t by = 0;
    return e->op == ir::Op::kDiv && ir::mentions_var(e->args[0], r.name) &&
           ir::is_const(e->args[1], &by) && by > 1 && by <= kMostSharing;
  });
}

}  // namespace

bool is_shuffled(const Plan& plan, const ir::Stage& p, const Access& a, const std::string& var) {
  if (!a.slow.contains(var)) return false;
  if (!a.guarded) return true;
  const StageFacts& facts = plan.facts(p.name);
  const int lanes = plan.lanes(widest_type(plan.program(), p));
  const auto reduced = [&](const ir::Expr& index) {
    return std::any_of(p.rvars.begin(), p.rvars.end(), [&](const ir::IndexVar& r) {
      return facts.extent(r.name) > 1 && ir::mentions_var(index, r.name);
    });
  };
  return facts.extent(var) >= kManyVectors * lanes &&
         std::none_of(a.indices.begin(), a.indices.end(), [&](const ir::Expr& index) {
           return ir::mentions_var(index, var) && reduced(index);
         });
}

bool is_spread(const Plan& plan, const Access& a, const std::string& var) {
  return !a.guarded && vector_cost::is_spread(plan.machine(), a, var);
}

bool is_tested_apart(const Access& a, const std::string& var) {
  const int64_t stride = a.stride(var);
  return a.guarded && stride != 0 && stride != 1 && !a.chosen.contains(var);
}

bool is_kept(const ir::Stage& p, const StageFacts& facts, const Access& a) {
  const bool moves = std::any_of(p.rvars.begin(), p.rvars.end(),
                                 [&](const ir::IndexVar& r) { return a.stride(r.name) != 0; });
  return moves && std::any_of(p.rvars.begin(), p.rvars.end(), [&](const ir::IndexVar& r) {
           const bool quotient =
               std::any_of(a.indices.begin(), a.indices.end(),
                           [&](const ir::Expr& index) { return is_quotient_of(index, r); });
           return quotient || (!r.lo && ir::is_const(r.hi) && facts.extent(r.name) > 1 &&
                               facts.extent(r.name) <= kMostSharing && a.stride(r.name) == 0);
         });
}

bool stays(const ir::Stage& p, const Access& a) {
  return std::all_of(p.rvars.begin(), p.rvars.end(),
                     [&](const ir::IndexVar& r) { return a.stride(r.name) == 0; });
}

int64_t vectors_of_structures(const Plan& plan, const Access& a, const std::string& columns) {
  const int64_t stride = a.stride(columns);
  // Pairs of registers that are few are loaded again.
  const bool keeps = plan.machine().masks_lanes || stride > 2;
  const bool shares = keeps && a.structures.contains(columns) && !a.guarded &&
                      ir::shuffles_structures(plan.machine(), a.element_bytes, stride);
  return shares ? stride : 0;
}

bool is_one_structure(const Plan& plan, const ir::Stage& p, const Access& a,
                      const std::string& columns) {
  if (vectors_of_structures(plan, a, columns) == 0) return false;
  const std::string& loop = a.structures.at(columns);
  const StageFacts& facts = plan.facts(p.name);
  return !loop.empty() && facts.points(p.rvars) == facts.extent(loop);
}

}  // namespace hone::schedules
