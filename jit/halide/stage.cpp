// SPDX-License-Identifier: Apache-2.0
#include "jit/halide/stage.h"

#include <algorithm>
#include <set>

#include "jit/halide/reduction.h"
#include "jit/ir/group.h"
#include "jit/ir/recurrence.h"
#include "jit/ir/scatter.h"

namespace hone::jit::halide {
namespace {

using ir::Op;
using E = Halide::Expr;

bool has_var(const ir::Expr& e) {
  return any_node(e, [](const ir::Expr& n) { return n->op == Op::kVar; });
}

E both(const E& a, const E& b) { return !a.defined() ? b : !b.defined() ? a : a && b; }

/// The running value after one more.
E combine(ir::Reduce how, const E& running, const E& value, Floats floats) {
  switch (how) {
    case ir::Reduce::kSum:
      return running + value;
    case ir::Reduce::kProd:
      return running * value;
    case ir::Reduce::kMax:
      return greater(running, value, floats);
    case ir::Reduce::kMin:
      return lesser(running, value, floats);
    case ir::Reduce::kAny:
      return running || value;
    case ir::Reduce::kAll:
      return running && value;
    case ir::Reduce::kLast:
    case ir::Reduce::kNone:
      break;
  }
  return value;
}

/// The conjuncts of `where` that mention a reduction variable (`reduced`), or the others.
ir::Expr part_of(const ir::Stage& s, const ir::Expr& where, bool reduced) {
  if (!where) return where;
  if (where->op == Op::kAnd) {
    const ir::Expr a = part_of(s, where->args[0], reduced), b = part_of(s, where->args[1], reduced);
    return a && b ? make_binary(Op::kAnd, a, b) : a ? a : b;
  }
  const bool mentions = any_node(
      where, [&](const ir::Expr& n) { return n->op == Op::kVar && s.is_reduction_var(n->name); });
  return mentions == reduced ? where : ir::Expr();
}

std::vector<E> reversed(const std::vector<Halide::Var>& vars) {
  return {vars.rbegin(), vars.rend()};
}

}  // namespace

StageFuncs StageMaker::make(const ir::Stage& stage) {
  if (ir::is_recurrence(stage) || !ir::Groups(program_).none()) {
    refuse("stage " + stage.name +
           " reads itself, or what reads it, which a Func of Halide's may not where it is pure");
  }
  if (!ir::scattered_vars(stage).empty()) {
    refuse("stage " + stage.name + " scatters, and its terms go where data say");
  }
  ranges_.enter(stage);
  StageFuncs out;
  const ir::Buffer& b = *program_.buffer(stage.output);
  const std::vector<Place> places = places_of(stage);
  Values values(program_, buffers_, ranges_, floats_);
  const E covered = bind_places(stage, places, values);
  const bool temporary = b.role == ir::Role::kTemp;
  E condition = covered;
  const ir::Expr where =
      stage.reduce == ir::Reduce::kNone ? stage.where : part_of(stage, stage.where, false);
  if (where && !temporary) condition = both(condition, values.value(where));
  if (stage.reduce == ir::Reduce::kNone) {
    define(stage, places,
           to_stored(converted(values.value(stage.value), stage.value->type, b.type), b.type),
           condition, out);
    return out;
  }
  const bool plain = temporary && !condition.defined() && stage.accumulate == b.type &&
                     !buffers_.written(stage.output);
  if (plain) {
    out.result = buffers_.func(stage.output);
    reduce(stage, places, out.result, values, out);
    return out;
  }
  // Over the same places, in the type of the running value.
  Halide::Func f(plain_name(stage.name) + "_sum");
  reduce(stage, places, f, values, out);
  out.reduction = f;
  std::vector<E> at;
  for (size_t d = places.size(); d-- > 0;) at.emplace_back(places[d].pure);
  define(
      stage, places,
      to_stored(converted(from_stored(f(at), stage.accumulate), stage.accumulate, b.type), b.type),
      condition, out);
  return out;
}

/// The variable and the offset that give each dimension's index.
std::vector<StageMaker::Place> StageMaker::places_of(const ir::Stage& stage) const {
  std::vector<Place> out;
  std::set<std::string> seen;
  const auto beside = [&](const ir::Expr& e) {
    Place p;
    if (e->op == Op::kVar) {
      p.var = e->name;
    } else if (e->op == Op::kAdd && e->args[0]->op == Op::kVar && !has_var(e->args[1])) {
      p.var = e->args[0]->name, p.offset = e->args[1];
    } else if (e->op == Op::kAdd && e->args[1]->op == Op::kVar && !has_var(e->args[0])) {
      p.var = e->args[1]->name, p.offset = e->args[0];
    } else if (e->op == Op::kSub && e->args[0]->op == Op::kVar && !has_var(e->args[1])) {
      p.var = e->args[0]->name, p.offset = make_unary(Op::kNeg, e->args[1]);
    } else if (!has_var(e)) {
      p.offset = e;
    } else {
      refuse("stage " + stage.name + ": Halide cannot be told to write at " + print(e));
    }
    return p;
  };
  for (const ir::Expr& e : stage.out_index) out.push_back(beside(e));
  for (const std::string& f : stage.factored) out.push_back(Place{f, {}, {}});
  for (size_t d = 0; d < out.size(); ++d) {
    Place& p = out[d];
    if (p.var.empty()) {
      p.pure = Halide::Var("d" + std::to_string(d));
    } else if (!seen.insert(p.var).second) {
      refuse("stage " + stage.name + ": Halide cannot be told to write along a diagonal");
    } else {
      p.pure = Halide::Var(plain_name(p.var));
    }
  }
  for (const ir::IndexVar& v : stage.vars) {
    if (seen.count(v.name) == 0) {
      refuse("stage " + stage.name + ": variable " + v.name + " does not say where is written");
    }
  }
  return out;
}

/// True where the variable runs over all of the dimension.
bool StageMaker::covers(const ir::Stage& stage, const Place& p, const ir::Expr& size) const {
  if (p.var.empty()) return is_const(size) && size->i == 1;
  const ir::IndexVar* v = stage.var(p.var);
  // A loop of a reduction taken apart: the dimension is made for it.
  if (!v || stage.is_reduction_var(p.var)) return true;
  if (p.offset || v->lo) return false;
  return equal(v->hi, size);
}

/// Gives the stage's variables their values; where in the output they have any, undefined:
/// everywhere.
E StageMaker::bind_places(const ir::Stage& stage, const std::vector<Place>& places,
                          Values& values) {
  const ir::Buffer& b = *program_.buffer(stage.output);
  E condition;
  for (size_t d = 0; d < places.size(); ++d) {
    const Place& p = places[d];
    E at = p.pure;
    if (covers(stage, p, b.shape[d])) {
      if (!p.var.empty()) values.bind(p.var, at);
      continue;
    }
    if (p.offset) at = at - values.index(p.offset);
    if (p.var.empty()) {
      condition = both(condition, at == 0);
      continue;
    }
    const ir::IndexVar& v = *stage.var(p.var);
    if (mentions_load(v.hi) || (v.lo && mentions_load(v.lo)) || has_var(v.hi)) {
      refuse("stage " + stage.name + ": the range of " + v.name + " is no box");
    }
    const E lo = v.lo ? values.index(v.lo) : E(0);
    const E hi = values.index(v.hi);
    condition = both(condition, at >= lo && at < hi);
    // Of values outside nothing is stored, yet Halide asks what they need.
    values.bind(p.var, Halide::clamp(at, lo, Halide::max(lo, hi - 1)));
  }
  return condition;
}

void StageMaker::define(const ir::Stage& stage, const std::vector<Place>& places, const E& value,
                        const E& condition, StageFuncs& out) {
  const bool again = buffers_.written(stage.output);
  Halide::Func& f = buffers_.func(stage.output);
  std::vector<Halide::Var> vars;
  for (const Place& p : places) {
    vars.push_back(p.pure);
    if (!p.var.empty()) out.vars.emplace_back(p.var, p.pure);
  }
  if (again && f.num_update_definitions() == 0 && !f.defined()) refuse("no definition");
  const E stored =
      condition.defined() ? Halide::select(condition, value, Halide::undef(value.type())) : value;
  f(reversed(vars)) = stored;
  out.result = f;
  out.definition = again ? f.num_update_definitions() : 0;
}

/// Defines `f` over the stage's places by its identity and one update.
void StageMaker::reduce(const ir::Stage& stage, const std::vector<Place>& places, Halide::Func f,
                        Values& values, StageFuncs& out) {
  std::vector<Halide::Var> vars;
  for (const Place& p : places) {
    vars.push_back(p.pure);
    if (!p.var.empty()) out.vars.emplace_back(p.var, p.pure);
  }
  const std::vector<E> at = reversed(vars);
  const DType type = stage.accumulate;
  const E identity = values.value(ir::identity(stage.reduce, type));
  f(at) = to_stored(identity, type);
  out.reduces = true;
  if (stage.reduces_nothing()) {
    out.reduces = false;
    return;
  }
  Halide::RDom dom = Reduction(stage, ranges_, values, out).bind();
  if (const ir::Expr where = part_of(stage, stage.where, true)) dom.where(values.value(where));
  const E value = converted(values.value(stage.value), stage.value->type, type);
  f(at) = to_stored(combine(stage.reduce, from_stored(f(at), type), value, floats_), type);
}

}  // namespace hone::jit::halide
