// SPDX-License-Identifier: Apache-2.0
#include "schedules/steps/inline_reduction.h"

#include <algorithm>
#include <map>
#include <utility>

#include "schedules/steps/edit.h"

namespace hone::schedules {
namespace {

/// True where an extent is at least 1, whatever the dims.
bool is_some(const ir::Program& p, const ir::Expr& extent) {
  if (ir::is_const(extent)) return extent->i >= 1;
  return extent->op == ir::Op::kDim &&
         std::any_of(p.dims.begin(), p.dims.end(),
                     [&](const ir::Dim& d) { return d.name == extent->name && d.lo >= 1; });
}

/// Why the `else` of the load that is all of `reader` cannot go on to readers of that; empty when
/// it can.
std::string else_objection(const ir::Program& p, const ir::Stage& s, const ir::Stage& reader) {
  if (p.buffer(reader.output)->role != ir::Role::kTemp) {
    return s.name + " is a reduction, and " + reader.name + " stores an `else` beside its results";
  }
  for (const ir::Expr& extent : p.buffer(s.output)->shape) {
    if (!is_some(p, extent)) return s.name + " may be empty, and its reader has an `else`";
  }
  for (ir::Stage other : p.stages) {
    bool again = false;
    for_each_expr(other, [&](const ir::Expr& part) {
      again |= ir::any_node(part, [&](const ir::Expr& e) {
        return e->op == ir::Op::kLoad && e->name == reader.output && e->guarded;
      });
    });
    if (again) return other.name + " reads " + reader.name + " with an `else` of its own";
  }
  return {};
}

/// True of a stage that loads `s` and reads it nowhere else.
bool just_loads(const ir::Stage& reader, const ir::Stage& s) {
  const ir::Expr load = reader.value;
  if (load->op != ir::Op::kLoad || load->name != s.output) return false;
  ir::Stage rest = reader;
  rest.value = ir::make_int(0);
  for (const ir::Expr& index : load->args) rest.out_index.push_back(index);
  return reader.reduce == ir::Reduce::kNone && !reads(rest, s.output);
}

/// `name`, with its last letter repeated until it is new to the stage.
std::string new_var(const ir::Stage& stage, std::string name) {
  while (!taken_loop(stage, name).empty()) name += name.back();
  return name;
}

/// Has all stages take what `load` gives in place of the load of `made`. Where `load` leaves its
/// tensor that is the `else`.
void choose_else(ir::Program& p, const ir::Stage& made, const ir::Expr& load) {
  const ir::Expr inside = in_range(load, p.buffer(load->name)->shape);
  for (size_t i = 0; i < p.stages.size(); ++i) {
    if (!reads(p.stages[i], made.output)) continue;
    for_each_expr(p.stages.edit(i), [&](ir::Expr& e) {
      e = ir::rewrite(e, [&](const ir::Expr& n) -> ir::Expr {
        if (n->op != ir::Op::kLoad || n->name != made.output) return {};
        std::map<std::string, ir::Expr> by_name;
        for (size_t d = 0; d < made.out_index.size(); ++d) {
          by_name[made.out_index[d]->name] = n->args[d];
        }
        return ir::make_select(substitute(inside, by_name), n,
                               substitute(load->args.back(), by_name));
      });
    });
  }
}

/// True where an index is a variable that runs over just that extent.
bool runs_over(const ir::Stage& s, const ir::Expr& index, const ir::Expr& extent) {
  const ir::IndexVar* v = index->op == ir::Op::kVar ? s.var(index->name) : nullptr;
  return v && !v->lo && equal(v->hi, extent);
}

/// Makes `reader` the reduction at the indices of the load that it is.
void become_reduction(const ir::Program& p, ir::Stage& reader, const ir::Stage& s) {
  std::map<std::string, ir::Expr> by_name;
  for (size_t i = 0; i < s.out_index.size(); ++i) {
    ir::Expr index = reader.value->args[i];
    const ir::Expr& extent = p.buffer(s.output)->shape[i];
    if (reader.value->guarded && !runs_over(reader, index, extent)) {
      const ir::Expr last = extent - ir::make_int(1);
      index = make_binary(ir::Op::kMax, ir::make_int(0), make_binary(ir::Op::kMin, index, last));
    }
    by_name[s.out_index[i]->name] = index;
  }
  for (const ir::IndexVar& v : s.rvars) {
    ir::IndexVar mine = v;
    mine.name = new_var(reader, v.name);
    if (mine.lo) mine.lo = substitute(mine.lo, by_name);
    mine.hi = substitute(mine.hi, by_name);
    by_name[v.name] = ir::make_var(mine.name);
    reader.loops.push_back({mine.name});
    reader.rvars.push_back(std::move(mine));
  }
  reader.reduce = s.reduce;
  reader.accumulate = s.accumulate;
  reader.value = substitute(s.value, by_name);
  // What holds of the terms; the rest holds of all that `reader` computes.
  const auto carry = [&](const auto& self, const ir::Expr& all) -> void {
    if (!all) return;
    if (all->op == ir::Op::kAnd) {
      self(self, all->args[0]);
      return self(self, all->args[1]);
    }
    const ir::Expr mine = substitute(all, by_name);
    if (implied(mine, reader.where)) return;
    reader.where = reader.where ? make_binary(ir::Op::kAnd, reader.where, mine) : mine;
  };
  carry(carry, s.where);
}

}  // namespace

std::string reduction_objection(const ir::Program& p, const ir::Stage& s, const ir::Stage& reader) {
  const auto scheduled = [](const ir::Stage& stage) {
    return !stage.relations.empty() || !stage.at.root() || !stage.factored.empty() ||
           !stage.prefetches.empty() ||
           std::any_of(stage.loops.begin(), stage.loops.end(),
                       [](const ir::Loop& l) { return l.mark != ir::Mark::kSerial; });
  };
  if (!just_loads(reader, s)) {
    return s.name + " is a reduction, and " + reader.name +
           " does more than load it; precompute the load, or use compute";
  }
  if (p.buffer(s.output)->type != p.buffer(reader.output)->type) {
    return s.name + " is a reduction, and " + reader.name + " is of another type";
  }
  if (scheduled(s) || scheduled(reader)) {
    return s.name + " is a reduction; inline it before its loops or those of " + reader.name +
           " are scheduled";
  }
  return reader.value->guarded ? else_objection(p, s, reader) : "";
}

void inline_reduction(ir::Program& p, const ir::Stage& s, size_t reader) {
  const ir::Expr load = p.stages[reader].value;
  become_reduction(p, p.stages.edit(reader), s);
  if (load->guarded) choose_else(p, ir::Stage(p.stages[reader]), load);
}

}  // namespace hone::schedules
