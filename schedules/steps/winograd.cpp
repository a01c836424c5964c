// SPDX-License-Identifier: Apache-2.0
//
// Sums of products along windows by fewer products: m results of k taps each need m + k - 1.
// Algorithms: those of Winograd, and of Toom and Cook. Along two indices the step is applied twice,
// the second time to the stage of the products.

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "jit/ir/product.h"
#include "schedules/steps/edit.h"
#include "schedules/steps/filtered_windows.h"
#include "schedules/steps/rows.h"
#include "schedules/steps/toom_cook.h"

namespace hone::schedules {
namespace {

using ir::Expr;
using Values = std::function<Expr(int64_t i)>;

Expr times(const Expr& value, int64_t factor) {
  return factor == 1 ? value : value * ir::make_float(static_cast<double>(factor), value->type);
}

/// The sum of values times factors; null where all of these are 0.
Expr sum_of(const std::vector<int64_t>& factors, const Values& value) {
  Expr out;
  for (const bool above : {true, false}) {
    for (size_t i = 0; i < factors.size(); ++i) {
      const int64_t factor = above ? factors[i] : -factors[i];
      if (factor <= 0) continue;
      const Expr term = times(value(static_cast<int64_t>(i)), factor);
      out = above ? (out ? out + term : term)
            : out ? out - term
                  : ir::make_unary(ir::Op::kNeg, term);
    }
  }
  return out;
}

/// The same in two halves: rows that differ in the signs at odd places share both.
Expr combined(const std::vector<int64_t>& factors, const Values& value) {
  std::vector<int64_t> even = factors, odd = factors;
  for (size_t i = 0; i < factors.size(); ++i) (i % 2 == 0 ? odd : even)[i] = 0;
  const Expr first = sum_of(even, value);
  const auto leading = std::find_if(odd.begin(), odd.end(), [](int64_t f) { return f != 0; });
  const bool negative = first && leading != odd.end() && *leading < 0;
  if (negative) {
    for (int64_t& f : odd) f = -f;
  }
  const Expr second = sum_of(odd, value);
  if (!first || !second) return first ? first : second;
  return negative ? first - second : first + second;
}

/// A result from the products `value`: those of opposite points are added, or subtracted, first.
Expr result_of(const std::vector<int64_t>& factors, const Values& value) {
  Expr out = factors[0] != 0 ? value(0) : Expr();
  const auto last = static_cast<int64_t>(factors.size()) - 1;
  for (int64_t u = 1; u < last; u += 2) {
    const int64_t c = factors[static_cast<size_t>(u)];
    Expr pair = value(u);
    if (u + 1 < last) {
      const bool same = factors[static_cast<size_t>(u + 1)] == c;
      pair = same ? pair + value(u + 1) : pair - value(u + 1);
    }
    out = out ? out + times(pair, c) : times(pair, c);
  }
  if (factors.back() != 0) out = out ? out + value(last) : value(last);
  return out;
}

/// `values[index]`.
Expr chosen(const Expr& index, const std::vector<Expr>& values) {
  Expr out = values.back();
  for (size_t i = values.size() - 1; i-- > 0;) {
    const auto here = ir::make_int(static_cast<int64_t>(i));
    out = ir::make_select(ir::make_binary(ir::Op::kEq, index, here), values[i], out);
  }
  return out;
}

/// `e` with loads that `var` moves made 0 outside their tensors.
Expr guarded(const Expr& e, const std::string& var) {
  return ir::rewrite(e, [&](const Expr& x) -> Expr {
    if (x->op != ir::Op::kLoad || x->guarded || !ir::mentions_var(x, var)) return {};
    return ir::make_load(x->name, x->type, x->args, ir::identity(ir::Reduce::kSum, x->type));
  });
}

/// The stages that compute neighbouring results of a stage together.
class Combination {
 public:
  Combination(const ir::Stage& stage, FilteredWindows windows, int64_t outputs)
      : s_(stage),
        windows_(std::move(windows)),
        outputs_(ir::make_int(outputs)),
        rows_(toom_cook(outputs, windows_.taps)) {
    const ir::Expr& extent = s_.var(windows_.result)->hi;
    const Expr last = outputs_ - ir::make_int(1);
    tile_ = {windows_.result, {}, ir::make_binary(ir::Op::kDiv, extent + last, outputs_)};
    int64_t known = 0;
    ragged_ = !ir::is_const(extent, &known) || known % outputs != 0;
    product_ = {windows_.reduced, {}, ir::make_int(static_cast<int64_t>(rows_.data.size()))};
  }

