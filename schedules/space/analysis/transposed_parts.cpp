// SPDX-License-Identifier: Apache-2.0
#include "schedules/space/analysis/transposed_parts.h"

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "schedules/space/analysis/axis.h"
#include "schedules/space/analysis/shape.h"
#include "schedules/steps/parts.h"

namespace hone::schedules {
namespace {

/// Cost of transposing a vector in a square, in loads.
/// Tuned on: Zen 5 (AVX-512).
constexpr double kTranspose = 6;
/// Part of the cost that transposing has to leave at most.
/// Chosen: room for the estimate's error (not measured).
constexpr double kWorthTransposing = 0.7;
/// Parts of a stage that are transposed at most.
/// Chosen: squares of all of them stay in the nearest cache (not measured).
constexpr size_t kMostSquares = 6;

/// Loops around the square take the elements that are absent out of it, so that none is tested.
double cost_along(const Plan& plan, const Access& a, const std::string& var) {
  return vector_cost::load(plan.machine(), a, var, false);
}

/// What the parts of a value cost along one variable and along another.
class Costs {
 public:
  Costs(const Plan& plan, const ir::Stage& s, std::vector<Part> parts, std::string stored,
        std::string read)
      : facts_(plan.facts(s.name)),
        parts_(std::move(parts)),
        stored_(std::move(stored)),
        read_(std::move(read)) {
    find_loads(plan);
    const size_t n = parts_.size();
    stored_cost_ = read_cost_ = best_ = std::vector<double>(n, 0);
    moves_.assign(n, false);
    cut_.assign(n, false);
    for (size_t i = n; i-- > 0;) {
      if (const Access* a = loads_[i]) {
        stored_cost_[i] += cost_along(plan, *a, stored_);
        read_cost_[i] += cost_along(plan, *a, read_);
        best_[i] += cost_along(plan, *a, stored_);
        moves_[i] = moves_[i] || (a->stride(stored_) != 0 && a->stride(read_) != 0);
      }
      const double transposed = read_cost_[i] + kTranspose;
      if (moves_[i] && transposed <= best_[i] &&
          unpartable(s, parts_, static_cast<int64_t>(i)).empty()) {
        cut_[i] = true;
        best_[i] = transposed;
      }
      if (parts_[i].parent < 0) continue;
      const auto up = static_cast<size_t>(parts_[i].parent);
      stored_cost_[up] += stored_cost_[i];
      read_cost_[up] += read_cost_[i];
      best_[up] += best_[i];
      moves_[up] = moves_[up] || moves_[i];
    }
  }

  double plain() const { return stored_cost_[0]; }
  double best() const { return best_[0]; }

  /// The outermost parts that are cheaper transposed, each once.
  std::vector<ir::Expr> chosen() const {
    std::vector<ir::Expr> out;
    std::vector<bool> inside(parts_.size(), false);
    for (size_t i = 0; i < parts_.size(); ++i) {
      const int up = parts_[i].parent;
      inside[i] = up >= 0 && (inside[static_cast<size_t>(up)] || cut_[static_cast<size_t>(up)]);
      if (!cut_[i] || inside[i]) continue;
      const bool again = std::any_of(out.begin(), out.end(),
                                     [&](const ir::Expr& e) { return equal(e, parts_[i].value); });
      if (!again) out.push_back(parts_[i].value);
    }
    return out;
  }

 private:
  void find_loads(const Plan& plan) {
    loads_.assign(parts_.size(), nullptr);
    for (size_t i = 0; i < parts_.size(); ++i) {
      const ir::Expr& e = parts_[i].value;
      if (e->op != ir::Op::kLoad) continue;
      const size_t dims = plan.program().buffer(e->name)->shape.size();
      for (const Access& a : facts_.loads) {
        bool same = a.buffer == e->name && a.guarded == e->guarded;
        for (size_t d = 0; same && d < dims; ++d) same = equal(a.indices[d], e->args[d]);
        if (same) loads_[i] = &a;
      }
    }
  }

