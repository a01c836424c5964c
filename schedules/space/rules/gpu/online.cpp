// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include "jit/ir/poly.h"
#include "schedules/space/analysis/gpu.h"
#include "schedules/space/analysis/gpu_gemm.h"
#include "schedules/space/analysis/shape.h"
#include "schedules/space/rules/rule.h"
#include "schedules/steps/edit.h"
#include "schedules/steps/rescaled.h"

namespace hone::schedules {
namespace {

/// Rows of an instruction, its warps, lanes that hold a row, and bytes of a swizzled row.
/// Fixed by: wgmma.
constexpr int64_t kTileRows = 64, kTileWarps = 4, kRowLanes = 4, kSwizzledBytes = 128;
/// Warpgroups of a block, and terms of a part.
/// Tuned on: no GPU; reckoned for an H200's registers.
constexpr int64_t kWarpgroups = 2, kPartTerms = 128;
/// Columns of results that registers hold twice, beside a part's terms.
/// Tuned on: no GPU; reckoned for an H200's registers.
constexpr int64_t kMostColumns = 128;
/// Parts that are in shared memory at a time.
/// Tuned on: no GPU; reckoned for an H200.
constexpr int64_t kPartsAhead = 2;
/// Products whose blocks run side by side, so that what they read stays in the second-level cache.
/// Tuned on: an H200, 128 products of 2048x2048x128 bf16: 426 us, one product at a time 434.
constexpr int64_t kProductsTogether = 16;

/// A factor of a product, and the dims of its tensor along a side and along what is summed.
struct FactorSide {
  ir::Expr load;
  std::string row, term;
};

/// A max reduction of a product's rows, the sums that depend on it, and the second product.
struct OnlineRows {
  std::string name;               ///< the stage that stores the results
  std::string scores;             ///< the first product
  std::string max;                ///< its rows' greatest
  std::string weights;            ///< terms of the second product's first factor
  std::string product;            ///< the second product
  std::vector<std::string> sums;  ///< of rows
  const ir::Instruction *first = nullptr, *second = nullptr;
  std::string row;                                 ///< the results' variable
  std::string column;                              ///< and the one along memory
  std::vector<std::string> others;                 ///< of them
  std::string score_row, score_column, score_sum;  ///< in variables of the first product
  std::string weight_row, product_row, product_column, max_row;
  std::map<std::string, std::string> sum_rows;
  FactorSide query, key, value;
};

/// The variable of the stage that makes what `load` reads, along the dim that `var` indexes.
std::string own_var(const ir::Stage& made, const ir::Expr& load, const std::string& var) {
  const int d = ir::dim_along(load->args, var);
  if (d < 0 || made.out_index[static_cast<size_t>(d)]->op != ir::Op::kVar) return {};
  return made.out_index[static_cast<size_t>(d)]->name;
}

/// The one load of a temporary that a reduction makes; null where there are others.
ir::Expr only_reduced(const Plan& plan, const ir::Stage& s) {
  ir::Expr found;
  bool several = false;
  ir::visit(s.value, [&](const ir::Expr& e) {
    if (e->op != ir::Op::kLoad) return;
    const ir::Stage* made = plan.program().producer(e->name);
    several |= !made || made->reduce != ir::Reduce::kSum || (found && !equal(found, e));
    found = e;
  });
  return several ? ir::Expr() : found;
}

/// Finds the max reduction that the sums which `name` reads depend on.
bool find_rows(Plan& plan, const std::string& name, OnlineRows& r) {
  const ir::Program& p = plan.program();
  const ir::Stage& root = plan.stage(name);
  if (!root.at.root() || root.reduce != ir::Reduce::kNone) {
    return plan.declines("it is no stage at the root that reduces nothing");
  }
  r.name = name;
  std::set<std::string> read;
  ir::visit(root.value, [&](const ir::Expr& e) {
    if (e->op == ir::Op::kLoad) read.insert(e->name);
  });
  for (size_t at = 0; at < p.stages.size(); ++at) {
    const ir::Stage& max = p.stages[at];
    if (max.reduce != ir::Reduce::kMax || max.rvars.size() != 1) continue;
    const Dependents all = dependents_of(p, at, max.rvars[0].name);
    r.sums.clear();
    r.product.clear();
    bool fits = all.factors.size() == 1;
    for (const Dependent& d : all.sums) {
      const ir::Stage& s = p.stages[d.stage];
      fits = fits && read.contains(s.output) && s.vars.size() <= max.vars.size() + 1;
      if (s.vars.size() == max.vars.size()) {
        r.sums.push_back(s.name);
      } else {
        fits = fits && r.product.empty();
        r.product = s.name;
      }
    }
    if (!fits || r.product.empty()) continue;
    r.max = max.name;
    r.weights = p.stages[all.factors[0].stage].name;
    return true;
  }
  return plan.declines("no max reduction decides the terms of a product that it reads");
}

/// The variables along rows and columns in all stages.
bool find_variables(Plan& plan, OnlineRows& r) {
  const ir::Stage max = plan.stage(r.max), product = plan.stage(r.product);
  const ir::Stage weights = plan.stage(r.weights), root = plan.stage(r.name);
  const ir::Expr scores = only_reduced(plan, max);
  if (!scores) return plan.declines(r.max + " reduces more than the results of one sum");
  const ir::Stage made = *plan.program().producer(scores->name);
  r.scores = made.name;
  r.first = wgmma_instruction_for(made, plan.target());
  r.second = wgmma_instruction_for(product, plan.target());
  if (!r.first || !r.second) return plan.declines("the target has no wgmma for both products");
  if (readers_of(plan.program(), made.output).size() != r.sums.size() + 2) {
    return plan.declines("others read " + made.output + " as well");
  }
  const Factors f = factors_of(made), g = factors_of(product);
  if (made.rvars.size() != 1 || product.rvars.size() != 1) {
    return plan.declines("a product sums over several indices");
  }
  r.score_sum = made.rvars[0].name;
  r.score_column = own_var(made, scores, max.rvars[0].name);
  const bool swapped = ir::mentions_var(f.a, r.score_column);
  r.query.load = swapped ? f.b : f.a;
  r.key.load = swapped ? f.a : f.b;
  const bool second_swapped = g.b->name == weights.output;
  const ir::Expr weight = second_swapped ? g.b : g.a;
  r.value.load = second_swapped ? g.a : g.b;
  for (const ir::IndexVar& v : max.vars) {
    const std::string own = own_var(made, scores, v.name);
    if (own.empty() || !ir::mentions_var(r.query.load, own)) continue;
    if (!ir::mentions_var(r.key.load, own)) r.max_row = v.name, r.score_row = own;
  }
  if (r.max_row.empty() || r.score_column.empty()) {
    return plan.declines("no index of the rows is of one factor alone");
  }
  if (max.vars.back().name != r.max_row && max.where) {
    return plan.declines("the rows' index is not the last of " + r.max);
  }
  ir::visit(weights.value, [&](const ir::Expr& e) {
    if (e->op != ir::Op::kLoad || e->name != max.output) return;
    for (size_t d = 0; d < max.out_index.size(); ++d) {
      if (max.out_index[d]->name == r.max_row && e->args[d]->op == ir::Op::kVar) {
        r.weight_row = e->args[d]->name;
      }
    }
  });
  for (const ir::IndexVar& v : product.vars) {
    if (own_var(weights, weight, v.name) == r.weight_row) r.product_row = v.name;
    if (!ir::mentions_var(weight, v.name)) r.product_column = v.name;
  }
  ir::visit(root.value, [&](const ir::Expr& e) {
    if (e->op != ir::Op::kLoad || e->name != product.output) return;
    for (const ir::IndexVar& v : root.vars) {
      const std::string own = own_var(product, e, v.name);
      if (own == r.product_row) r.row = v.name;
      if (own == r.product_column) r.column = v.name;
    }
  });
  for (const std::string& sum : r.sums) {
    ir::visit(root.value, [&](const ir::Expr& e) {
      if (e->op != ir::Op::kLoad || e->name != plan.stage(sum).output) return;
      r.sum_rows[sum] = own_var(plan.stage(sum), e, r.row);
    });
    if (r.sum_rows[sum].empty()) return plan.declines(sum + " is not read row by row");
  }
  if (r.row.empty() || r.column.empty()) {
    return plan.declines("it does not read " + r.product + " element by element");
  }
  for (const ir::IndexVar& v : root.vars) {
    if (v.name != r.row && v.name != r.column) r.others.push_back(v.name);
  }
  return true;
}

/// Whether tensors lie as TMA and the instructions take them. Neighbours are along what the first
/// product sums, and along the columns of the second.
bool find_sides(Plan& plan, OnlineRows& r) {
  const auto side = [&](FactorSide& s, const std::string& row, const std::string& term) {
    s.row = dim_along(s.load, row);
    s.term = dim_along(s.load, term);
    const ir::Buffer& b = *plan.program().buffer(s.load->name);
    const bool fits = !s.row.empty() && !s.term.empty() && s.row != s.term &&
                      dim_name(by_stride(plan, b).back()) == s.term;
    return fits || plan.declines("neighbours of " + b.name + " lie otherwise");
  };
  const std::string terms = plan.stage(r.product).rvars[0].name;
  if (!side(r.query, r.score_row, r.score_sum) || !side(r.key, r.score_column, r.score_sum) ||
      !side(r.value, terms, r.product_column)) {
    return false;
  }
  const std::set<std::string> tensors{r.query.load->name, r.key.load->name, r.value.load->name};
  if (tensors.size() < 3) return plan.declines("two factors are one tensor");
  const int64_t run = kSwizzledBytes / size_of(r.first->a);
  const StageFacts scores = plan.facts(r.scores), root = plan.facts(r.name);
  const int64_t columns = root.extent(r.column);
  if (scores.extent(r.score_sum) % run != 0 || columns % run != 0 || columns > kMostColumns ||
      !takes_columns(*r.second, columns)) {
    return plan.declines("rows of its factors are no multiples of " + std::to_string(run) +
                         " elements, or too long for registers");
  }
  const bool rows = root.extent(r.row) >= kTileRows;
  if (plan.decide("a product's rows in one pass", 2, rows ? 1 : 0) == 0) {
    return plan.declines(rows ? "it was decided to take several passes"
                              : "there are fewer rows than an instruction has");
  }
  return true;
}

/// The steps of one structure.
class OnlineSteps {
 public:
  OnlineSteps(Plan& plan, const OnlineRows& rows) : plan_(plan), r_(rows) {
    part_ = "r";
    while (!taken_stage(plan.program(), r_.max + "." + part_).empty()) part_ += "r";
    total_ = r_.product + "." + part_;
    terms_ = total_ + ".sum";
    at_ = {total_, part_ + ".p"};
    home_ = {r_.name, r_.row + ".w"};
  }