  ir::Stage data(const std::string& name) const {
    const std::string position = position_name(windows_.reduced);
    const Expr terms = ragged_ ? guarded(windows_.terms(), position) : windows_.terms();
    const Expr first = outputs_ * ir::make_var(tile_.name);
    std::vector<Expr> values;
    for (const auto& row : rows_.data) {
      values.push_back(combined(row, [&](int64_t i) {
        return accumulated(substitute(terms, {{position, first + ir::make_int(i)}}));
      }));
    }
    return stage(name, chosen(ir::make_var(product_.name), values), indices_of({terms}), {});
  }

  ir::Stage filter(const std::string& name) const {
    const Expr terms = ir::product_of(windows_.filter);
    std::vector<Expr> values;
    for (size_t u = 0; u < rows_.filter.size(); ++u) {
      const Expr sum = combined(rows_.filter[u], [&](int64_t i) {
        return accumulated(substitute(terms, {{windows_.reduced, ir::make_int(i)}}));
      });
      const double scale = 1.0 / static_cast<double>(rows_.divisors[u]);
      values.push_back(rows_.divisors[u] == 1 ? sum : sum * ir::make_float(scale, sum->type));
    }
    // Indices of results come last, as they do in the products.
    std::vector<ir::IndexVar> vars = indices_of(windows_.filter);
    std::stable_partition(vars.begin() + 1, vars.end(),
                          [&](const ir::IndexVar& v) { return s_.is_reduction_var(v.name); });
    return stage(name, chosen(ir::make_var(product_.name), values), std::move(vars), {});
  }

  ir::Stage products(const std::string& name, const ir::Stage& data,
                     const ir::Stage& filter) const {
    std::vector<ir::IndexVar> vars = {product_}, reduced;
    for (const ir::IndexVar& v : s_.vars) vars.push_back(v.name == tile_.name ? tile_ : v);
    // An index of the filter alone comes last: vectors along it read combinations as they lie.
    const auto mentions = [](const std::vector<Expr>& factors, const std::string& var) {
      return std::any_of(factors.begin(), factors.end(),
                         [&](const Expr& f) { return ir::mentions_var(f, var); });
    };
    std::stable_partition(vars.begin() + 1, vars.end(), [&](const ir::IndexVar& v) {
      return mentions(windows_.data, v.name) || !mentions(windows_.filter, v.name);
    });
    for (const ir::IndexVar& v : s_.rvars) {
      if (v.name != windows_.reduced) reduced.push_back(v);
    }
    std::map<std::string, Expr> positions;
    for (const Windows& w : windows_.windows) {
      positions[position_name(w.reduced)] = ir::make_int(w.stride) * ir::make_var(w.result) +
                                            ir::make_int(w.spacing) * ir::make_var(w.reduced);
    }
    std::vector<Expr> factors = {substitute(read(data), positions), read(filter)};
    for (const Expr& f : windows_.others) factors.push_back(accumulated(f));
    return stage(name, ir::product_of(factors), std::move(vars), std::move(reduced));
  }

  /// Makes `s` choose its results from `products`; `type`: of its tensor.
  void become_results(ir::Stage& s, const ir::Stage& products, DType type) const {
    const Expr at = ir::make_var(tile_.name);
    const Expr tile = ir::make_binary(ir::Op::kDiv, at, outputs_);
    std::vector<Expr> values;
    for (const auto& row : rows_.result) {
      values.push_back(result_of(row, [&](int64_t u) {
        return substitute(read(products), {{product_.name, ir::make_int(u)}, {tile_.name, tile}});
      }));
    }
    for (const ir::IndexVar& v : s.rvars) {
      std::erase_if(s.loops, [&](const ir::Loop& l) { return l.name == v.name; });
    }
    s.rvars.clear();
    s.prefetches.clear();
    s.reduce = ir::Reduce::kNone;
    gather_results(s.loops);
    const Expr remainder = ir::make_binary(ir::Op::kMod, at, outputs_);
    s.value = ir::make_cast(type, chosen(remainder, values));
  }

 private:
  Expr accumulated(Expr e) const { return ir::make_cast(s_.accumulate, std::move(e)); }

  static Expr read(const ir::Stage& made) {
    return ir::make_load(made.output, made.accumulate, made.out_index);
  }

  /// The product's index, then those of `factors` in the order of the text: neighbours in memory
  /// stay neighbours.
  std::vector<ir::IndexVar> indices_of(const std::vector<Expr>& factors) const {
    std::vector<ir::IndexVar> out = {product_};
    std::set<std::string> seen = {windows_.reduced};
    for (const Expr& f : factors) {
      ir::visit(f, [&](const Expr& e) {
        if (e->op == ir::Op::kVar && seen.insert(e->name).second) out.push_back(index_of(e->name));
      });
    }
    return out;
  }

  /// An index of `s`, of tiles or of positions.
  ir::IndexVar index_of(const std::string& name) const {
    if (name == position_name(windows_.reduced)) return tile_;
    for (const Windows& w : windows_.windows) {
      if (name == position_name(w.reduced)) return {name, {}, w.positions};
    }
    return {name, {}, s_.var(name)->hi};
  }

