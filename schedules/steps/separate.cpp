// SPDX-License-Identifier: Apache-2.0
#include "schedules/steps/separate.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "jit/ir/poly.h"
#include "schedules/steps/edit.h"
#include "schedules/steps/factor.h"
#include "schedules/steps/rows.h"

namespace hone::schedules {
namespace {

/// Finds the windows of a stage, and writes its terms by positions.
class WindowFinder {
 public:
  WindowFinder(const ir::Stage& stage, const std::string& reduced, const std::string& position)
      : s_(stage), position_(ir::make_var(position)) {
    out_.reduced = reduced;
  }

  Windows run() {
    find(s_.value);
    if (out_.result.empty()) {
      out_.wrong = "no index of the result moves windows along " + out_.reduced;
      return std::move(out_);
    }
    out_.value = by_position(s_.value);
    for (const std::string& var : {out_.result, out_.reduced}) {
      if (out_.wrong.empty() && mentions_var(out_.value, var)) {
        out_.wrong = "terms of " + s_.name + " take more of " + out_.result + " and " +
                     out_.reduced + " than one sum of them";
      }
      for (const ir::IndexVar& v : s_.rvars) check_range(v, var);
    }
    return std::move(out_);
  }

 private:
  static bool is_index(const ir::Expr& e) { return e->type == DType::kI64; }

  /// What is reduced at a position alone has one range there.
  void check_range(const ir::IndexVar& v, const std::string& var) {
    if (!out_.wrong.empty() || v.name == out_.reduced) return;
    if (!mentions_var(v.hi, var) && !(v.lo && mentions_var(v.lo, var))) return;
    out_.wrong = "the range of " + v.name + " depends on " + var + ", along which windows move";
  }

  /// Takes result and stride from the first index that has the reduced one beside one of the
  /// result.
  void find(const ir::Expr& e) {
    if (!out_.result.empty()) return;
    if (is_index(e)) {
      const ir::Poly p = ir::Poly::of(e);
      const auto own = p.var_coef(out_.reduced);
      for (const ir::IndexVar& v : s_.vars) {
        const auto beside = p.var_coef(v.name);
        if (!own || !beside || *own <= 0 || *beside <= 0) continue;
        const int64_t common = std::gcd(*own, *beside);
        out_.result = v.name;
        out_.stride = *beside / common;
        out_.spacing = *own / common;
        return;
      }
    }
    for (const ir::Expr& a : e->args) find(a);
  }

  /// `e` with the position in place of the two indices, wherever that says the same.
  ir::Expr by_position(const ir::Expr& e) const {
    return ir::rewrite(e, [&](const ir::Expr& x) -> ir::Expr {
      if (!is_index(x)) return {};
      ir::Poly p = ir::Poly::of(x);
      const auto a = p.var_coef(out_.result), b = p.var_coef(out_.reduced);
      if (!a || !b || (*a == 0 && *b == 0)) return {};
      const int64_t times = *a / out_.stride;
      if (times * out_.stride != *a || times * out_.spacing != *b) return {};
      p -= ir::Poly::atom(ir::make_var(out_.result)) * *a;
      p -= ir::Poly::atom(ir::make_var(out_.reduced)) * *b;
      p += ir::Poly::atom(position_) * times;
      return p.expr();
    });
  }