  bool build() {
    const int64_t rows = plan_.facts(r_.name).extent(r_.row);
    const int64_t groups = rows > kTileRows ? kWarpgroups : 1;
    const std::string scored = plan_.stage(r_.scores).output;
    factor_ = plan_.knob(knob_name("part", r_.name), {64, kPartTerms}, kPartTerms);
    const Number depth = plan_.knob(knob_name("stages", r_.name), {2, 3, 4}, kPartsAhead);
    return plan_.add(step::online({r_.max, plan_.stage(r_.max).rvars[0].name}, factor_, part_,
                                  kRowLanes, kTileRows * groups)) &&
           plan_.add(step::inline_stage(r_.product)) && cut(groups) && place() && products() &&
           share(r_.query, block_) && share(r_.key, at_) && share(r_.value, at_) &&
           plan_.add(step::pipeline(at_, depth)) && plan_.add(step::specialize(at_)) &&
           tensorize() && lanes() && finish();
  }

 private:
  std::string of(const std::string& stage, const char* end = "") const {
    return stage + "." + part_ + end;
  }
  std::string var(const char* end) const { return part_ + end; }

  /// Blocks of rows, a warpgroup for each tile of them.
  bool cut(int64_t groups) {
    const std::string &row = r_.row, b = row + ".b", i = row + ".i", w = row + ".w", r = row + ".r";
    if (!plan_.add(step::split({r_.name, row}, kTileRows * groups, b, i, ir::Tail::kPad)) ||
        !plan_.add(step::split({r_.name, i}, kTileRows, w, r))) {
      return false;
    }
    std::vector<std::string> outer = r_.others;
    outer.insert(outer.end(), {b, w});
    if (!order_loops(plan_, r_.name, outer, {r, r_.column})) return false;
    std::vector<std::string> blocks = fuse_loops(plan_, r_.name, r_.others);
    blocks = blocks.size() == 1 && parts_vary() ? rows_outside(blocks[0], b) : with(blocks, b);
    block_ = {r_.name, blocks.back()};
    return order_loops(plan_, r_.name, with(blocks, w), {r, r_.column}) &&
           bind_blocks(plan_, r_.name, blocks) &&
           plan_.add(step::bind({r_.name, w}, ir::Mark::kThreadY));
  }

