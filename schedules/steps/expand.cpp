// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "jit/ir/product.h"
#include "schedules/steps/edit.h"
#include "schedules/steps/rows.h"

namespace hone::schedules {
namespace {

/// A signed product.
struct Monomial {
  bool negative = false;
  std::vector<ir::Expr> factors;
};

/// Terms that a product may have when it is multiplied out.
/// Chosen: two factors of three terms each, and a few more (not measured).
constexpr size_t kMostTerms = 12;

/// `e` as a sum of products. Integers wrap, so that it is the same whatever the order.
std::vector<Monomial> multiplied_out(const ir::Expr& e) {
  const auto negated = [](std::vector<Monomial> terms) {
    for (Monomial& m : terms) m.negative = !m.negative;
    return terms;
  };
  switch (e->op) {
    case ir::Op::kNeg:
      return negated(multiplied_out(e->args[0]));
    case ir::Op::kAdd:
    case ir::Op::kSub: {
      std::vector<Monomial> out = multiplied_out(e->args[0]), more = multiplied_out(e->args[1]);
      if (e->op == ir::Op::kSub) more = negated(std::move(more));
      out.insert(out.end(), more.begin(), more.end());
      return out;
    }
    case ir::Op::kMul: {
      const std::vector<Monomial> left = multiplied_out(e->args[0]),
                                  right = multiplied_out(e->args[1]);
      if (left.size() * right.size() > kMostTerms) return {{false, {e}}};
      std::vector<Monomial> out;
      for (const Monomial& a : left) {
        for (const Monomial& b : right) {
          out.push_back({a.negative != b.negative, a.factors});
          out.back().factors.insert(out.back().factors.end(), b.factors.begin(), b.factors.end());
        }
      }
      return out;
    }
    default:
      return {{false, {e}}};
  }
}

/// Why the sum of `s` cannot be expanded; empty when it can.
std::string objection_expand(const ir::Stage& s) {
  if (s.reduce != ir::Reduce::kSum) return "stage " + s.name + " is not a sum";
  if (!is_int(s.accumulate) || s.value->type != s.accumulate) {
    return "stage " + s.name +
           " does not sum integers of the type in which it accumulates; others "
           "are not the same when summed apart";
  }
  if (!s.relations.empty() || !s.factored.empty() || !s.at.root()) {
    return "stage " + s.name + " is scheduled already; expand it first";
  }
  if (s.where) return "`where` says which terms of " + s.name + " there are";
  if (reads(s, s.output)) return "stage " + s.name + " reads " + s.output + ", which it writes";
  if (s.from_old) return "stage " + s.name + " goes on from what " + s.output + " holds";
  for (const auto* list : {&s.vars, &s.rvars}) {
    for (const ir::IndexVar& v : *list) {
      if (v.lo || !is_size(v.hi)) {
        return "the range of " + v.name + " does not start at 0, or depends on data";
      }
    }
  }
  return {};
}

/// How many values a variable from 0 has.
ir::Expr count_of(const ir::IndexVar& v) {
  return v.hi->op == ir::Op::kDim ? v.hi : make_binary(ir::Op::kMax, ir::make_int(0), v.hi);
}

bool mentions_any_of(const ir::Expr& e, const std::vector<ir::IndexVar>& vars) {
  return std::any_of(vars.begin(), vars.end(),
                     [&](const ir::IndexVar& v) { return mentions_var(e, v.name); });
}

/// Takes the sum of a stage apart.
class Expansion {
 public:
  Expansion(const ir::Stage& s, std::string name) : s_(s), name_(std::move(name)) {}

  /// What the stage is now: its monomials' sums, times what none of their indices decides.
  ir::Expr run(const std::vector<Monomial>& monomials) {
    ir::Expr out;
    for (const Monomial& m : monomials) {
      ir::Expr term = summed(m);
      if (out) {
        out = make_binary(m.negative ? ir::Op::kSub : ir::Op::kAdd, out, term);
      } else {
        out = m.negative ? make_unary(ir::Op::kNeg, term) : term;
      }
    }
    return out;
  }

  std::vector<std::pair<ir::Stage, ir::Buffer>> made;