  const ir::Stage& s_;
  ir::Expr position_;
  Windows out_;
};

/// Why the reduction of `s` cannot be separated; empty when it can.
std::string objection_separate(const ir::Stage& s, const std::string& reduced) {
  if (s.reduce == ir::Reduce::kNone) return "stage " + s.name + " is not a reduction";
  if (!s.relations.empty() || !s.factored.empty() || !s.at.root()) {
    return "stage " + s.name + " is scheduled already; separate it first";
  }
  if (!s.is_reduction_var(reduced)) return "stage " + s.name + " does not reduce " + reduced;
  if (s.rvars.size() < 2) return reduced + " is all that stage " + s.name + " reduces";
  if (reads(s, s.output)) return "stage " + s.name + " reads " + s.output + ", which it writes";
  if (s.from_old) return "stage " + s.name + " goes on from what " + s.output + " holds";
  if (s.where && mentions_any(s.where, s.rvars)) {
    return "`where` says which terms of " + s.name + " there are";
  }
  return no_partial_results(s);
}

/// Why the range of `v` has no positions; empty when it has.
std::string objection_range(const ir::Program& program, const ir::Stage& s, const ir::IndexVar& v) {
  if (v.lo || !is_size(v.hi)) {
    return "the range of " + v.name +
           " does not start at 0, or depends on data or on another index";
  }
  return surely_has_values(program, s, v) ? "" : "the range of " + v.name + " may be empty";
}

Applied apply_separate(ir::Program p, const Step& step) {
  auto at = find_loop(p, step.name("loop"));
  if (!at) return at.failure();
  ir::Stage& s = p.stages.edit(at->stage);
  const std::string name = step.name("partial"), reduced = s.loops[at->loop].name;
  std::string wrong = objection_separate(s, reduced);
  if (!wrong.empty()) return ir::Reject{std::move(wrong)};
  const std::string position = reduced + ".x";
  const Windows windows = windows_along(p, s, reduced, position);
  wrong = windows.wrong;
  if (wrong.empty() && s.where && mentions_var(s.where, windows.result)) {
    wrong = "`where` depends on " + windows.result + ", along which windows move";
  }
  for (const ir::IndexVar& v : s.rvars) {
    if (wrong.empty()) wrong = pinned_loop(p, s, v.name);
  }
  if (wrong.empty()) wrong = taken_loop(s, position);
  if (wrong.empty()) wrong = taken_stage(p, name);
  if (!wrong.empty()) return ir::Reject{std::move(wrong)};

  ir::Stage made = s;
  made.name = made.output = name;
  made.value = windows.value;
  made.out_index.clear();
  made.prefetches.clear();
  std::erase_if(made.rvars, [&](const ir::IndexVar& v) { return v.name == reduced; });
  ir::Buffer partial;
  partial.name = name;
  partial.type = s.accumulate;
  std::vector<ir::Expr> read;
  for (ir::IndexVar& v : made.vars) {
    if (v.name == windows.result) {
      const ir::Poly at = ir::Poly::atom(ir::make_var(v.name)) * windows.stride +
                          ir::Poly::atom(ir::make_var(reduced)) * windows.spacing;
      read.push_back(at.expr());
      v = {position, {}, windows.positions};
    } else {
      read.push_back(ir::make_var(v.name));
    }
    made.out_index.push_back(ir::make_var(v.name));
    partial.shape.push_back(v.hi);
  }
  made.loops.clear();
  for (const auto* list : {&made.vars, &made.rvars}) {
    for (const ir::IndexVar& v : *list) made.loops.push_back({v.name});
  }
  for (const ir::IndexVar& v : made.rvars) {
    std::erase_if(s.loops, [&](const ir::Loop& l) { return l.name == v.name; });
  }
  std::erase_if(s.rvars, [&](const ir::IndexVar& v) { return v.name != reduced; });
  gather_results(s.loops);
  s.prefetches.clear();
  s.value = ir::make_load(name, partial.type, std::move(read));
  p.buffers.push_back(std::move(partial));
  p.stages.insert(at->stage, std::move(made));
  return p;
}

}  // namespace

Windows windows_along(const ir::Program& program, const ir::Stage& stage,
                      const std::string& reduced, const std::string& position) {
  Windows out = WindowFinder(stage, reduced, position).run();
  if (!out.wrong.empty()) return out;
  const ir::IndexVar &w = *stage.var(out.result), &q = *stage.var(reduced);
  out.wrong = objection_range(program, stage, w);
  if (out.wrong.empty()) out.wrong = objection_range(program, stage, q);
  if (!out.wrong.empty()) return out;
  const ir::Poly last =
      (ir::Poly::of(w.hi) - 1) * out.stride + (ir::Poly::of(q.hi) - 1) * out.spacing;
  out.positions = (last + 1).expr();
  return out;
}

const StepRow kSeparate = {
    "separate",
    {{Arg::kLoop, "loop"}, {Arg::kWord, "->"}, {Arg::kNew, "partial"}},
    "Splits a reduction over windows in two: a new stage reduces all other indices at each "
    "position "
    "of the windows along LOOP, the old one reduces those.\n"
    "Y[h,w] = max[r,q](X[h+r, 2*w+q])  =>  separate Y/q -> t  =>  t[h,x] = max[r](X[h+r, x]); "
    "Y[h,w] = max[q](t[h, 2*w+q])",
    apply_separate,
};

}  // namespace hone::schedules
