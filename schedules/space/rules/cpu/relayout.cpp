// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "schedules/space/analysis/axis.h"
#include "schedules/space/analysis/shape.h"
#include "schedules/space/rules/rule.h"
#include "schedules/steps/parts.h"

namespace hone::schedules {
namespace {

/// Costs of making a vector of the new tensor: transposed in registers, or lane by lane.
/// Tuned on: Zen 5 (AVX-512).
constexpr double kMadeTransposed = 8, kMadeLaneByLane = 18;
/// Neighbours from which a tensor is transposed on its way.
/// Chosen: a side of the smallest square (not measured).
constexpr int64_t kLongestShort = 4;
/// Part of the cost that is left at most.
/// Chosen: room for the estimate's error (not measured).
constexpr double kWorthLayingOut = 0.6;
/// Vectors along a variable, and the loads to lay out anew for that.
struct Choice {
  std::string var;
  double cost = 0;
  std::vector<ir::Expr> loads;
};

double points(const StageFacts& facts, const std::vector<ir::IndexVar>& vars) {
  double out = 1;
  for (const ir::IndexVar& v : vars) {
    out *= static_cast<double>(std::max<int64_t>(facts.extent(v.name), 1));
  }
  return out;
}

class Relayout {
 public:
  Relayout(const Plan& plan, const std::string& name)
      : plan_(plan),
        s_(plan.stage(name)),
        facts_(plan.facts(name)),
        parts_(parts_of(s_)),
        lanes_(plan.lanes(widest_type(plan.program(), s_))),
        all_(points(facts_, s_.vars) * points(facts_, s_.rvars)) {}

  /// The cheapest choice; without loads where none pays.
  Choice best() const {
    Choice out;
    out.cost = 1e30;
    const auto see = [&](const std::string& var, bool reduced) {
      if (facts_.bounds.contains(var) || facts_.extent(var) <= 1) return;
      Choice c = along(var, reduced);
      if (c.cost < out.cost) out = std::move(c);
    };
    for (const ir::IndexVar& v : s_.vars) see(v.name, false);
    for (const ir::IndexVar& v : s_.rvars) see(v.name, true);
    return out;
  }

 private:
  Choice along(const std::string& var, bool reduced) const {
    Choice c;
    c.var = var;
    for (const Access& a : facts_.loads) {
      const double cost = cost_of_load(plan_, a, var);
      c.cost += cost > vector_cost::kLoad ? again(a, cost, c) : cost;
      if (reduced && a.guarded) c.cost += vector_cost::kTested;
    }
    const double results = points(facts_, s_.rvars);
    if (!reduced && facts_.store.stride(var) != 1) c.cost += vector_cost::kScatter / results;
    const int64_t extent = facts_.extent(var), lanes = lanes_;
    c.cost *=
        static_cast<double>((extent + lanes - 1) / lanes * lanes) / static_cast<double>(extent);
    if (reduced) c.cost += vector_cost::horizontal(s_) * lanes_ / results;
    return c;
  }

  /// What a load costs that is laid out anew, or `as_it_lies` where that is no cheaper.
  double again(const Access& a, double as_it_lies, Choice& c) const {
    const Part* part = part_of(a);
    if (!part || !unpartable(s_, parts_, part - parts_.data()).empty()) return as_it_lies;
    const std::vector<ir::IndexVar> vars = variables_in(s_, part->value);
    const double elements = points(facts_, vars), bytes = elements * size_of(part->value->type);
    // A tensor that exceeds the caches would be written and read from memory.
    if (bytes > static_cast<double>(plan_.machine().l3) && elements * 2 > all_) return as_it_lies;
    // Nor would codes of few bits be read as what they stand for.
    const ir::Buffer& from = *plan_.program().buffer(a.buffer);
    if (bytes > static_cast<double>(plan_.machine().l2) && is_short_table(plan_, a)) {
      return as_it_lies;
    }
    // Made once, when constants are bound.
    if (is_bound(plan_.program(), from)) {
      c.loads.push_back(part->value);
      return vector_cost::kLoad;
    }
    const bool runs = std::any_of(vars.begin(), vars.end(), [&](const ir::IndexVar& v) {
      const int64_t stride = a.stride(v.name);
      return (stride == 1 || vector_cost::is_spread(plan_.machine(), a, v.name)) &&
             facts_.extent(v.name) >= kLongestShort * stride;
    });
    const double made =
        (runs ? kMadeTransposed : kMadeLaneByLane) + (a.guarded ? vector_cost::kTested : 0);
    const double cost = vector_cost::kLoad + made * elements / all_;
    if (cost >= as_it_lies) return as_it_lies;
    c.loads.push_back(part->value);
    return cost;
  }

  const Part* part_of(const Access& a) const {
    for (const Part& p : parts_) {
      if (p.value->op != ir::Op::kLoad || p.value->name != a.buffer) continue;
      if (p.value->guarded != a.guarded) continue;
      bool same = true;
      for (size_t d = 0; d < a.indices.size(); ++d) same &= equal(a.indices[d], p.value->args[d]);
      if (same) return &p;
    }
    return nullptr;
  }

  const Plan& plan_;
  const ir::Stage s_;
  const StageFacts facts_;
  const std::vector<Part> parts_;
  const int lanes_;
  const double all_;
};

/// Makes a tensor of what `load` reads, `var` innermost.
bool lay_out(Plan& plan, const std::string& name, const ir::Expr& load, const std::string& var) {
  const ir::Stage s = plan.stage(name);
  const std::vector<Part> parts = parts_of(s);
  const size_t place = place_of(parts, load);
  if (place == parts.size()) return true;  // laid out with an equal one
  std::vector<LayoutAxis> layout;
  for (const ir::IndexVar& v : variables_in(s, load)) {
    if (v.name != var) layout.push_back({v.name});
  }
  layout.push_back({var});
  return plan.add(
      step::precompute(name, place, plan.fresh_stage(load->name + ".l"), std::move(layout)));
}

bool apply_relayout(Plan& plan, const std::string& name) {
  const ir::Stage s = plan.stage(name);
  if (s.reduce == ir::Reduce::kNone) return plan.declines("the stage does not reduce");
  if (!s.relations.empty()) return plan.declines("its loops are split or fused already");
  if (!s.at.root()) return plan.declines("the stage is computed inside another");
  const Choice best = Relayout(plan, name).best();
  if (best.loads.empty()) return plan.declines("its loads run along memory, or through constants");
  const VectorAxis now = vector_axis(plan, name, plan.facts(name).store, true);
  if (best.cost > kWorthLayingOut * now.cost) {
    return plan.declines("laid out along " + best.var + " its loads cost about as much");
  }
  if (plan.decide("relayout " + name, 2, 1) == 0) {
    return plan.declines("its loads were decided to be read where they lie");
  }
  return std::all_of(best.loads.begin(), best.loads.end(),
                     [&](const ir::Expr& load) { return lay_out(plan, name, load, best.var); });
}

}  // namespace

const Rule cpu::kRelayout = {
    "relayout",
    "What a reduction would read lane by lane becomes a tensor of its own first, laid out along "
    "the vectors.",
    apply_relayout,
};

}  // namespace hone::schedules
