// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "jit/ir/structures.h"
#include "schedules/space/plan.h"

namespace hone::schedules {

/// What reading and writing a vector of points costs, in loads.
namespace vector_cost {

/// Read as it lies, lane by lane, stored lane by lane.
/// Tuned on: Zen 5 (AVX-512).
inline constexpr double kLoad = 1, kGather = 16, kScatter = 24;
/// Finding out which lanes of a load lie inside its tensor.
/// Tuned on: Zen 5 (AVX2).
inline constexpr double kTested = 12;
/// Partial results of a piece of a vector, which go into lanes of a register and out of it.
/// Tuned on: Zen 5 (AVX2).
inline constexpr double kPiece = 24;
/// Adding up lanes once a result. Of floats' max and min, which propagate NaN, each step is several
/// instructions.
/// Tuned on: Zen 5 (AVX-512).
inline constexpr double kHorizontal = 5, kHorizontalOrder = 12;
inline double horizontal(const ir::Stage& s) {
  const bool order = s.reduce == ir::Reduce::kMax || s.reduce == ir::Reduce::kMin;
  return order && is_float(s.accumulate) ? kHorizontalOrder : kHorizontal;
}
/// Instructions of a point beyond the few that hide behind its loads, such as functions'. Lanes
/// that idle waste them. Tuned on: Zen 5 (AVX-512); powers in windows.
inline constexpr int kHidden = 16;
inline double dear(int operations) { return std::max(0, operations - kHidden); }
/// Bytes and pairs of them this far apart are read by shuffles of bytes.
/// Tuned on: Zen 5 (AVX-512, AVX2).
inline int64_t most_apart(const ir::Machine& machine) { return machine.masks_lanes ? 6 : 4; }
/// Whether elements a few apart are read as whole vectors, and shuffles of them.
inline bool is_spread(const ir::Machine& machine, const Access& a, const std::string& var) {
  const int64_t stride = a.stride(var);
  if (stride < 2 || a.chosen.contains(var)) return false;
  const bool by_bytes = a.element_bytes == 1 || (a.element_bytes == 2 && !machine.masks_lanes);
  return (by_bytes && stride <= most_apart(machine)) ||
         ir::shuffles_structures(machine, a.element_bytes, stride);
}
/// What a vector of such elements takes. Where others take what lies between, all vectors are
/// loaded once. A shuffle of lanes across a register of 64 bytes, of 32 bytes, and a blend.
/// Tuned on: Zen 4 (AVX-512, AVX2).
inline constexpr double kWidePermute = 1.5, kPermute = 0.8, kBlend = 0.5;
inline double spread(const ir::Machine& machine, const Access& a, const std::string& var) {
  const int64_t stride = a.stride(var);
  if (a.structures.contains(var) && ir::shuffles_structures(machine, a.element_bytes, stride)) {
    const ir::StructureShuffles shuffles =
        ir::shuffles_of_structures(machine, a.element_bytes, stride);
    return kLoad + shuffles.blends * kBlend +
           shuffles.permutes * (machine.masks_lanes ? kWidePermute : kPermute);
  }
  return std::min(2 * static_cast<double>(stride) - 1, kGather);
}

/// Elements within a vector in another order, or several times; the same where some are absent.
/// Tuned on: Zen 5 (AVX-512).
inline constexpr double kShuffled = 3, kShuffledTested = 8;

/// A load of the steps of `var` as a vector. `tested`: each of its lanes may be absent.
inline double load(const ir::Machine& machine, const Access& a, const std::string& var,
                   bool tested) {
  const int64_t stride = a.stride(var);
  if (a.slow.contains(var)) return tested ? kShuffledTested : kShuffled;
  if (a.chosen.contains(var)) return kGather;
  if (stride == 0 || stride == 1) return kLoad;
  return !tested && is_spread(machine, a, var) ? spread(machine, a, var) : kGather;
}
inline double load(const ir::Machine& machine, const Access& a, const std::string& var) {
  return load(machine, a, var, a.guarded);
}

}  // namespace vector_cost

/// True where data choose among so few elements that registers hold all of them.
bool is_short_table(const Plan& plan, const Access& access);
/// What a stage's load of the steps of `var` as a vector takes.
double cost_of_load(const Plan& plan, const Access& access, const std::string& var);

/// The axis along which a stage runs as vectors.
struct VectorAxis {
  std::string var;         ///< "" when nothing is worth a vector
  bool reduction = false;  ///< lanes are partial results, added up at the end
  std::string packed;      ///< tensor to lay out along `var` first, or ""
  double cost = 0;         ///< of one vector of points, in instructions about
};

/// The reduction loops around `var` that continue it in memory, the nearest first. Fused with it
/// they are one loop at the same stride.
std::vector<std::string> run_of(const ir::Stage& stage, const StageFacts& facts,
                                const std::string& var);

/// The cheapest axis for a reduction. `store` is how the result leaves (its consumer's store, by
/// the variables of the stage). With `may_pack`, a tensor read across lines may be laid out anew.
VectorAxis vector_axis(const Plan& plan, const std::string& stage, const Access& store,
                       bool may_pack);

/// The index of a stage without reduction along which vectors cost least. It is `usual`, along
/// which the stage stores, unless lanes that this leaves idle, or loads, cost more than stores
/// apart.
std::string cheapest_index(const Plan& plan, const std::string& stage, const std::string& usual);

/// Upper bound of the values of `var` for which the term `e` of a reduction adds anything:
/// elsewhere its factors lie outside their tensors.
int64_t steps_inside(const ir::Program& program, const ir::Expr& e, const std::string& var);

/// True when the cheapest axis of a reduction is one that it reduces.
bool reduces_along_vector(const Plan& plan, const std::string& stage);

/// Reads of each element of a tensor's copy, also where `access` takes a part of the tensor only.
int64_t reads_of_copy(const Plan& plan, const std::string& stage, const Access& access);

/// True when a copy of `access` for packing pays: it is bound once, or read often enough. What is
/// bound may be read at any places beside `along`, the variable that vectors run along.
bool worth_packing(const Plan& plan, const std::string& stage, const Access& access,
                   const std::string& along = {});

/// True where other stages read what `access` does. A copy at the root would be theirs, too, in
/// panels as wide as this one wants. What is bound once is copied even so.
bool panels_for_others(const Plan& plan, const Access& access);

}  // namespace hone::schedules
