// SPDX-License-Identifier: Apache-2.0
#include "schedules/space/analysis/product_order.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <map>
#include <utility>

#include "jit/ir/product.h"
#include "schedules/steps/factor.h"

namespace hone::schedules {
namespace {

/// FactorSet of a product whose orders are looked at.
/// Fixed by: time, since their partitions are counted.
constexpr size_t kMostFactors = 7;

/// Variables that a set of them holds.
/// Fixed by: the bits of VarSet.
constexpr size_t kMostVariables = 64;

/// Sets of factors and of variables, a bit each.
using FactorSet = uint32_t;
using VarSet = uint64_t;

constexpr double kNever = std::numeric_limits<double>::infinity();

/// Dynamic programming over the sets of factors of one product.
class OrderSearch {
 public:
  OrderSearch(const ir::Program& program, const ir::Stage& stage, const ProductCosts& costs)
      : program_(program), s_(stage), costs_(costs), factors_(ir::product_factors(stage.value)) {
    for (const auto* list : {&s_.vars, &s_.rvars}) {
      for (const ir::IndexVar& v : *list) names_.push_back(v.name);
    }
  }

  bool possible() const {
    return ir::sums_products(s_) && factors_.size() <= kMostFactors &&
           names_.size() <= kMostVariables;
  }

  ProductOrder run() {
    const FactorSet all = (FactorSet{1} << factors_.size()) - 1;
    parts_.resize(size_t{all} + 1);
    for (FactorSet set = 1; set < all; ++set) find(set);
    Part& whole = parts_[all];
    whole.needed = variables_of(s_.vars);
    ProductOrder order;
    const Loop loop = loop_of(all);
    order.together = cost_of(loop, whole.needed);
    order.products = order.together - cost_of_factors(loop);
    divide(all, whole);
    order.cost = whole.cost;
    std::vector<FactorSet> standing;
    for (size_t f = 0; f < factors_.size(); ++f) standing.push_back(FactorSet{1} << f);
    make_steps(whole, standing, order.steps);
    return order;
  }

 private:
  /// What a set of factors comes to, and how cheaply.
  struct Part {
    VarSet needed = 0;  ///< indices of the result
    double cost = kNever;
    std::vector<FactorSet> parts;  ///< multiplied in one loop; of one factor: itself, summed before
  };

  VarSet variables_of(const std::vector<ir::IndexVar>& vars) const {
    VarSet out = 0;
    for (const ir::IndexVar& v : vars) out |= bit(v.name);
    return out;
  }
  VarSet bit(const std::string& name) const {
    const auto at = std::find(names_.begin(), names_.end(), name) - names_.begin();
    return at < static_cast<std::ptrdiff_t>(names_.size()) ? VarSet{1} << at : 0;
  }
  VarSet used_by(size_t factor) const {
    VarSet out = 0;
    ir::visit(factors_[factor], [&](const ir::Expr& e) {
      if (e->op == ir::Op::kVar) out |= bit(e->name);
    });
    return out;
  }

  double points(VarSet vars) {
    const auto known = points_.find(vars);
    if (known != points_.end()) return known->second;
    std::vector<std::string> names;
    for (size_t v = 0; v < names_.size(); ++v) {
      if ((vars >> v & 1) != 0) names.push_back(names_[v]);
    }
    return points_[vars] = costs_.points(names);
  }

  /// A loop under way: the parts that are multiplied, their variables, and the costs.
  struct Loop {
    std::vector<FactorSet> parts;
    VarSet used = 0;
    double last = 0;      ///< products that take the additions in
    double before = 0;    ///< others; the same for indices that they do not have, multiplied once
    double partials = 0;  ///< of what comes from other loops
  };
  Loop with(Loop loop, FactorSet set, VarSet used, double partial) {
    const bool first = loop.parts.empty();
    loop.parts.push_back(set);
    loop.used |= used;
    loop.before += loop.last;
    loop.last = first ? 0 : points(loop.used);
    loop.partials += partial;
    return loop;
  }
  double cost_of(const Loop& loop) const { return loop.partials + loop.before + loop.last; }
  /// Of a whole loop that sums over all but `needed`. Of floats the last product takes an addition
  /// in.
  double cost_of(const Loop& loop, VarSet needed) {
    const double computed = cost_of_factors(loop);
    if ((loop.used & ~needed) == 0) return cost_of(loop) + computed;
    const double sums = is_float(s_.accumulate) ? 0 : points(loop.used);
    const double slower = loop.parts.size() == 2 ? 1 : costs_.several;
    return loop.partials + computed + slower * (loop.before + loop.last) + sums;
  }
  /// Of factors that are more than a load.
  double cost_of_factors(const Loop& loop) {
    if (!costs_.factor) return 0;
    double out = 0;
    for (const FactorSet part : loop.parts) {
      if (!std::has_single_bit(part)) continue;  // a partial result, which is loaded
      const auto f = static_cast<size_t>(std::countr_zero(part));
      out += costs_.factor(factors_[f]) *
             std::max(points(used_by(f)), points(loop.used) / costs_.sharing);
    }
    return out;
  }