  ir::Stage stage(const std::string& name, Expr value, std::vector<ir::IndexVar> vars,
                  std::vector<ir::IndexVar> reduced) const {
    ir::Stage out;
    out.name = out.output = name;
    out.vars = std::move(vars);
    out.rvars = std::move(reduced);
    out.reduce = out.rvars.empty() ? ir::Reduce::kNone : ir::Reduce::kSum;
    out.accumulate = s_.accumulate;
    out.value = std::move(value);
    for (const ir::IndexVar& v : out.vars) {
      out.out_index.push_back(ir::make_var(v.name));
      out.loops.push_back({v.name});
    }
    for (const ir::IndexVar& v : out.rvars) out.loops.push_back({v.name});
    return out;
  }

  const ir::Stage s_;
  const FilteredWindows windows_;
  const Expr outputs_;
  const ToomCook rows_;
  ir::IndexVar tile_, product_;
  bool ragged_ = false;
};

/// Why results cannot be combined by this number; empty where they can.
std::string objection_count(int64_t outputs, int64_t taps) {
  if (outputs >= 2 && taps >= 2 && outputs + taps - 1 <= kMostProducts) return {};
  return std::to_string(outputs) + " results of " + std::to_string(taps) + " taps need " +
         std::to_string(outputs + taps - 1) +
         " products; two results or more, of two taps or more, are combined of up to " +
         std::to_string(kMostProducts);
}

/// Why `s` cannot become what is read of the stages `names`; empty where it can.
std::string objection_names(const ir::Program& p, const ir::Stage& s,
                            const std::vector<std::string>& names) {
  std::string wrong;
  for (const ir::Loop& l : s.loops) {
    if (wrong.empty()) wrong = pinned_loop(p, s, l.name);
  }
  for (const ir::IndexVar& v : s.rvars) {
    if (wrong.empty()) wrong = taken_loop(s, position_name(v.name));
  }
  for (const std::string& name : names) {
    if (wrong.empty()) wrong = taken_stage(p, name);
  }
  const bool twice = std::set<std::string>(names.begin(), names.end()).size() < names.size();
  return wrong.empty() && twice ? "two of the new stages have one name" : wrong;
}

Applied apply_winograd(ir::Program p, const Step& step) {
  auto at = find_loop(p, step.name("loop"));
  if (!at) return at.failure();
  ir::Stage& s = p.stages.edit(at->stage);
  const int64_t outputs = step.number("outputs");
  FilteredWindows windows = filtered_windows(p, s, s.loops[at->loop].name);
  const std::vector<std::string> names = {step.name("data"), step.name("filter"),
                                          step.name("products")};
  std::string wrong = windows.wrong;
  if (wrong.empty()) wrong = objection_count(outputs, windows.taps);
  if (wrong.empty()) wrong = objection_names(p, s, names);
  if (!wrong.empty()) return ir::Reject{std::move(wrong)};

  const std::string rule = "winograd(" + windows.reduced + "/" + std::to_string(outputs);
  const Combination made(s, std::move(windows), outputs);
  const ir::Stage data = made.data(names[0]), filter = made.filter(names[1]);
  const ir::Stage products = made.products(names[2], data, filter);
  made.become_results(s, products, p.buffer(s.output)->type);
  p.transformed.push_back({s.name, data.name, filter.name, products.name, rule});
  size_t place = at->stage;
  for (const ir::Stage& stage : {data, filter, products}) {
    ir::Buffer buffer;
    buffer.name = stage.output;
    buffer.type = stage.accumulate;
    for (const ir::IndexVar& v : stage.vars) buffer.shape.push_back(v.hi);
    p.buffers.push_back(std::move(buffer));
    p.stages.insert(place++, stage);
  }
  return p;
}

}  // namespace

const StepRow kWinograd = {
    "winograd",
    {{Arg::kLoop, "loop"},
     {Arg::kNumber, "outputs"},
     {Arg::kWord, "->"},
     {Arg::kNew, "data"},
     {Arg::kNew, "filter"},
     {Arg::kNew, "products"}},
    "Computes OUTPUTS neighbouring results of a sum of products over windows from OUTPUTS + taps - "
    "1 products each. New stages combine the data and the filter, and multiply them.\n"
    "Y[i] = sum[c,r](X[c,i+r]*F[c,r])  =>  winograd Y/r 2 -> d g m  =>  m[r,i] = sum[c](d[r,c,i]*"
    "g[r,c]); Y[i] = m[0,i/2] + (m[1,i/2] + m[2,i/2]) for even i",
    apply_winograd,
};

}  // namespace hone::schedules