  static std::vector<std::string> with(std::vector<std::string> loops, const std::string& last) {
    loops.push_back(last);
    return loops;
  }

  /// Whether rows have different numbers of parts.
  bool parts_vary() const {
    bool varies = false;
    ir::visit(plan_.stage(r_.name).value, [&](const ir::Expr& e) {
      if (e->op != ir::Op::kLoad || e->name != plan_.stage(total_).output) return;
      varies |= ir::mentions_var(e->args.back(), r_.row);
    });
    return varies;
  }

  /// Loops over blocks that run some products side by side, all blocks of `rows` one after another.
  std::vector<std::string> rows_outside(const std::string& products, const std::string& rows) {
    const std::string some = products + ".o", one = products + ".i";
    const int64_t all = at_most(plan_.program(), extent_of(plan_.stage(r_.name), products));
    const bool cut = all > kProductsTogether &&
                     plan_.add(step::split({r_.name, products}, kProductsTogether, some, one));
    return cut ? std::vector{some, rows, one} : std::vector{rows, products};
  }

  bool here(const std::string& stage) {
    return plan_.add(step::compute({stage}, at_, ir::Space::kWarp));
  }
  bool kept(const std::string& stage) {
    return plan_.add(step::compute({stage}, at_, ir::Space::kWarp, home_));
  }

