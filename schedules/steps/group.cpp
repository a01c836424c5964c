// SPDX-License-Identifier: Apache-2.0
#include <limits>
#include <utility>

#include "jit/ir/facts.h"
#include "jit/ir/scatter.h"
#include "jit/ir/so_far.h"
#include "schedules/steps/edit.h"
#include "schedules/steps/rows.h"

namespace hone::schedules {
namespace {

using ir::Expr;

/// Places and counts of terms. Fixed by: they fit, or the step does not apply.
constexpr DType kPlace = DType::kI32;

/// A number that `e` does not exceed, whatever the dims; the greatest there is where none is known.
int64_t most_of(const ir::Program& p, const Expr& e) {
  ir::Facts facts;
  for (const ir::Dim& d : p.dims) facts.define_dim(d.name, d.lo, d.hi);
  return facts.upper(ir::Poly::of(e, &facts)).value_or(std::numeric_limits<int64_t>::max());
}

/// Why the terms of `s` cannot be put in the order of `var`; empty when they can.
std::string objection_group(const ir::Program& p, const ir::Stage& s, const std::string& var) {
  const Expr at = ir::scattered_to(s, var);
  if (!at) {
    return "terms of stage " + s.name + " do not tell where along " + var +
           " they go; group an index of `where " + var + " == ...`";
  }
  if (!s.relations.empty() || !s.factored.empty() || !s.at.root()) {
    return "stage " + s.name + " is scheduled already; group it first";
  }
  if (s.reduce == ir::Reduce::kLast) {
    return "of stage " + s.name + " the last term stays, and no other is worth a place";
  }
  if (s.rvars.size() != 1) return "terms of stage " + s.name + " have several indices";
  const ir::IndexVar& n = s.rvars[0];
  if (ir::where_of_terms(s)) return "`where` says which terms of " + s.name + " there are";
  if (ir::scattered_vars(s).size() != 1) {
    return "terms of stage " + s.name + " tell several indices of their element";
  }
  if (mentions_any(at, s.vars)) return "where terms go depends on another index of " + s.output;
  if (n.lo || !is_size(n.hi) || s.var(var)->lo || !is_size(s.var(var)->hi)) {
    return "the range of " + n.name + " or " + var + " does not start at 0, or depends on data";
  }
  if (most_of(p, n.hi) > std::numeric_limits<int32_t>::max()) {
    return "terms of stage " + s.name + " may be more than 32 bits count";
  }
  if (reads(s, s.output)) return "stage " + s.name + " reads " + s.output + ", which it writes";
  return pinned_loop(p, s, n.name);
}

/// The stages of a counting sort of a scatter's terms by the element they go to.
class CountingSort {
 public:
  CountingSort(const ir::Stage& s, const std::string& var, const std::string& name)
      : var_(*s.var(var)), terms_(s.rvars[0]), to_(ir::scattered_to(s, var)), name_(name) {}

  std::string count() const { return name_ + ".count"; }
  std::string before() const { return name_ + ".before"; }
  std::string start() const { return name_ + ".start"; }
  const std::string& order() const { return name_; }

  /// The stages in their order, with what each writes.
  std::vector<std::pair<ir::Stage, ir::Buffer>> made() const {
    ir::Stage counting = counts();
    ir::Stage earlier = earlier_terms(counting);
    std::vector<std::pair<ir::Stage, ir::Buffer>> out;
    out.push_back(with_buffer(std::move(earlier), terms_.hi));
    out.push_back(with_buffer(std::move(counting), var_.hi));
    out.push_back(with_buffer(starts(), var_.hi + ir::make_int(1)));
    out.push_back(with_buffer(places(), terms_.hi));
    return out;
  }

 private:
  static ir::Stage stage(std::string name, const ir::IndexVar& var) {
    ir::Stage s;
    s.name = s.output = std::move(name);
    s.vars = {var};
    s.out_index = {ir::make_var(var.name)};
    s.accumulate = kPlace;
    s.loops = {{var.name}};
    return s;
  }

  static void reduce(ir::Stage& s, ir::Reduce how, const ir::IndexVar& over) {
    s.reduce = how;
    s.rvars = {over};
    s.loops.push_back({over.name});
  }

  static std::pair<ir::Stage, ir::Buffer> with_buffer(ir::Stage s, Expr extent) {
    ir::Buffer b;
    b.name = s.output;
    b.type = kPlace;
    b.shape = {std::move(extent)};
    return {std::move(s), std::move(b)};
  }