  std::vector<size_t> positions_in(FactorSet set) const {
    std::vector<size_t> out;
    for (size_t f = 0; f < factors_.size(); ++f) {
      if ((set >> f & 1) != 0) out.push_back(f);
    }
    return out;
  }

  /// The cheapest way to a partial result; those of smaller sets are known.
  void find(FactorSet set) {
    Part& part = parts_[set];
    const std::vector<size_t> positions = positions_in(set);
    const PartialSum sum = partial_sum(program_, s_, positions);
    part.needed = variables_of(sum.vars);
    const bool alone = positions.size() == 1;
    if (!sum.wrong.empty() || (alone && sum.summed.empty())) return;
    if (points(part.needed) > costs_.most) return;
    if (alone) {
      part.cost = points(part.needed | variables_of(sum.summed)) *
                  (1 + (costs_.factor ? costs_.factor(factors_[positions[0]]) : 0));
      part.parts = {set};
    } else {
      divide(set, part);
    }
    std::vector<ir::Expr> factors;
    for (const size_t f : positions) factors.push_back(factors_[f]);
    const double elements = points(part.needed);
    if (costs_.ready && costs_.ready(factors)) {
      const double each =
          costs_.ready_element ? costs_.ready_element(elements) : costs_.element / 2;
      part.cost = each * elements;
    } else {
      part.cost += costs_.stage + costs_.element * elements;
    }
  }

  /// All factors of `set`.
  Loop loop_of(FactorSet set) {
    Loop loop;
    for (const size_t f : positions_in(set)) loop = with(loop, FactorSet{1} << f, used_by(f), 0);
    return loop;
  }

  /// Looks for the cheapest parts of `set`, two or more; the factors themselves where none save.
  void divide(FactorSet set, Part& part) {
    part.cost = cost_of(loop_of(set), part.needed);
    for (const size_t f : positions_in(set)) part.parts.push_back(FactorSet{1} << f);
    divide(set, Loop{}, part);
  }
  void divide(FactorSet rest, const Loop& loop, Part& best) {
    if (cost_of(loop) >= best.cost) return;
    if (rest == 0) {
      const double cost = cost_of(loop, best.needed);
      if (cost < best.cost) best.cost = cost, best.parts = loop.parts;
      return;
    }
    const FactorSet first = rest & -rest, others = rest & ~first;
    // Each set with the first factor, itself alone last: of equal costs, what stands first.
    FactorSet more = 0;
    do {
      more = (more - others) & others;
      const FactorSet set = first | more;
      if (more == 0) {
        const VarSet used = used_by(static_cast<size_t>(std::countr_zero(first)));
        divide(others, with(loop, first, used, 0), best);
      }
      const Part& part = parts_[set];
      if ((loop.parts.empty() && set == rest) || !(part.cost < kNever)) continue;
      // As a partial result. A factor alone as well, where it has an index of its own.
      const FactorSet marked = more == 0 ? set | kSummed : set;
      divide(rest & ~set, with(loop, marked, part.needed, part.cost), best);
    } while (more != 0);
  }

  /// Steps that make the parts of `part`, in a product that holds the sets `standing`.
  void make_steps(const Part& part, std::vector<FactorSet>& standing,
                  std::vector<std::vector<size_t>>& steps) {
    for (const FactorSet chosen : part.parts) {
      const FactorSet set = chosen & ~kSummed;
      const bool alone = std::has_single_bit(set);
      if (alone && chosen == set) continue;
      if (!alone) make_steps(parts_[set], standing, steps);
      std::vector<size_t> positions;
      for (size_t i = 0; i < standing.size(); ++i) {
        if ((standing[i] & set) != 0) positions.push_back(i);
      }
      std::erase_if(standing, [&](FactorSet f) { return (f & set) != 0; });
      standing.insert(standing.begin() + static_cast<std::ptrdiff_t>(positions[0]), set);
      steps.push_back(std::move(positions));
    }
  }

  /// Marks a factor that is summed by itself.
  static constexpr FactorSet kSummed = FactorSet{1} << kMostFactors;

  const ir::Program& program_;
  const ir::Stage& s_;
  const ProductCosts& costs_;
  std::vector<ir::Expr> factors_;
  std::vector<std::string> names_;  ///< of variables, by their bits
  std::vector<Part> parts_;         ///< by the set
  std::map<VarSet, double> points_;
};

}  // namespace

ProductOrder cheapest_order(const ir::Program& program, const ir::Stage& stage,
                            const ProductCosts& costs) {
  OrderSearch search(program, stage, costs);
  return search.possible() ? search.run() : ProductOrder{};
}

}  // namespace hone::schedules
