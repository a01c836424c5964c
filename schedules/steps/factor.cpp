// SPDX-License-Identifier: Apache-2.0
#include "schedules/steps/factor.h"

#include <algorithm>
#include <set>

#include "jit/ir/facts.h"
#include "jit/ir/product.h"
#include "schedules/steps/edit.h"
#include "schedules/steps/rows.h"

namespace hone::schedules {
namespace {

using Names = std::set<std::string>;

void add_vars(const ir::Expr& e, Names& out) {
  if (!e) return;
  ir::visit(e, [&](const ir::Expr& x) {
    if (x->op == ir::Op::kVar) out.insert(x->name);
  });
}

Names vars_of_range(const ir::IndexVar& v) {
  Names out;
  add_vars(v.lo, out);
  add_vars(v.hi, out);
  return out;
}

bool meet(const Names& a, const Names& b) {
  return std::any_of(a.begin(), a.end(), [&](const std::string& n) { return b.count(n) > 0; });
}

std::vector<ir::Expr> conjuncts(const ir::Expr& where) {
  if (!where) return {};
  if (where->op != ir::Op::kAnd) return {where};
  std::vector<ir::Expr> out = conjuncts(where->args[0]);
  for (ir::Expr& e : conjuncts(where->args[1])) out.push_back(std::move(e));
  return out;
}

/// Why the product of `s` cannot be taken apart; empty when it can.
std::string objection_factor(const ir::Stage& s) {
  if (s.reduce != ir::Reduce::kSum) return "stage " + s.name + " is not a sum";
  if (s.value->op != ir::Op::kMul) return "what stage " + s.name + " sums is not a product";
  if (!ir::sums_products(s)) {
    return "stage " + s.name + " sums products of " + std::string(name_of(s.value->type)) + " as " +
           std::string(name_of(s.accumulate)) + "; they are no longer the same when summed before";
  }
  if (!s.relations.empty() || !s.factored.empty() || !s.at.root()) {
    return "stage " + s.name + " is scheduled already; factor it first";
  }
  if (reads(s, s.output)) return "stage " + s.name + " reads " + s.output + ", which it writes";
  if (s.from_old) return "stage " + s.name + " goes on from what " + s.output + " holds";
  return {};
}

/// Why `v` cannot be an index of a partial result; empty when it can.
std::string objection_index(const ir::IndexVar& v) {
  int64_t from = 0;
  const bool from_zero = !v.lo || (ir::is_const(v.lo, &from) && from == 0);
  const bool open = ir::any_node(
      v.hi, [](const ir::Expr& e) { return e->op == ir::Op::kLoad || e->op == ir::Op::kVar; });
  if (from_zero && !open) return {};
  return "the range of " + v.name + " does not start at 0, or depends on data or on another index";
}

/// Finds the indices of a partial sum.
class PartialFinder {
 public:
  PartialFinder(const ir::Program& program, const ir::Stage& stage,
                const std::vector<size_t>& positions)
      : program_(program), s_(stage) {
    const std::vector<ir::Expr> factors = ir::product_factors(s_.value);
    for (size_t i = 0; i < factors.size(); ++i) {
      const bool taken = std::find(positions.begin(), positions.end(), i) != positions.end();
      add_vars(factors[i], taken ? used_ : left_);
      if (taken) taken_.push_back(factors[i]);
    }
    for (const ir::Expr& e : s_.out_index) add_vars(e, left_);
  }

  PartialSum run() {
    find_summed();
    if (out_.wrong.empty()) find_vars();
    if (out_.wrong.empty()) find_where();
    order_vars();
    return std::move(out_);
  }

 private:
  /// The reduced indices that these factors alone have, ranges of others included.
  void find_summed() {
    Names summed;
    for (const ir::IndexVar& v : s_.rvars) {
      if (used_.count(v.name) > 0 && left_.count(v.name) == 0) summed.insert(v.name);
    }
    for (bool more = true; more;) {
      more = false;
      for (const ir::IndexVar& v : s_.rvars) {
        if (summed.count(v.name) > 0) continue;
        for (const std::string& name : vars_of_range(v)) more |= summed.erase(name) > 0;
      }
    }
    for (const ir::IndexVar& v : s_.rvars) {
      if (summed.count(v.name) == 0) continue;
      // Of an empty sum a product need not be 0: the other factors may be infinite.
      if (is_float(s_.accumulate) && !surely_has_values(program_, s_, v)) {
        out_.wrong = "the range of " + v.name +
                     " may be empty, and what is left of the product may be infinite";
      }
      out_.summed.push_back(v);
    }
    names_ = std::move(summed);
  }

