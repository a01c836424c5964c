// SPDX-License-Identifier: Apache-2.0
#include "ops/divided.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace hone::ops {
namespace {

using ir::Expr;

/// What `e` divides by where it is `var / c` or `var % c`; 0 elsewhere.
int64_t divisor_of(const Expr& e, const std::string& var) {
  int64_t c = 0;
  const bool divides = (e->op == ir::Op::kDiv || e->op == ir::Op::kMod) &&
                       e->args[0]->op == ir::Op::kVar && e->args[0]->name == var &&
                       ir::is_const(e->args[1], &c);
  return divides ? c : 0;
}

/// One index of a reduction as digits: `k = 32*k.0 + 2*k.1 + k.2`.
class Digits {
 public:
  /// `weights`: of the digits, the outermost first; each is a multiple of the next, the last is 1.
  Digits(std::string var, int64_t extent, std::vector<int64_t> weights)
      : var_(std::move(var)), extent_(extent), weights_(std::move(weights)) {}

  std::vector<ir::IndexVar> vars() const {
    std::vector<ir::IndexVar> out;
    int64_t all = extent_;
    for (size_t i = 0; i < weights_.size(); ++i) {
      out.push_back({name(i), {}, ir::make_int(all / weights_[i])});
      all = weights_[i];
    }
    return out;
  }

  Expr substitute(const Expr& e) const {
    if (!e || !ir::mentions_var(e, var_)) return e;
    if (e->op == ir::Op::kVar) return sum(0, weights_.size(), 1);
    const int64_t by = divisor_of(e, var_);
    const auto at = std::find(weights_.begin(), weights_.end(), by);
    if (by > 1 && at != weights_.end()) {
      const auto below = static_cast<size_t>(at - weights_.begin()) + 1;
      return e->op == ir::Op::kDiv ? sum(0, below, by) : sum(below, weights_.size(), 1);
    }
    std::vector<Expr> args;
    for (const Expr& a : e->args) args.push_back(substitute(a));
    return ir::with_args(e, std::move(args));
  }

 private:
  std::string name(size_t digit) const { return var_ + "." + std::to_string(digit); }

  /// Digits `from` .. `to` - 1, their weights divided by `by`.
  Expr sum(size_t from, size_t to, int64_t by) const {
    Expr out;
    for (size_t i = from; i < to; ++i) {
      const Expr term = ir::make_var(name(i)) * ir::make_int(weights_[i] / by);
      out = out ? out + term : term;
    }
    return out;
  }

  std::string var_;
  int64_t extent_;
  std::vector<int64_t> weights_;
};

/// The weights of the digits of `v`, an index of `s` that it reduces; none where it stays whole.
std::vector<int64_t> weights_of(const ir::Stage& s, const ir::IndexVar& v) {
  int64_t extent = 0;
  if (v.lo || !ir::is_const(v.hi, &extent)) return {};
  if (s.where && ir::mentions_var(s.where, v.name)) return {};
  for (const auto* vars : {&s.vars, &s.rvars}) {
    for (const ir::IndexVar& other : *vars) {
      if ((other.lo && ir::mentions_var(other.lo, v.name)) || ir::mentions_var(other.hi, v.name)) {
        return {};
      }
    }
  }
  std::set<int64_t> divisors;
  ir::visit(s.value, [&](const Expr& e) { divisors.insert(divisor_of(e, v.name)); });
  std::vector<int64_t> weights = {1};
  for (const int64_t d : divisors) {
    if (d > 1 && d < extent && extent % d == 0 && d % weights.back() == 0) weights.push_back(d);
  }
  std::reverse(weights.begin(), weights.end());
  return weights.size() > 1 ? weights : std::vector<int64_t>();
}

void split(ir::Stage& s, const ir::IndexVar& v, const Digits& digits) {
  const std::string name = v.name;
  s.value = digits.substitute(s.value);
  const std::vector<ir::IndexVar> parts = digits.vars();
  const auto var = std::find_if(s.rvars.begin(), s.rvars.end(),
                                [&](const ir::IndexVar& r) { return r.name == name; });
  s.rvars.insert(s.rvars.erase(var), parts.begin(), parts.end());
  const auto loop = std::find_if(s.loops.begin(), s.loops.end(),
                                 [&](const ir::Loop& l) { return l.name == name; });
  std::vector<ir::Loop> loops;
  for (const ir::IndexVar& part : parts) loops.push_back({part.name});
  s.loops.insert(s.loops.erase(loop), loops.begin(), loops.end());
}

}  // namespace

void split_divided_indices(ir::Program& program) {
  for (size_t i = 0; i < program.stages.size(); ++i) {
    const ir::Stage before = program.stages[i];
    for (const ir::IndexVar& v : before.rvars) {
      const std::vector<int64_t> weights = weights_of(program.stages[i], v);
      int64_t extent = 0;
      if (weights.empty() || !ir::is_const(v.hi, &extent)) continue;
      split(program.stages.edit(i), v, Digits(v.name, extent, weights));
    }
  }
}

}  // namespace hone::ops
