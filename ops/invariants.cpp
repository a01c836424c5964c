// SPDX-License-Identifier: Apache-2.0
#include "ops/invariants.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "jit/ir/functions/function.h"
#include "jit/ir/group.h"
#include "jit/ir/recurrence.h"
#include "jit/ir/scatter.h"
#include "ops/bounds.h"
#include "ops/inside.h"

namespace hone::ops {
namespace {

using ir::Expr;
using ir::IndexVar;
using ir::Reduce;
using ir::Stage;

/// Counts that each float type which adds up holds.
/// Fixed by: the mantissa of f32.
constexpr int64_t kMostExact = 1 << 24;

/// Calls `f` with each expression, to be changed or not, that decides what a stage computes.
template <class S, class F>
void each_expr(S& stage, const F& f) {
  f(stage.value);
  if (stage.where) f(stage.where);
  for (auto& r : stage.rvars) {
    if (r.lo) f(r.lo);
    f(r.hi);
  }
}

bool depends(const Stage& stage, const std::string& var) {
  bool any = false;
  each_expr(stage, [&](const Expr& e) { any |= ir::mentions_var(e, var); });
  return any;
}

/// True where a combination of equal values is that value.
bool is_idempotent(Reduce reduce) {
  return reduce != Reduce::kNone && reduce != Reduce::kSum && reduce != Reduce::kProd;
}

Expr extent_of(const IndexVar& v) { return v.lo ? v.hi - v.lo : v.hi; }

/// What a reduction makes of `count` times the value of a stage; null: it is to be repeated.
Expr of_equal_terms(const Stage& stage, const Expr& count) {
  if (is_idempotent(stage.reduce)) return stage.value;
  if (stage.reduce == Reduce::kSum) {
    const Expr product = stage.value * ir::make_cast(stage.accumulate, count);
    // A sum is never -0, which a product may be; one that is left over other variables is one.
    const bool last = stage.rvars.size() == 1;
    return last && is_float(stage.accumulate) ? product + ir::make_float(0, stage.accumulate)
                                              : product;
  }
  int64_t n = 0;
  const bool exact = ir::is_const(count, &n) && n < kMostExact;
  if (stage.reduce != Reduce::kProd || !is_float(stage.accumulate) || !exact) return {};
  return ir::make_call(ir::function_named("pow"),
                       {stage.value, ir::make_cast(stage.accumulate, count)});
}

/// True where an index never leaves a dim: a variable that runs over it.
bool spans(const Stage& stage, const Expr& index, const Expr& extent) {
  const IndexVar* v = index->op == ir::Op::kVar ? stage.var(index->name) : nullptr;
  int64_t from = 0;
  return v && (!v->lo || (ir::is_const(v->lo, &from) && from == 0)) && equal(v->hi, extent);
}

void remove_loop(Stage& stage, const std::string& name) {
  std::erase_if(stage.loops, [&](const ir::Loop& loop) { return loop.name == name; });
}

/// Rewrites stage by stage, what is read before its readers.
class Invariants {
 public:
  explicit Invariants(ir::Program& program) : program_(program) {}
  void run();

 private:
  /// A temporary that lost dims: the shape that it had, and which dims are left.
  struct Shrunk {
    std::vector<Expr> shape;
    std::vector<bool> kept;
  };

  bool has_values(const Stage& stage, const IndexVar& v) const;
  bool reads_without(const Stage& stage, const IndexVar& v) const;
  Expr without(const Stage& stage, const IndexVar& v) const;
  bool may_drop(const Stage& stage, const IndexVar& v) const;
  Expr with_kept_dims(const Stage& reader, const Expr& load) const;
  void rewrite_reads(Stage& stage) const;
  void drop_reduction_vars(Stage& stage) const;
  void drop_dims(Stage& stage);
  bool repeats_reduction(const Stage& stage) const;
  Stage split_off_reduction(Stage& stage);