  StageFacts facts_;
  std::vector<Part> parts_;
  std::string stored_, read_;
  std::vector<const Access*> loads_;  ///< of parts that are loads
  std::vector<double> stored_cost_, read_cost_, best_;
  std::vector<bool> moves_, cut_;
};

/// The loops of a stage over single values and then the two named.
std::vector<std::string> inside_last(const ir::Stage& s, const std::string& outer,
                                     const std::string& inner) {
  std::vector<std::string> order;
  for (const ir::IndexVar& v : s.vars) {
    if (v.name != outer && v.name != inner) order.push_back(v.name);
  }
  order.push_back(outer);
  order.push_back(inner);
  return order;
}

/// A part of a square in registers, computed along the variable that its loads run along.
bool in_registers(Plan& plan, const std::string& stage, const TransposedParts& parts,
                  const ir::Expr& value, const std::string& loop) {
  const std::vector<Part> all = parts_of(plan.stage(stage));
  const size_t place = place_of(all, value);
  if (place == all.size()) return true;  // gone with an equal one
  const std::string made = plan.fresh_stage(stage + ".t");
  if (!plan.add(step::precompute(stage, place, made))) return false;
  if (!plan.add(step::compute({made}, {stage, loop}, ir::Space::kRegisters))) return false;
  if (!order_loops(plan, made, inside_last(plan.stage(made), parts.stored, parts.read))) {
    return false;
  }
  plan.finish(made);
  return plan.add(step::unroll({made, parts.stored})) &&
         plan.add(step::vectorize({made, parts.read}));
}

/// A part of a square in scratch, in the order of the store.
bool in_scratch(Plan& plan, const std::string& stage, const TransposedParts& parts,
                const ir::Expr& value, const std::string& loop) {
  const std::vector<Part> all = parts_of(plan.stage(stage));
  const size_t place = place_of(all, value);
  if (place == all.size()) return true;  // gone with an equal one
  const std::string made = plan.fresh_stage(stage + ".s");
  std::vector<LayoutAxis> layout;
  for (const ir::IndexVar& v : variables_in(plan.stage(stage), value)) {
    if (v.name != parts.stored) layout.push_back({v.name});
  }
  layout.push_back({parts.stored});
  if (!plan.add(step::precompute(stage, place, made, std::move(layout)))) return false;
  if (!plan.add(step::compute({made}, {stage, loop}))) return false;
  for (const ir::IndexVar& v : plan.stage(made).vars) plan.set_window(made, v.name, 1);
  plan.set_window(made, parts.stored, parts.side);
  plan.set_window(made, parts.read, parts.side);
  return transpose_parts(plan, made,
                         {parts.stored, parts.read, {plan.stage(made).value}, parts.side});
}

}  // namespace

TransposedParts transposed_parts(Plan& plan, const std::string& name, const std::string& stored) {
  const ir::Stage s = plan.stage(name);
  const StageFacts facts = plan.facts(name);
  TransposedParts best;
  best.stored = stored;
  double least = std::numeric_limits<double>::max();
  plan.declines("its loads run along memory as the store does");
  for (const ir::IndexVar& v : s.vars) {
    if (v.name == stored || !s.loop(v.name)) continue;
    const Costs costs(plan, s, parts_of(s), stored, v.name);
    std::vector<ir::Expr> values = costs.chosen();
    if (values.empty() || costs.best() >= least ||
        costs.best() > kWorthTransposing * costs.plain()) {
      continue;
    }
    if (values.size() > kMostSquares) {
      plan.declines("too many parts of it run along " + v.name);
      continue;
    }
    int64_t side = 0;
    for (const ir::Expr& e : values) side = std::max<int64_t>(side, plan.lanes(e->type));
    side = std::min<int64_t>(side, plan.target().vector_registers());
    if (facts.extent(v.name) < side / 2 || facts.extent(stored) < side / 2) {
      plan.declines("its rows are shorter than half a square of " + std::to_string(side));
      continue;
    }
    least = costs.best();
    best.read = v.name;
    best.values = std::move(values);
    best.side = side;
  }
  return best;
}

bool transpose_parts(Plan& plan, const std::string& name, const TransposedParts& parts) {
  const auto across = plan.split(name, parts.read, parts.side, ir::Tail::kPeel);
  const auto along = plan.split(name, parts.stored, parts.side, ir::Tail::kPeel);
  if (across.outer.empty() || along.outer.empty()) return false;
  // Squares follow each other along the store, so that it fills lines and pages in order.
  if (!order_by_memory(plan, name, {across.outer, along.outer, across.inner, along.inner})) {
    return false;
  }
  for (size_t i = 0; i < parts.values.size(); ++i) {
    const bool first = i == 0;
    if (first && !in_registers(plan, name, parts, parts.values[i], along.outer)) return false;
    if (!first && !in_scratch(plan, name, parts, parts.values[i], along.outer)) return false;
  }
  plan.finish(name);
  return plan.add(step::unroll({name, across.inner})) &&
         plan.add(step::vectorize({name, along.inner}));
}

}  // namespace hone::schedules
