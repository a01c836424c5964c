// SPDX-License-Identifier: Apache-2.0
#include "schedules/steps/edit.h"

#include <fmt/format.h>

#include <algorithm>

#include "jit/ir/group.h"

namespace hone::schedules {
namespace {

template <class List>
size_t position_in(const List& items, std::string_view name) {
  size_t i = 0;
  while (i < items.size() && items[i].name != name) ++i;
  return i;
}

template <class List>
std::string names_text(const List& items) {
  std::vector<std::string> names;
  for (const auto& item : items) names.push_back(item.name);
  return list_text(names);
}

std::string loops_text(const ir::Stage& stage) {
  return "stage " + stage.name + " has " +
         (stage.loops.empty() ? "no loops" : names_text(stage.loops));
}

ir::Reject no_loop(const ir::Program& program, const std::string& name) {
  std::string reason = "there is no loop " + name;
  for (const ir::Stage& s : program.stages) reason += "; " + loops_text(s);
  return ir::Reject(std::move(reason));
}

/// The relation that derives loops from `name`, or null.
const ir::Relation* derivation(const ir::Stage& stage, const std::string& name) {
  for (const ir::Relation& r : stage.relations) {
    if (r.parent == name || (r.kind == ir::Relation::kFuse && r.second == name)) return &r;
  }
  return nullptr;
}

/// Says what became of a loop that was split or fused; else that there is none of that name.
ir::Reject no_such_leaf(const ir::Stage& stage, const std::string& loop) {
  const ir::Relation* r = derivation(stage, loop);
  if (!r) return ir::Reject("there is no loop " + loop + "; " + loops_text(stage));
  if (r->kind == ir::Relation::kFuse) {
    return ir::Reject("loop " + stage.name + "/" + loop + " was fused into " + r->outer);
  }
  return ir::Reject("loop " + stage.name + "/" + loop + " was split into " + r->outer + " and " +
                    r->inner);
}

}  // namespace

std::string list_text(const std::vector<std::string>& names) {
  std::string out;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i) out += i + 1 == names.size() ? " and " : ", ";
    out += names[i];
  }
  return out;
}

size_t position_of(const ir::Stage& stage, std::string_view name) {
  return position_in(stage.loops, name);
}

Result<size_t, ir::Reject> find_stage(const ir::Program& program, const std::string& name) {
  const size_t at = position_in(program.stages, name);
  if (at < program.stages.size()) return at;
  return ir::Reject{"there is no stage " + name + "; the stages are " + names_text(program.stages)};
}

Result<size_t, ir::Reject> find_buffer(const ir::Program& program, const std::string& name) {
  const size_t at = position_in(program.buffers, name);
  if (at < program.buffers.size()) return at;
  return ir::Reject{"there is no tensor " + name + "; the tensors are " +
                    names_text(program.buffers)};
}

Result<LoopRef, ir::Reject> find_loop(const ir::Program& program, const std::string& name) {
  const size_t slash = name.rfind('/');
  if (slash != std::string::npos) {
    auto stage = find_stage(program, name.substr(0, slash));
    if (!stage) return stage.failure();
    const ir::Stage& s = program.stages[*stage];
    const size_t at = position_of(s, name.substr(slash + 1));
    if (at == s.loops.size()) return no_such_leaf(s, name.substr(slash + 1));
    return LoopRef{*stage, at};
  }
  LoopRef found;
  std::vector<std::string> owners;
  for (size_t i = 0; i < program.stages.size(); ++i) {
    const size_t at = position_of(program.stages[i], name);
    if (at == program.stages[i].loops.size()) continue;
    found = {i, at};
    owners.push_back(program.stages[i].name + "/" + name);
  }
  if (owners.size() == 1) return found;
  if (owners.size() > 1) {
    return ir::Reject{"several stages have a loop " + name + ": say which of " + list_text(owners)};
  }
  for (const ir::Stage& s : program.stages) {
    if (derivation(s, name)) return no_such_leaf(s, name);
  }
  return no_loop(program, name);
}

Result<std::vector<LoopRef>, ir::Reject> find_loops(const ir::Program& program,
                                                    const std::vector<std::string>& names) {
  if (names.empty()) return ir::Reject{"no loop is named"};
  size_t stage = program.stages.size();
  for (const std::string& name : names) {
    auto one = find_loop(program, name);
    if (!one) continue;
    if (stage != program.stages.size() && stage != one->stage) {
      return ir::Reject{"the loops " + list_text(names) + " are not all of one stage"};
    }
    stage = one->stage;
  }
  std::vector<LoopRef> out;
  for (const std::string& name : names) {
    auto one = find_loop(program, name);
    if (!one && stage != program.stages.size() && name.find('/') == std::string::npos) {
      one = find_loop(program, program.stages[stage].name + "/" + name);
    }
    if (!one) return one.failure();
    for (const LoopRef& other : out) {
      if (other.loop == one->loop) return ir::Reject{"loop " + name + " is given twice"};
    }
    out.push_back(*one);
  }
  return out;
}