  /// All that a part needs inside the loop over parts, consumers first.
  bool place() {
    if (!plan_.add(step::compute({total_}, home_, ir::Space::kWarp))) return false;
    std::vector<std::string> order{at_.loop};
    for (const ir::Loop& l : plan_.stage(total_).loops) {
      if (l.name != at_.loop) order.push_back(l.name);
    }
    if (!plan_.add(step::reorder(loops_of(total_, order))) || !here(terms_)) return false;
    for (const std::string& sum : r_.sums) {
      if (!plan_.add(step::compute({of(sum, ".all")}, home_, ir::Space::kWarp)) || !kept(of(sum)) ||
          !here(of(sum, ".lane"))) {
        return false;
      }
    }
    return here(of(r_.weights)) && here(of(r_.weights, ".wide")) && here(of(r_.max, ".scale")) &&
           kept(of(r_.max)) && here(of(r_.max, ".lane")) && here(r_.scores);
  }

  /// A product's loops: steps of its sum, each of whole instructions.
  bool tile(const std::string& stage, const std::string& m, const std::string& n,
            const std::string& k, const Number& columns, const ir::Instruction& row) {
    std::vector<std::string> outer;
    for (const ir::IndexVar& v : plan_.stage(stage).vars) {
      if (v.name != m && v.name != n) outer.push_back(v.name);
    }
    const auto at = [&](const std::string& loop) { return ir::Place{stage, loop}; };
    return plan_.add(step::split(at(k), row.group, "k.s", "k.t")) &&
           plan_.add(step::split(at(m), kTileRows, "m.o", "m.t")) &&
           plan_.add(step::split(at(n), columns, "n.o", "n.t", ir::Tail::kPad)) &&
           order_loops(plan_, stage, outer, {"k.s", "m.o", "n.o", "m.t", "n.t", "k.t"}, k) &&
           plan_.add(step::unroll(at("k.s")));
  }

  bool products() {
    const int64_t columns = plan_.facts(r_.name).extent(r_.column);
    return tile(r_.scores, r_.score_row, r_.score_column, r_.score_sum, factor_.again(),
                *r_.first) &&
           tile(terms_, r_.product_row, r_.product_column, var(".t"), columns, *r_.second);
  }