 private:
  ir::Expr summed(const Monomial& m) {
    std::vector<ir::Expr> inside, out;
    for (const ir::Expr& f : m.factors) {
      (mentions_any_of(f, s_.rvars) ? inside : out).push_back(f);
    }
    // Equal terms are one of them and their number.
    for (const ir::IndexVar& v : s_.rvars) {
      const bool decides = std::any_of(inside.begin(), inside.end(),
                                       [&](const ir::Expr& f) { return mentions_var(f, v.name); });
      if (!decides) out.push_back(make_cast(s_.accumulate, count_of(v)));
    }
    if (!inside.empty()) out.insert(out.begin(), sum_of(ir::product_of(inside)));
    return ir::product_of(out);
  }

  /// An element of a new stage that sums `value`.
  ir::Expr sum_of(ir::Expr value) {
    ir::Stage stage;
    ir::Buffer buffer;
    stage.name = stage.output = buffer.name =
        made.empty() ? name_ : name_ + "." + std::to_string(made.size());
    buffer.type = stage.accumulate = s_.accumulate;
    stage.reduce = ir::Reduce::kSum;
    for (const ir::IndexVar& v : s_.vars) {
      if (!mentions_var(value, v.name)) continue;
      stage.vars.push_back(v);
      stage.loops.push_back({v.name});
      stage.out_index.push_back(ir::make_var(v.name));
      buffer.shape.push_back(v.hi);
    }
    for (const ir::IndexVar& v : s_.rvars) {
      if (!mentions_var(value, v.name)) continue;
      stage.rvars.push_back(v);
      stage.loops.push_back({v.name});
    }
    stage.value = std::move(value);
    ir::Expr element = ir::make_load(buffer.name, buffer.type, stage.out_index);
    made.emplace_back(std::move(stage), std::move(buffer));
    return element;
  }

  const ir::Stage& s_;
  std::string name_;
};

Applied apply_expand(ir::Program p, const Step& step) {
  auto found = find_stage(p, step.name("stage"));
  if (!found) return found.failure();
  const ir::Stage s = p.stages[*found];
  std::string wrong = objection_expand(s);
  if (!wrong.empty()) return ir::Reject{std::move(wrong)};
  const std::vector<Monomial> monomials = multiplied_out(s.value);
  if (monomials.size() < 2) {
    return ir::Reject{"what stage " + s.name + " sums is neither a sum nor a product of sums"};
  }
  for (const ir::IndexVar& v : s.rvars) {
    wrong = pinned_loop(p, s, v.name);
    if (!wrong.empty()) return ir::Reject{std::move(wrong)};
  }
  Expansion expansion(s, step.name("partial"));
  const ir::Expr value = expansion.run(monomials);
  size_t at = *found;
  for (auto& [stage, buffer] : expansion.made) {
    wrong = taken_stage(p, stage.name);
    if (!wrong.empty()) return ir::Reject{std::move(wrong)};
    p.buffers.push_back(std::move(buffer));
    p.stages.insert(at++, std::move(stage));
  }
  ir::Stage& rest = p.stages.edit(at);
  for (const ir::IndexVar& v : s.rvars) {
    std::erase_if(rest.loops, [&](const ir::Loop& l) { return l.name == v.name; });
  }
  rest.rvars.clear();
  rest.prefetches.clear();
  rest.reduce = ir::Reduce::kNone;
  rest.value = ir::make_cast(p.buffer(rest.output)->type, value);
  return p;
}

}  // namespace

const StepRow kExpand = {
    "expand",
    {{Arg::kStage, "stage"}, {Arg::kWord, "->"}, {Arg::kNew, "partial"}},
    "Multiplies out what a stage sums, of integers. Each term that has reduced indices is a sum of "
    "its own, PARTIAL, PARTIAL.1, .., and the stage adds them up.\n"
    "Y[i] = sum[k]((A[i,k] - x)*(B[k] - y))  =>  expand Y -> p  =>  p[i] = sum[k](A[i,k]*B[k]); "
    "p.1[i] = sum[k](A[i,k]); p.2[] = sum[k](B[k]); Y[i] = p[i] - p.1[i]*y - p.2[]*x + x*y*K",
    apply_expand,
};

}  // namespace hone::schedules
