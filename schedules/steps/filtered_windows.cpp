// SPDX-License-Identifier: Apache-2.0
#include "schedules/steps/filtered_windows.h"

#include <algorithm>
#include <utility>

#include "jit/ir/product.h"
#include "schedules/steps/edit.h"

namespace hone::schedules {
namespace {

using ir::Expr;

/// Why the sum of `s` cannot be computed from other products; empty when it can.
std::string objection_stage(const ir::Program& p, const ir::Stage& s, const std::string& reduced) {
  if (!p.normwise) {
    return "its errors would be small beside the largest elements alone, which the problem does "
           "not admit; `numerics=normwise` does";
  }
  if (s.reduce != ir::Reduce::kSum || !ir::sums_products(s)) {
    return "stage " + s.name + " is not a sum of products";
  }
  if (s.accumulate != DType::kF32 && s.accumulate != DType::kF64) {
    return "stage " + s.name + " sums " + std::string(name_of(s.accumulate)) + ", not f32 or f64";
  }
  if (!s.relations.empty() || !s.factored.empty() || !s.at.root()) {
    return "stage " + s.name + " is scheduled already; combine its results first";
  }
  if (!s.is_reduction_var(reduced)) return "stage " + s.name + " does not reduce " + reduced;
  if (reads(s, s.output)) return "stage " + s.name + " reads " + s.output + ", which it writes";
  if (s.from_old) return "stage " + s.name + " goes on from what " + s.output + " holds";
  if (s.where) return "`where` says which results of stage " + s.name + " there are";
  return no_partial_results(s);
}

/// Why the indices of `s` are none of tensors; empty where they are.
std::string objection_ranges(const ir::Stage& s) {
  for (const auto* list : {&s.vars, &s.rvars}) {
    for (const ir::IndexVar& v : *list) {
      if (v.lo || !is_size(v.hi)) {
        return "the range of " + v.name +
               " does not start at 0, or depends on data or on another index";
      }
    }
  }
  return {};
}

/// The index along which a factor's windows move; empty where none does.
std::string moving_index(const ir::Program& p, const ir::Stage& s, const std::string& reduced) {
  for (const Expr& f : ir::product_factors(s.value)) {
    ir::Stage one = s;
    one.value = f;
    if (!ir::mentions_var(f, reduced)) continue;
    const std::string found = windows_along(p, one, reduced, position_name(reduced)).result;
    if (!found.empty()) return found;
  }
  return {};
}

/// Tells the factors of `s` apart; why that cannot be, or nothing.
std::string find_factors(const ir::Stage& s, FilteredWindows& out) {
  for (const Expr& f : ir::product_factors(s.value)) {
    const bool moves = ir::mentions_var(f, out.result);
    if (!ir::mentions_var(f, out.reduced)) {
      if (moves) return "a factor differs with " + out.result + " alone";
      out.others.push_back(f);
    } else {
      (moves ? out.data : out.filter).push_back(f);
    }
  }
  return out.filter.empty() ? "no factor differs inside a window alone" : "";
}

/// Finds the windows of the data; why there are none to combine, or nothing.
std::string find_windows(const ir::Program& p, const ir::Stage& s, FilteredWindows& out) {
  ir::Stage data = s;
  data.value = ir::product_of(out.data);
  out.windows = {windows_along(p, data, out.reduced, position_name(out.reduced))};
  if (!out.windows[0].wrong.empty()) return out.windows[0].wrong;
  if (out.windows[0].stride != 1 || out.windows[0].spacing != 1) {
    return "windows along " + out.reduced + " do not move by 1, or have gaps";
  }
  for (const ir::IndexVar& v : s.rvars) {
    if (v.name == out.reduced) continue;
    data.value = out.terms();
    Windows other = windows_along(p, data, v.name, position_name(v.name));
    if (other.wrong.empty()) out.windows.push_back(std::move(other));
  }
  return {};
}

FilteredWindows found_in(const ir::Program& p, const ir::Stage& s, FilteredWindows out) {
  out.result = moving_index(p, s, out.reduced);
  if (out.result.empty()) {
    out.wrong = "no index of the result moves windows along " + out.reduced;
    return out;
  }
  out.wrong = find_factors(s, out);
  if (out.wrong.empty()) out.wrong = find_windows(p, s, out);
  return out;
}

}  // namespace

std::string position_name(const std::string& reduced) { return reduced + ".x"; }

FilteredWindows filtered_windows(const ir::Program& program, const ir::Stage& stage,
                                 const std::string& reduced) {
  FilteredWindows out;
  out.reduced = reduced;
  out.wrong = objection_stage(program, stage, reduced);
  if (out.wrong.empty()) out.wrong = objection_ranges(stage);
  if (!out.wrong.empty()) return out;
  if (!ir::is_const(stage.var(reduced)->hi, &out.taps)) {
    out.wrong = "how many values " + reduced + " has is known at the call alone";
    return out;
  }
  FilteredWindows forwards = found_in(program, stage, out);
  if (forwards.wrong.empty()) return forwards;
  ir::Stage turned = stage;
  const Expr other = ir::make_int(out.taps - 1) - ir::make_var(reduced);
  turned.value = substitute(stage.value, {{reduced, other}});
  // Windows may move against their terms: these are taken the other way round.
  FilteredWindows backwards = found_in(program, turned, out);
  return backwards.wrong.empty() ? backwards : forwards;
}

}  // namespace hone::schedules