  bool tensorize() {
    const auto whole = [&](const std::string& stage, const ir::Instruction& row) {
      return plan_.add(step::tensorize(loops_of(stage, {"m.t", "n.t", "k.t"}), row));
    };
    return whole(r_.scores, *r_.first) && whole(terms_, *r_.second);
  }

  /// Puts a factor's part into shared memory by TMA, its rows swizzled.
  bool share(const FactorSide& s, const ir::Place& at) {
    const ir::Buffer b = *plan_.program().buffer(s.load->name);
    const int64_t run = kSwizzledBytes / size_of(b.type);
    CopyOptions options{ir::Space::kSharedMemory, 0, true, {}};
    for (size_t d : by_stride(plan_, b)) {
      const std::string dim = dim_name(d);
      if (dim != s.row && dim != s.term) options.layout.push_back({dim});
    }
    options.layout.insert(options.layout.end(), {{s.term, run, {}}, {s.row}, {s.term, 1, run}});
    const std::string copy = plan_.fresh_stage(b.name + ".shared");
    return plan_.add(step::stage(b.name, at, copy, std::move(options))) &&
           plan_.add(step::tma(copy));
  }

  bool spread(const std::string& stage, const std::string& rows, const std::string& columns,
              int64_t word) {
    return plan_.add(step::lanes({stage, rows}, {stage, columns}, word, "lane", kTileWarps));
  }
  /// Of a row's values each lane that holds a part of the row has its own.
  bool spread_rows(const std::string& stage, const std::string& rows) {
    return spread(stage, rows, var(".l"), 1);
  }
  bool spread_reduced(const std::string& stage, const std::string& rows) {
    return spread_rows(stage, rows) &&
           plan_.add(step::unroll(loops_of(stage, {var(".c"), var(".w")})));
  }

  bool lanes() {
    if (!spread_reduced(of(r_.max, ".lane"), r_.max_row) || !spread_rows(of(r_.max), r_.max_row) ||
        !spread_rows(of(r_.max, ".scale"), r_.max_row)) {
      return false;
    }
    for (const std::string& sum : r_.sums) {
      const std::string& row = r_.sum_rows.at(sum);
      if (!spread_reduced(of(sum, ".lane"), row) || !spread_rows(of(sum), row) ||
          !spread_rows(of(sum, ".all"), row)) {
        return false;
      }
    }
    // Tile by tile, as the product reads them.
    const std::string weights = of(r_.weights), terms = var(".t");
    return spread(of(r_.weights, ".wide"), r_.weight_row, terms, 2) &&
           plan_.add(step::split({weights, terms}, r_.second->group, "t.o", "t.i")) &&
           spread(weights, r_.weight_row, "t.i", 2) &&
           spread(total_, r_.product_row, r_.product_column, 2) &&
           spread(r_.name, r_.row + ".r", r_.column, 2);
  }

  bool finish() {
    if (plan_.facts(r_.name).store.stride(r_.column) == 1) {
      plan_.add(step::vectorize({r_.name, r_.column + ".w"}));
    }
    for (const std::string& done : {r_.name, r_.scores, r_.max, r_.weights, r_.product}) {
      plan_.finish(done);
    }
    for (const std::string& sum : r_.sums) plan_.finish(sum);
    return lowers(plan_);
  }

  Plan& plan_;
  const OnlineRows& r_;
  std::string part_, total_, terms_;
  Number factor_;
  ir::Place at_, home_, block_;
};

bool apply_online_rows(Plan& plan, const std::string& name) {
  OnlineRows rows;
  return find_rows(plan, name, rows) && find_variables(plan, rows) && find_sides(plan, rows) &&
         OnlineSteps(plan, rows).build();
}

}  // namespace

const Rule gpu::kOnline = {
    "online",
    "Rows of a product whose greatest decides the weights of a second product: part by part in one "
    "pass, from the registers of warpgroups to those of the next instruction, the sums so far "
    "rescaled where the greatest grows.",
    apply_online_rows,
};

}  // namespace hone::schedules