  void find_vars() {
    Names needed = used_;
    for (const ir::IndexVar& v : out_.summed) needed.merge(vars_of_range(v));
    for (const auto* list : {&s_.vars, &s_.rvars}) {
      for (const ir::IndexVar& v : *list) {
        if (needed.count(v.name) == 0 || names_.count(v.name) > 0) continue;
        if (out_.wrong.empty()) out_.wrong = objection_index(v);
        out_.vars.push_back(v);
      }
    }
  }

  /// The index that moves along neighbours in memory comes last: of the factors, of the result
  /// else.
  void order_vars() {
    std::vector<std::string> read;
    for (const ir::Expr& factor : taken_) {
      ir::visit(factor, [&](const ir::Expr& e) {
        if (e->op == ir::Op::kLoad) read.push_back(along_memory(e->name, e->args));
      });
    }
    std::erase(read, "");
    std::string last = along_memory(s_.output, s_.out_index);
    const bool both = std::find(read.begin(), read.end(), last) != read.end();
    if (!read.empty() && !both) last = read.back();
    std::stable_partition(out_.vars.begin(), out_.vars.end(),
                          [&](const ir::IndexVar& v) { return v.name != last; });
  }

  /// The index of the partial sum that moves along neighbours of `tensor`; empty where none does.
  std::string along_memory(const std::string& tensor, const std::vector<ir::Expr>& indices) const {
    const ir::Buffer& b = *program_.buffer(tensor);
    if (b.shape.empty()) return {};
    const auto last = b.axes.empty() ? b.shape.size() - 1 : static_cast<size_t>(b.axes.back().dim);
    const ir::Expr& index = indices[last];
    const bool has = index->op == ir::Op::kVar &&
                     std::any_of(out_.vars.begin(), out_.vars.end(),
                                 [&](const ir::IndexVar& v) { return v.name == index->name; });
    return has ? index->name : "";
  }

  void find_where() {
    Names own;
    for (const ir::IndexVar& v : out_.vars) own.insert(v.name);
    for (const ir::Expr& e : conjuncts(s_.where)) {
      Names vars;
      add_vars(e, vars);
      if (meet(vars, names_)) {
        out_.wrong = "`where " + print(e) + "` says which terms of " + s_.name + " there are";
      }
      const bool whole = std::includes(own.begin(), own.end(), vars.begin(), vars.end());
      if (whole) out_.where = out_.where ? make_binary(ir::Op::kAnd, out_.where, e) : e;
    }
  }