  ir::Program& program_;
  std::map<std::string, Shrunk> shrunk_;
};

void Invariants::run() {
  ir::CowVector<Stage> stages;
  const ir::Groups groups(program_);
  for (size_t i = 0; i < program_.stages.size(); ++i) {
    Stage stage = program_.stages[i];
    rewrite_reads(stage);
    // Which terms an element has is for its terms to say.
    const bool scatters = !ir::scattered_vars(stage).empty() || stage.from_old;
    if (!scatters) drop_reduction_vars(stage);
    if (scatters || ir::is_recurrence(stage) || groups.of(i)) {
      // Its own reads want the dims that it has.
    } else if (program_.buffer(stage.output)->role == ir::Role::kTemp) {
      drop_dims(stage);
    } else if (repeats_reduction(stage)) {
      Stage reduction = split_off_reduction(stage);
      drop_dims(reduction);
      rewrite_reads(stage);
      stages.push_back(std::move(reduction));
    }
    stages.push_back(std::move(stage));
  }
  program_.stages = std::move(stages);
  for (size_t i = 0; i < program_.checks.size() && !shrunk_.empty(); ++i) {
    ir::Check& check = program_.checks.edit(i);
    Stage reader;
    reader.vars = check.vars;
    reader.value = check.value;
    rewrite_reads(reader);
    check.value = reader.value;
  }
}

/// For all values of the variables before it, whatever the dims: then accesses stay inside their
/// tensors without it as well.
bool Invariants::has_values(const Stage& stage, const IndexVar& v) const {
  Prover prover(program_.dims);
  for (const auto* vars : {&stage.vars, &stage.rvars}) {
    for (const IndexVar& before : *vars) {
      if (before.name == v.name) {
        return prover.non_negative(extent_of(v) - ir::make_int(1)) == Proof::kYes;
      }
      prover.add_variable({before.name, before.lo ? before.lo : ir::make_int(0), before.hi});
    }
  }
  return false;
}

/// Where a variable has no value, others may have some: true where what they read is there.
bool Invariants::reads_without(const Stage& stage, const IndexVar& v) const {
  std::vector<IndexVar> others;
  for (const auto* vars : {&stage.vars, &stage.rvars}) {
    for (const IndexVar& other : *vars) {
      if (other.name != v.name) others.push_back(other);
    }
  }
  return !stage.where && reads_inside(program_, stage.value, others);
}

/// True of a variable of the result that what a stage computes does not depend on.
bool Invariants::may_drop(const Stage& stage, const IndexVar& v) const {
  return !depends(stage, v.name) && (has_values(stage, v) || reads_without(stage, v));
}

/// The value of a stage that does not run over `v`, which it reduces but does not depend on; null:
/// it is to run.
Expr Invariants::without(const Stage& stage, const IndexVar& v) const {
  if (depends(stage, v.name)) return {};
  const bool surely = has_values(stage, v);
  if (!surely && !reads_without(stage, v)) return {};
  const Expr count = extent_of(v), combined = of_equal_terms(stage, count);
  if (surely || !combined) return combined;
  return ir::make_select(ir::make_binary(ir::Op::kLt, ir::make_int(0), count), combined,
                         ir::identity(stage.reduce, stage.accumulate));
}

/// The read of a shrunk temporary by the dims it has left; a guard of others becomes a condition.
Expr Invariants::with_kept_dims(const Stage& reader, const Expr& load) const {
  const auto at = shrunk_.find(load->name);
  if (at == shrunk_.end()) return {};
  const auto& [shape, kept] = at->second;
  // What a folded operation leaves may have been rewritten already.
  if (load->args.size() != shape.size() + load->guarded) return {};
  std::vector<Expr> indices;
  Expr inside;
  bool guarded = false;
  for (size_t d = 0; d < shape.size(); ++d) {
    const Expr& index = load->args[d];
    const bool may_leave = load->guarded && !spans(reader, index, shape[d]);
    if (kept[d]) {
      indices.push_back(index);
      guarded |= may_leave;
    } else if (may_leave) {
      const Expr here =
          ir::make_binary(ir::Op::kAnd, ir::make_binary(ir::Op::kLe, ir::make_int(0), index),
                          ir::make_binary(ir::Op::kLt, index, shape[d]));
      inside = inside ? ir::make_binary(ir::Op::kAnd, inside, here) : here;
    }
  }
  const Expr otherwise = load->guarded ? load->args.back() : Expr();
  const Expr element =
      ir::make_load(load->name, load->type, std::move(indices), guarded ? otherwise : Expr());
  return inside ? ir::make_select(inside, element, otherwise) : element;
}

void Invariants::rewrite_reads(Stage& stage) const {
  if (shrunk_.empty()) return;
  const Stage reader = stage;
  each_expr(stage, [&](Expr& e) {
    e = ir::rewrite(e, [&](const Expr& x) {
      return x->op == ir::Op::kLoad ? with_kept_dims(reader, x) : Expr();
    });
  });
}

void Invariants::drop_reduction_vars(Stage& stage) const {
  for (size_t i = stage.rvars.size(); i-- > 0;) {
    const IndexVar r = stage.rvars[i];
    const Expr combined = without(stage, r);
    if (!combined) continue;
    stage.value = combined;
    stage.rvars.erase(stage.rvars.begin() + static_cast<std::ptrdiff_t>(i));
    remove_loop(stage, r.name);
  }
  if (stage.rvars.empty()) stage.reduce = Reduce::kNone;
}

void Invariants::drop_dims(Stage& stage) {
  ir::Buffer buffer = *program_.buffer(stage.output);
  Shrunk before{buffer.shape, {}};
  std::vector<IndexVar> vars;
  buffer.shape.clear();
  stage.out_index.clear();
  for (size_t d = 0; d < stage.vars.size(); ++d) {
    const IndexVar& v = stage.vars[d];
    const bool kept = !may_drop(stage, v);
    before.kept.push_back(kept);
    if (!kept) {
      remove_loop(stage, v.name);
      continue;
    }
    buffer.shape.push_back(before.shape[d]);
    stage.out_index.push_back(ir::make_var(v.name));
    vars.push_back(v);
  }
  if (vars.size() == stage.vars.size()) return;
  stage.vars = std::move(vars);
  const size_t at = program_.buffers.index_of(*program_.buffer(stage.output));
  program_.buffers.edit(at) = std::move(buffer);
  shrunk_.emplace(stage.output, std::move(before));
}

/// True of a result that reduces the same for all values of some variable.
bool Invariants::repeats_reduction(const Stage& stage) const {
  return stage.reduce != Reduce::kNone && !stage.where &&
         std::any_of(stage.vars.begin(), stage.vars.end(),
                     [&](const IndexVar& v) { return may_drop(stage, v); });
}

/// Leaves a stage that copies what a new one before it reduces.
Stage Invariants::split_off_reduction(Stage& stage) {
  Stage reduction = stage;
  for (int number = 1; program_.buffer(reduction.name) != nullptr; ++number) {
    reduction.name = stage.name + "." + std::to_string(number);
  }
  reduction.output = reduction.name;
  ir::Buffer buffer;
  buffer.name = reduction.output;
  buffer.type = stage.accumulate;
  std::vector<Expr> indices;
  for (const IndexVar& v : stage.vars) {
    buffer.shape.push_back(v.hi);
    indices.push_back(ir::make_var(v.name));
  }
  stage.value = ir::make_load(buffer.name, buffer.type, std::move(indices));
  stage.reduce = Reduce::kNone;
  for (const IndexVar& r : stage.rvars) remove_loop(stage, r.name);
  stage.rvars.clear();
  program_.buffers.push_back(std::move(buffer));
  return reduction;
}

}  // namespace

void drop_invariants(ir::Program& program) { Invariants(program).run(); }

}  // namespace hone::ops