std::string taken_loop(const ir::Stage& stage, const std::string& name) {
  // What a loop derives from is followed through all of them, again and again.
  // Chosen: time that a hostile schedule may take (not measured).
  constexpr size_t kMostRelations = 64;
  if (stage.relations.size() >= kMostRelations) {
    return "stage " + stage.name + " has 64 splits and fuses already, the most that one may have";
  }
  bool taken = position_of(stage, name) < stage.loops.size() || stage.var(name) != nullptr;
  for (const ir::Relation& r : stage.relations) {
    taken |= r.outer == name || r.inner == name;
  }
  if (!taken) return {};
  return "stage " + stage.name + " has a loop " + name + " already; choose another name";
}

std::string taken_stage(const ir::Program& program, const std::string& name) {
  if (!program.stage(name) && !program.buffer(name)) return {};
  return "there is a stage or tensor " + name + " already; choose another name";
}

std::string pinned_loop(const ir::Program& program, const ir::Stage& stage,
                        const std::string& loop) {
  const ir::Place here{stage.name, loop};
  for (const ir::Stage& other : program.stages) {
    if (other.at == here || other.store == here) {
      return "stage " + other.name + " is placed at loop " + loop + "; do this before placing it";
    }
  }
  for (const ir::Stage& other : program.stages) {
    for (const ir::Prefetch& f : other.prefetches) {
      if (!(f.outer == here) && (other.name != stage.name || f.loop != loop)) continue;
      return f.tensor + " is prefetched at loop " + loop + "; do this before";
    }
  }
  for (const std::string& f : stage.factored) {
    if (f == loop) return "loop " + loop + " is an index of " + stage.output + "; do this before";
  }
  return {};
}

std::vector<std::string> roots_of(const ir::Stage& stage, const std::string& loop) {
  for (const ir::Relation& r : stage.relations) {
    if (r.outer != loop && r.inner != loop) continue;
    std::vector<std::string> out = roots_of(stage, r.parent);
    if (r.kind == ir::Relation::kFuse) {
      for (std::string& root : roots_of(stage, r.second)) out.push_back(std::move(root));
    }
    return out;
  }
  return {loop};
}

bool is_reduction(const ir::Stage& stage, const std::string& loop) {
  for (const std::string& root : roots_of(stage, loop)) {
    if (stage.is_reduction_var(root)) return true;
  }
  return false;
}

ir::Expr extent_of(const ir::Stage& stage, const std::string& loop) {
  for (const ir::Relation& r : stage.relations) {
    if (r.kind == ir::Relation::kSplit && r.inner == loop) return ir::make_int(r.factor);
    if (r.outer != loop) continue;
    const ir::Expr parent = extent_of(stage, r.parent);
    if (r.kind == ir::Relation::kFuse) return parent * extent_of(stage, r.second);
    return ir::make_binary(ir::Op::kDiv, parent + ir::make_int(r.factor - 1),
                           ir::make_int(r.factor));
  }
  const ir::IndexVar* v = stage.var(loop);
  return v->lo ? v->hi - v->lo : v->hi;
}

std::string windowless(const ir::Stage& stage) {
  const bool plain =
      std::all_of(stage.out_index.begin(), stage.out_index.end(),
                  [](const ir::Expr& e) { return e->op == ir::Op::kVar || ir::is_const(e); });
  if (plain) return {};
  return stage.name + " writes " + stage.output +
         " by an index of two variables, since `collapse`" +
         " made one dim of two; leave it at the root";
}

std::string shared_chains(const ir::Program& program, size_t stage) {
  const ir::Stage& s = program.stages[stage];
  if (ir::Groups(program).of(stage)) {
    return "stage " + s.name + " goes on from stages that go on from it; they stay together";
  }
  const bool more = std::any_of(
      program.stages.begin(), program.stages.end(),
      [&](const ir::Stage& other) { return other.output == s.output && other.name != s.name; });
  if (more || program.buffer(s.output)->role == ir::Role::kInOut) {
    return "stage " + s.name + " goes on from elements of " + s.output + " that it does not write";
  }
  return {};
}

std::string no_partial_results(const ir::Stage& stage) {
  if (stage.reduce != ir::Reduce::kLast) return {};
  return "of stage " + stage.name + " the last term stays, which partial results do not tell";
}

void gather_results(std::vector<ir::Loop>& loops) {
  for (ir::Loop& l : loops) {
    if (l.mark == ir::Mark::kScatter) l.mark = ir::Mark::kSerial;
  }
}

std::string stale_by(const ir::Program& program, size_t from, size_t to) {
  size_t root = to;  // the stage in whose loops it runs
  while (!program.stages[root].at.root()) {
    root = *find_stage(program, program.stages[root].at.stage);
  }
  for (size_t i = from + 1; i < root; ++i) {
    const std::string& written = program.stages[i].output;
    const ir::Role role = program.buffer(written)->role;
    if (role != ir::Role::kInOut || !reads(program.stages[from], written)) continue;
    return fmt::format("{} reads the old value of {}, and {} runs when {} has written a new one",
                       program.stages[from].name, written, program.stages[to].name,
                       program.stages[i].name);
  }
  return {};
}