  const ir::Program& program_;
  const ir::Stage& s_;
  std::vector<ir::Expr> taken_;
  Names used_, left_;  ///< by the factors taken, by all else
  Names names_;        ///< of what is summed
  PartialSum out_;
};

/// The stage that computes the partial sum of `s`, and its tensor.
std::pair<ir::Stage, ir::Buffer> partial_stage(const ir::Stage& s, const PartialSum& partial,
                                               ir::Expr value, const std::string& name) {
  ir::Stage made;
  made.name = made.output = name;
  made.vars = partial.vars;
  made.rvars = partial.summed;
  made.reduce = partial.summed.empty() ? ir::Reduce::kNone : ir::Reduce::kSum;
  made.accumulate = s.accumulate;
  made.value = std::move(value);
  made.where = partial.where;
  ir::Buffer buffer;
  buffer.name = name;
  buffer.type = s.accumulate;
  for (const ir::IndexVar& v : made.vars) {
    made.out_index.push_back(ir::make_var(v.name));
    made.loops.push_back({v.name});
    buffer.shape.push_back(v.hi);
  }
  for (const ir::IndexVar& v : made.rvars) made.loops.push_back({v.name});
  return {std::move(made), std::move(buffer)};
}

/// Puts `value` in place of what `s` summed, over what is left of its reduced indices.
void become_rest(ir::Stage& s, const PartialSum& partial, ir::Expr value, DType stored) {
  for (const ir::IndexVar& v : partial.summed) {
    std::erase_if(s.loops, [&](const ir::Loop& l) { return l.name == v.name; });
    std::erase_if(s.rvars, [&](const ir::IndexVar& r) { return r.name == v.name; });
  }
  s.prefetches.clear();
  if (s.rvars.empty()) {
    s.reduce = ir::Reduce::kNone;
    // A sum is never -0, which a product may be.
    if (is_float(s.accumulate)) value = value + ir::make_float(0, s.accumulate);
    value = ir::make_cast(stored, std::move(value));
  }
  s.value = std::move(value);
}

/// Positions as numbers; some may name no factor.
std::vector<size_t> positions_of(const std::vector<std::string>& names) {
  std::vector<size_t> out;
  for (const std::string& name : names) {
    out.push_back(name.size() > 4 ? SIZE_MAX : static_cast<size_t>(std::stoul(name)));
  }
  std::sort(out.begin(), out.end());
  return out;
}

/// Why there are no such positions among `count` factors; empty when there are.
std::string objection_positions(const std::vector<size_t>& positions, size_t count) {
  if (std::adjacent_find(positions.begin(), positions.end()) != positions.end()) {
    return "a factor is named twice";
  }
  if (positions.back() >= count) {
    return "there is no factor " +
           (positions.back() == SIZE_MAX ? "so large" : std::to_string(positions.back())) +
           "; the product has factors 0 to " + std::to_string(count - 1);
  }
  return {};
}

Applied apply_factor(ir::Program p, const Step& step) {
  auto found = find_stage(p, step.name("stage"));
  if (!found) return found.failure();
  ir::Stage& s = p.stages.edit(*found);
  const std::string name = step.name("partial");
  std::string wrong = objection_factor(s);
  if (!wrong.empty()) return ir::Reject{std::move(wrong)};
  const std::vector<ir::Expr> factors = ir::product_factors(s.value);
  const std::vector<size_t> positions = positions_of(step.names("factors"));
  wrong = objection_positions(positions, factors.size());
  if (!wrong.empty()) return ir::Reject{std::move(wrong)};
  const PartialSum partial = partial_sum(p, s, positions);
  wrong = partial.wrong;
  if (wrong.empty() && partial.summed.empty() && positions.size() == 1) {
    wrong = "factor " + std::to_string(positions[0]) + " has no index of its own to sum over";
  }
  if (wrong.empty() && positions.size() == factors.size()) {
    wrong = "nothing is left of the product; name some of its factors";
  }
  for (const ir::IndexVar& v : partial.summed) {
    if (wrong.empty()) wrong = pinned_loop(p, s, v.name);
  }
  if (wrong.empty()) wrong = taken_stage(p, name);
  if (!wrong.empty()) return ir::Reject{std::move(wrong)};

  std::vector<ir::Expr> taken, rest;
  for (size_t i = 0; i < factors.size(); ++i) {
    const bool named = std::binary_search(positions.begin(), positions.end(), i);
    if (named) taken.push_back(factors[i]);
    if (i == positions[0]) rest.emplace_back();  // the partial sum stands here
    if (!named) rest.push_back(factors[i]);
  }
  auto [made, buffer] = partial_stage(s, partial, ir::product_of(taken), name);
  *std::find_if(rest.begin(), rest.end(), [](const ir::Expr& e) { return !e; }) =
      ir::make_load(name, buffer.type, made.out_index);
  become_rest(s, partial, ir::product_of(rest), p.buffer(s.output)->type);
  p.buffers.push_back(std::move(buffer));
  p.stages.insert(*found, std::move(made));
  return p;
}

}  // namespace

PartialSum partial_sum(const ir::Program& program, const ir::Stage& stage,
                       const std::vector<size_t>& positions) {
  return PartialFinder(program, stage, positions).run();
}

bool surely_has_values(const ir::Program& program, const ir::Stage& s, const ir::IndexVar& v) {
  ir::Facts facts;
  for (const ir::Dim& d : program.dims) facts.define_dim(d.name, d.lo, d.hi);
  // Variables stand as dims of these names, which no dim has.
  const auto name = [](const std::string& var) { return "index " + var; };
  const auto closed = [&](const ir::Expr& e) {
    return ir::rewrite(e, [&](const ir::Expr& x) {
      return x->op == ir::Op::kVar ? ir::make_dim(name(x->name)) : ir::Expr();
    });
  };
  for (const ir::IndexVar& x : s.vars) {
    const auto most = facts.upper(ir::Poly::of(closed(x.hi), &facts));
    if (most && !x.lo) facts.define_dim(name(x.name), 0, std::max<int64_t>(0, *most - 1));
  }
  const ir::Expr extent = closed(v.lo ? v.hi - v.lo : v.hi);
  const auto least = facts.lower(ir::Poly::of(extent, &facts));
  return least && *least >= 1;
}

const StepRow kFactor = {
    "factor",
    {{Arg::kStage, "stage"},
     {Arg::kPositions, "factors"},
     {Arg::kWord, "->"},
     {Arg::kNew, "partial"}},
    "Takes factors of a product out of a sum, by their positions from 0: a new stage multiplies "
    "them and sums over the indices that they alone have, the old one reads that.\n"
    "Y[i] = sum[j,k](A[i,j]*B[j,k]*x[k])  =>  factor Y 1 2 -> t  =>  t[j] = sum[k](B[j,k]*x[k]); "
    "Y[i] = sum[j](A[i,j]*t[j])",
    apply_factor,
};

}  // namespace hone::schedules
