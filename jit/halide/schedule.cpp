// SPDX-License-Identifier: Apache-2.0
#include "jit/halide/schedule.h"

#include <algorithm>
#include <set>

#include "jit/passes/joins.h"

namespace hone::jit::halide {
namespace {

using Halide::TailStrategy;
using Halide::VarOrRVar;
using ir::Mark;
using ir::Relation;

/// Registers that one vector may take.
/// Chosen: what leaves registers for others (not measured).
constexpr int64_t kMostVectors = 8;

/// Variables of the stage that a loop is made of.
void sources(const ir::Stage& s, const std::string& loop, std::set<std::string>& out) {
  for (const Relation& r : s.relations) {
    if (r.kind == Relation::kSplit && (r.outer == loop || r.inner == loop)) {
      return sources(s, r.parent, out);
    }
    if (r.kind == Relation::kFuse && r.outer == loop) {
      sources(s, r.parent, out);
      return sources(s, r.second, out);
    }
  }
  out.insert(loop);
}

/// True for a loop over what is reduced, as far as that is not an output index.
bool reduces(const ir::Stage& s, const std::string& loop) {
  if (std::find(s.factored.begin(), s.factored.end(), loop) != s.factored.end()) return false;
  std::set<std::string> from;
  sources(s, loop, from);
  return std::any_of(from.begin(), from.end(),
                     [&](const std::string& v) { return s.is_reduction_var(v); });
}

VarOrRVar named(const std::string& name, bool reduction) {
  if (reduction) return Halide::RVar(plain_name(name));
  return Halide::Var(plain_name(name));
}

/// True where data say which elements of a tensor are read: Halide would read those data ahead too,
/// past their end.
bool by_data(const ir::Stage& s, const std::string& tensor) {
  const auto is_load = [](const ir::Expr& n) { return n->op == ir::Op::kLoad; };
  return any_node(s.value, [&](const ir::Expr& n) {
    if (!is_load(n) || n->name != tensor) return false;
    return std::any_of(n->args.begin(), n->args.end(),
                       [&](const ir::Expr& at) { return any_node(at, is_load); });
  });
}

std::vector<const ir::Loop*> loops_of(const ir::Stage& s, bool pure_only) {
  std::vector<const ir::Loop*> out;
  for (const ir::Loop& l : s.loops) {
    if (!pure_only || !reduces(s, l.name)) out.push_back(&l);
  }
  return out;
}

}  // namespace

void Scheduler::apply(const ir::Stage& s, StageFuncs& made) {
  place(s, made);
  if (made.reduction) return split_off(s, made);
  // The first value of a reduction is given by loops over its variables alone.
  if (made.reduces) {
    Definition first{made.result, 0, {}};
    root_loops(s, made, false, first);
    derive(s, true, first);
    const auto pure = loops_of(s, true);
    order(s, pure, first);
    mark(s, pure, first);
  }
  Definition definition{made.result, made.reduces ? 1 : made.definition, {}};
  root_loops(s, made, made.reduces, definition);
  derive(s, !made.reduces, definition);
  const auto all = loops_of(s, !made.reduces);
  order(s, all, definition);
  mark(s, all, definition);
  prefetch(s, definition);
  remember(s, definition);
}

/// Divides the loops of a reduction that another Func stores. Those before the first that reduces
/// are loops of that Func. The others are the reduction's, over the rest of its variables.
void Scheduler::split_off(const ir::Stage& s, StageFuncs& made) {
  Definition storing{made.result, made.definition, {}};
  root_loops(s, made, false, storing);
  derive(s, true, storing);
  const auto pure = loops_of(s, true);
  order(s, pure, storing);
  mark(s, pure, storing);
  size_t lead = 0;
  while (lead < s.loops.size() && !reduces(s, s.loops[lead].name)) ++lead;
  if (made.reduces && lead == s.loops.size()) refuse("stage " + s.name + ": no loop reduces");
  if (lead == 0 || !made.reduces) {
    made.reduction->compute_root();
  } else {
    const auto last = storing.loops.find(s.loops[lead - 1].name);
    made.reduction->compute_at(Halide::LoopLevel(made.result, last->second));
  }
  remember(s, storing);
  if (!made.reduces) return;
  // Splits whose outer loop is the other Func's leave their inner one, which is the variable.
  std::set<std::string> leading;
  for (size_t i = 0; i < lead; ++i) leading.insert(s.loops[i].name);
  ir::Stage rest = s;
  rest.relations.clear();
  rest.loops.assign(s.loops.begin() + static_cast<std::ptrdiff_t>(lead), s.loops.end());
  Definition definition{*made.reduction, 1, {}};
  root_loops(s, made, true, definition);
  const auto leads = [&](const auto& self, const std::string& loop) -> bool {
    if (leading.count(loop)) return true;
    for (const Relation& r : s.relations) {
      if (r.kind == Relation::kSplit && r.parent == loop) {
        return self(self, r.outer) && self(self, r.inner);
      }
      if (r.kind == Relation::kFuse && (r.parent == loop || r.second == loop)) {
        return self(self, r.outer);
      }
    }
    return false;
  };
  for (const Relation& r : s.relations) {
    if (r.kind == Relation::kFuse || definition.loops.count(r.parent) == 0) {
      if (r.kind == Relation::kFuse && !leads(leads, r.outer)) rest.relations.push_back(r);
      continue;
    }
    if (leads(leads, r.parent)) continue;
    if (leads(leads, r.outer)) {
      definition.loops.insert_or_assign(r.inner, definition.loops.at(r.parent));
      continue;
    }
    if (leads(leads, r.inner)) {
      refuse("stage " + s.name + ": loop " + r.inner + " outside its " + r.outer);
    }
    rest.relations.push_back(r);
    Definition one = definition;
    ir::Stage step = rest;
    step.relations = {r};
    derive(step, false, definition);
  }
  std::vector<const ir::Loop*> all;
  for (const ir::Loop& l : rest.loops) all.push_back(&l);
  order(rest, all, definition);
  mark(rest, all, definition);
  prefetch(rest, definition);
  remember(rest, definition);
}

void Scheduler::root_loops(const ir::Stage&, const StageFuncs& made, bool reduces,
                           Definition& definition) const {
  for (const auto& [name, var] : made.vars) definition.loops.insert_or_assign(name, var);
  if (!reduces) return;
  for (const auto& [name, var] : made.rvars) definition.loops.insert_or_assign(name, var);
}

/// The relations between loops, as far as what they derive from is there.
void Scheduler::derive(const ir::Stage& s, bool pure_only, Definition& definition) {
  Halide::Stage stage = definition.stage();
  for (const Relation& r : s.relations) {
    const auto parent = definition.loops.find(r.parent);
    if (parent == definition.loops.end()) continue;
    const bool reduction = parent->second.is_rvar;
    if (pure_only && reduction) continue;
    if (r.kind == Relation::kFuse) {
      const auto second = definition.loops.find(r.second);
      if (second == definition.loops.end()) continue;
      const VarOrRVar fused = named(r.outer, reduction || second->second.is_rvar);
      stage.fuse(second->second, parent->second, fused);
      definition.loops.insert_or_assign(r.outer, fused);
      continue;
    }
    const VarOrRVar outer = named(r.outer, reduction), inner = named(r.inner, reduction);
    stage.split(parent->second, outer, inner, static_cast<int32_t>(r.factor),
                tail_of(s, r, definition));
    definition.loops.insert_or_assign(r.outer, outer);
    definition.loops.insert_or_assign(r.inner, inner);
  }
}

/// What Halide does with the rest. Where it may compute a tile again its last one begins earlier,
/// so that tiles have one size.
TailStrategy Scheduler::tail_of(const ir::Stage& s, const Relation& r,
                                const Definition& definition) const {
  const ir::IndexVar* v = s.var(r.parent);
  const ir::Buffer& b = *program_.buffer(s.output);
  int64_t lo = 0, hi = 0;
  const bool constant = v && is_const(v->hi, &hi) && (!v->lo || is_const(v->lo, &lo));
  const bool again = definition.number == 0 && b.role == ir::Role::kOutput && !s.where;
  if (constant && again && s.at.root() && hi - lo >= r.factor) return TailStrategy::ShiftInwards;
  return TailStrategy::GuardWithIf;
}

void Scheduler::order(const ir::Stage&, const std::vector<const ir::Loop*>& loops,
                      Definition& definition) {
  std::vector<VarOrRVar> inside_out;
  for (size_t i = loops.size(); i-- > 0;) {
    const auto found = definition.loops.find(loops[i]->name);
    if (found != definition.loops.end()) inside_out.push_back(found->second);
  }
  if (inside_out.size() > 1) definition.stage().reorder(inside_out);
}

void Scheduler::mark(const ir::Stage& s, const std::vector<const ir::Loop*>& loops,
                     Definition& definition) {
  Halide::Stage stage = definition.stage();
  for (const ir::Loop* l : loops) {
    const auto found = definition.loops.find(l->name);
    if (found == definition.loops.end()) continue;
    const VarOrRVar& loop = found->second;
    switch (l->mark) {
      case Mark::kSerial:
      case Mark::kTensor:  // means what its loops do; Halide finds its own instructions
        break;
      case Mark::kUnroll:
        if (marks_ == Marks::kWhole || extent_of(s, l->name) > 0) stage.unroll(loop);
        break;
      case Mark::kVector:
        vectorize(s, *l, definition);
        break;
      case Mark::kParallel:
        stage.parallel(loop);
        break;
      default:
        refuse("loop " + s.name + "/" + l->name + ": Halide has no counterpart of the mark " +
               std::string(name_of(l->mark)));
    }
  }
}

/// The loop's extent where the steps alone say it; else 0.
int64_t Scheduler::extent_of(const ir::Stage& s, const std::string& loop) const {
  for (const Relation& r : s.relations) {
    if (r.kind == Relation::kSplit && r.inner == loop) return r.factor;
  }
  const ir::IndexVar* v = s.var(loop);
  int64_t hi = 0;
  const bool whole =
      v && !v->lo && is_const(v->hi, &hi) && (s.at.root() || s.is_reduction_var(loop));
  return whole ? hi : 0;
}

/// Vectors of at most a few registers; longer loops are split.
void Scheduler::vectorize(const ir::Stage& s, const ir::Loop& l, Definition& definition) {
  Halide::Stage stage = definition.stage();
  const VarOrRVar& loop = definition.loops.at(l.name);
  // Lanes of a reduction are combined by a tree, which Halide takes for atomic.
  if (loop.is_rvar) stage.atomic(true);
  const int lanes = std::max<int>(1, vector_bytes_ / size_of(program_.buffer(s.output)->type));
  const int64_t extent = extent_of(s, l.name);
  const bool known = extent > 0 && extent <= kMostVectors * lanes;
  if (known || (extent == 0 && marks_ == Marks::kWhole)) {
    if (extent != 1) stage.vectorize(loop);
    return;
  }
  const int width = extent > 0 ? static_cast<int>(std::min<int64_t>(lanes, extent)) : lanes;
  if (width > 1) stage.vectorize(loop, width, TailStrategy::GuardWithIf);
}

void Scheduler::prefetch(const ir::Stage& s, Definition& definition) {
  for (const ir::Prefetch& p : s.prefetches) {
    const auto loop = definition.loops.find(p.loop);
    Halide::ImageParam* image = buffers_.image(p.tensor);
    if (loop == definition.loops.end() || !image || by_data(s, p.tensor)) continue;
    if (!p.outer.root()) continue;  // Halide has none that ask for a share
    definition.stage().prefetch(*image, loop->second, loop->second,
                                static_cast<int32_t>(p.distance));
  }
}

void Scheduler::remember(const ir::Stage& s, const Definition& definition) {
  for (const auto& [name, loop] : definition.loops) {
    known_.insert_or_assign(s.name + "/" + name, Known{definition.func, loop});
  }
}

const Scheduler::Known& Scheduler::known(const ir::Place& p) const {
  const auto found = known_.find(p.stage + "/" + p.loop);
  if (found == known_.end())
    refuse("loop " + p.stage + "/" + p.loop + ": not among Halide's loops");
  return found->second;
}

void Scheduler::place(const ir::Stage& s, StageFuncs& made) {
  if (made.definition > 0) return;  // with the Func's first
  const bool output = program_.buffer(s.output)->role != ir::Role::kTemp;
  if (output || s.at.root() || kept_at_root(program_, s)) {
    made.result.compute_root();
    return;
  }
  const Known& at = known(s.at);
  made.result.compute_at(Halide::LoopLevel(at.func, at.loop));
  if (s.store.root()) return;
  const Known& store = known(s.store);
  made.result.store_at(Halide::LoopLevel(store.func, store.loop));
}

}  // namespace hone::jit::halide