const ir::IndexVar* bounded_by_results(const ir::Stage& stage) {
  for (const ir::IndexVar& v : stage.rvars) {
    for (const ir::Expr& end : {v.lo, v.hi}) {
      if (end && mentions_any(end, stage.vars)) return &v;
    }
  }
  return nullptr;
}

bool divides_by_one_value(const ir::Expr& e, std::string_view var) {
  if (e->op != ir::Op::kDiv || e->reciprocal) return false;
  if (e->type != DType::kF32 && e->type != DType::kF64) return false;
  return ir::mentions_var(e->args[0], var) && !ir::mentions_var(e->args[1], var);
}

std::string dividing_loop(const ir::Stage& stage) {
  for (size_t i = stage.loops.size(); i-- > 0;) {
    const std::string& name = stage.loops[i].name;
    const auto divides = [&](const ir::Expr& e) { return divides_by_one_value(e, name); };
    if (stage.var(name) && ir::any_node(stage.value, divides)) return name;
  }
  return {};
}

bool reads(const ir::Stage& stage, std::string_view buffer) {
  const auto in = [&](const ir::Expr& e) {
    return ir::any_node(
        e, [&](const ir::Expr& n) { return n->op == ir::Op::kLoad && n->name == buffer; });
  };
  const auto in_range = [&](const ir::IndexVar& v) { return in(v.lo) || in(v.hi); };
  return in(stage.value) || in(stage.where) ||
         std::any_of(stage.out_index.begin(), stage.out_index.end(), in) ||
         std::any_of(stage.vars.begin(), stage.vars.end(), in_range) ||
         std::any_of(stage.rvars.begin(), stage.rvars.end(), in_range);
}

bool is_inside(const ir::Program& program, const ir::Place& place, const ir::Place& loop) {
  for (ir::Place p = place; !p.root();) {
    const ir::Stage* owner = program.stage(p.stage);
    if (!owner) return false;
    if (p.stage == loop.stage) {
      return position_of(*owner, p.loop) >= position_of(*owner, loop.loop);
    }
    p = owner->at;
  }
  return false;
}

ir::Expr substitute(const ir::Expr& e, const std::map<std::string, ir::Expr>& by_name) {
  return ir::rewrite(e, [&](const ir::Expr& n) -> ir::Expr {
    if (n->op != ir::Op::kVar) return {};
    const auto it = by_name.find(n->name);
    return it == by_name.end() ? ir::Expr() : it->second;
  });
}

ir::Expr without(const ir::Expr& where, const std::vector<ir::IndexVar>& variables) {
  if (!where) return where;
  if (where->op == ir::Op::kAnd) {
    const ir::Expr a = without(where->args[0], variables);
    const ir::Expr b = without(where->args[1], variables);
    return a && b ? make_binary(ir::Op::kAnd, a, b) : a ? a : b;
  }
  for (const ir::IndexVar& v : variables) {
    if (ir::mentions_var(where, v.name)) return {};
  }
  return where;
}

bool is_size(const ir::Expr& extent) {
  return !ir::any_node(
      extent, [](const ir::Expr& n) { return n->op == ir::Op::kVar || n->op == ir::Op::kLoad; });
}

bool implied(const ir::Expr& where, const ir::Expr& all) {
  if (!all) return false;
  if (equal(where, all)) return true;
  return all->op == ir::Op::kAnd && (implied(where, all->args[0]) || implied(where, all->args[1]));
}

ir::Expr in_range(const ir::Expr& load, const std::vector<ir::Expr>& shape) {
  ir::Expr all;
  for (size_t i = 0; i < shape.size(); ++i) {
    const ir::Expr low = make_binary(ir::Op::kLe, ir::make_int(0), load->args[i]);
    const ir::Expr high = make_binary(ir::Op::kLt, load->args[i], shape[i]);
    const ir::Expr both = make_binary(ir::Op::kAnd, low, high);
    all = all ? make_binary(ir::Op::kAnd, all, both) : both;
  }
  return all;
}

ir::Expr rename_loads(const ir::Expr& e, const std::string& from, const std::string& to) {
  return ir::rewrite(e, [&](const ir::Expr& n) -> ir::Expr {
    if (n->op != ir::Op::kLoad || n->name != from) return {};
    std::vector<ir::Expr> indices = n->args;
    ir::Expr otherwise;
    if (n->guarded) {
      otherwise = indices.back();
      indices.pop_back();
    }
    return ir::make_load(to, n->type, std::move(indices), otherwise);
  });
}

ir::Space space_named(std::string_view in) {
  if (in == "registers") return ir::Space::kRegisters;
  if (in == "warp") return ir::Space::kWarp;
  return in == "shared" ? ir::Space::kSharedMemory : ir::Space::kScratch;
}

}  // namespace hone::schedules