  /// count[v] += 1 for each term that goes to v.
  ir::Stage counts() const {
    ir::Stage s = stage(count(), var_);
    reduce(s, ir::Reduce::kSum, terms_);
    s.value = ir::make_int(1, kPlace);
    s.where = make_binary(ir::Op::kEq, ir::make_var(var_.name), to_);
    s.loops[0].mark = ir::Mark::kScatter;
    return s;
  }

  /// before[n]: how many of the terms before n go where n goes, which the counts so far say.
  ir::Stage earlier_terms(const ir::Stage& counting) const {
    const std::string earlier = terms_.name + ".earlier";
    ir::Stage s = stage(before(), terms_);
    reduce(s, ir::Reduce::kSum, {earlier, {}, ir::make_var(terms_.name)});
    s.value = ir::make_int(1, kPlace);
    s.where = same_element(counting, ir::make_var(earlier), ir::make_var(terms_.name));
    s.at = {counting.name, terms_.name};
    return s;
  }

  /// start[v]: how many terms go to elements before v.
  ir::Stage starts() const {
    ir::Stage s = stage(start(), {var_.name, {}, var_.hi + ir::make_int(1)});
    const Expr last = ir::make_var(var_.name) - ir::make_int(1);
    s.value = ir::make_load(start(), kPlace, {last}, ir::make_int(0, kPlace)) +
              ir::make_load(count(), kPlace, {last}, ir::make_int(0, kPlace));
    return s;
  }

  /// order[start[to] + before[n]] = n; a term that goes nowhere has no place.
  ir::Stage places() const {
    const std::string place = terms_.name + ".place";
    ir::Stage s = stage(order(), {place, {}, terms_.hi});
    reduce(s, ir::Reduce::kLast, terms_);
    const Expr n = ir::make_var(terms_.name);
    s.value = make_cast(kPlace, n);
    const Expr first = ir::make_load(start(), kPlace, {to_}, make_cast(kPlace, terms_.hi));
    s.where = make_binary(ir::Op::kEq, ir::make_var(place),
                          make_cast(DType::kI64, first) +
                              make_cast(DType::kI64, ir::make_load(before(), kPlace, {n})));
    s.loops[0].mark = ir::Mark::kScatter;
    return s;
  }

  const ir::IndexVar var_, terms_;
  const Expr to_;  ///< the element that a term goes to
  const std::string name_;
};

Applied apply_group(ir::Program p, const Step& step) {
  auto at = find_loop(p, step.name("loop"));
  if (!at) return at.failure();
  const ir::Stage s = p.stages[at->stage];
  const std::string var = s.loops[at->loop].name;
  std::string wrong = objection_group(p, s, var);
  if (!wrong.empty()) return ir::Reject{std::move(wrong)};
  const CountingSort sort(s, var, step.name("order"));
  size_t place = at->stage;
  for (auto& [stage, buffer] : sort.made()) {
    wrong = taken_stage(p, stage.name);
    if (!wrong.empty()) return ir::Reject{std::move(wrong)};
    p.buffers.push_back(std::move(buffer));
    p.stages.insert(place++, std::move(stage));
  }
  // The terms of each element follow one another, in the order in which they came.
  ir::Stage& grouped = p.stages.edit(place);
  ir::IndexVar& n = grouped.rvars[0];
  const Expr v = ir::make_var(var), count = n.hi;
  const auto start_of = [&](const Expr& element) {
    return make_cast(DType::kI64, ir::make_load(sort.start(), kPlace, {element}));
  };
  n.lo = make_binary(ir::Op::kMax, ir::make_int(0), start_of(v));
  n.hi = make_binary(ir::Op::kMin, count, start_of(v + ir::make_int(1)));
  const Expr term = ir::make_load(sort.order(), kPlace, {ir::make_var(n.name)});
  grouped.value = substitute(grouped.value, {{n.name, make_cast(DType::kI64, term)}});
  grouped.where = {};
  gather_results(grouped.loops);
  return p;
}

}  // namespace

const StepRow kGroup = {
    "group",
    {{Arg::kLoop, "loop"}, {Arg::kWord, "->"}, {Arg::kNew, "order"}},
    "Puts the terms of a scatter in the order of an index that they tell, by a counting sort. Each "
    "element then reduces its own terms, which stay in their order. ORDER says which term stands "
    "where, ORDER.start where those of an element begin.\n"
    "for r: for n: if r == ids[n]: Y[r] += V[n]  =>  group r -> o  =>  for r: for n in "
    "o.start[r]..o.start[r+1]: Y[r] += V[o[n]]",
    apply_group,
};

}  // namespace hone::schedules
