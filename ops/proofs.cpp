// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "jit/ir/tree_size.h"
#include "ops/lowering.h"

namespace hone::ops {
namespace {

using ir::Expr;

/// Are all variables of `e` among the stage's own?
bool covers(const Draft& draft, const Expr& e) {
  if (e->op == ir::Op::kVar) {
    const auto named = [&](const Index& index) { return index.name == e->name; };
    return std::any_of(draft.vars.begin(), draft.vars.end(), named) ||
           std::any_of(draft.rvars.begin(), draft.rvars.end(), named);
  }
  return std::all_of(e->args.begin(), e->args.end(),
                     [&](const Expr& a) { return covers(draft, a); });
}

Expr all_of(const std::vector<Expr>& a, const std::vector<Expr>& b) {
  Expr all;
  for (const auto* list : {&a, &b}) {
    for (const Expr& c : *list) all = all ? ir::make_binary(ir::Op::kAnd, all, c) : c;
  }
  return all;
}

bool contains(const std::vector<const ir::Node*>& nodes, const Expr& e) {
  return std::find(nodes.begin(), nodes.end(), e.get()) != nodes.end();
}

/// `e` with the draft's `guards` reading 0 where an index leaves the tensor, and without the
/// `else` of its `unguards`.
Expr with_guards_settled(const Expr& e, const Draft& draft) {
  std::vector<Expr> args;
  bool changed = false;
  for (const Expr& a : e->args) {
    args.push_back(with_guards_settled(a, draft));
    changed |= args.back().get() != a.get();
  }
  if (contains(draft.guards, e)) {
    const Expr zero = is_float(e->type) ? ir::make_float(0, e->type) : ir::make_int(0, e->type);
    return ir::make_load(e->name, e->type, std::move(args), zero);
  }
  if (contains(draft.unguards, e)) {
    args.pop_back();
    return ir::make_load(e->name, e->type, std::move(args));
  }
  return changed ? ir::with_args(e, std::move(args)) : e;
}

bool same_check(const ir::Check& a, const ir::Check& b) {
  const auto same = [](const ir::IndexVar& x, const ir::IndexVar& y) {
    return x.name == y.name && equal(x.lo, y.lo) && equal(x.hi, y.hi);
  };
  return equal(a.value, b.value) && equal(a.lo, b.lo) && equal(a.hi, b.hi) &&
         std::equal(a.vars.begin(), a.vars.end(), b.vars.begin(), b.vars.end(), same);
}

/// The usual case, seen without a proof: an index over 0..extent.
bool spans_dim(const Draft& draft, const Expr& index, const Expr& extent) {
  if (index->op != ir::Op::kVar) return false;
  for (const auto* list : {&draft.vars, &draft.rvars}) {
    for (const Index& i : *list) {
      int64_t lo = -1;
      if (i.name == index->name) {
        return ir::is_const(i.lo, &lo) && lo == 0 && equal(i.from_data ? i.end : i.hi, extent);
      }
    }
  }
  return false;
}

constexpr uint32_t kMaxConditionParts =
    1000;                              // of a condition; hostile texts double them per statement
constexpr size_t kMaxConditions = 48;  // of one stage, for the same reason

}  // namespace

Interval interval_of(const Index& index) {
  if (index.from_data) return {index.name, ir::make_int(0), index.end};
  return {index.name, index.lo, index.hi};
}

ir::IndexVar index_var(const Index& index) {
  int64_t lo = -1;
  const bool zero = ir::is_const(index.lo, &lo) && lo == 0;
  return {index.name, zero ? Expr() : index.lo, index.hi};
}

Expr first_load(const Expr& e) {
  if (e->op == ir::Op::kLoad) return e;
  for (const Expr& a : e->args) {
    if (Expr found = first_load(a)) return found;
  }
  return {};
}

Prover Lowering::prover_for(const Draft& draft, bool with_domain,
                            const std::vector<Expr>& when) const {
  Prover prover(binding_.ranged);
  for (const Index& index : draft.vars) prover.add_variable(interval_of(index));
  for (const Index& index : draft.rvars) prover.add_variable(interval_of(index));
  if (with_domain) {
    for (const Expr& c : draft.domain) prover.add_fact(c);
  }
  for (const Expr& c : draft.limits) prover.add_fact(c);
  for (const Expr& c : when) {
    if (covers(draft, c)) prover.add_fact(c);
  }
  return prover;
}

/// Settles what a finished draft may read, and completes its stage.
void Lowering::settle(Draft& draft) {
  for (const Expr& c : own_) {
    if (covers(draft, c)) append_conjuncts(c, draft.domain);
  }
  settle_needs(draft);
  assemble(draft);
  prove_accesses(draft, true);
}

void Lowering::assemble(Draft& draft) const {
  ir::Stage& stage = draft.stage;
  stage.output = stage.name;
  for (const Index& index : draft.vars) {
    stage.vars.push_back(index_var(index));
    stage.out_index.push_back(ir::make_var(index.name));
    stage.loops.push_back({index.name});
  }
  for (const Index& index : draft.rvars) {
    stage.rvars.push_back(index_var(index));
    stage.loops.push_back({index.name});
  }
}

/// Reads of tensors that are not defined everywhere: implied by the stage's own ranges and
/// conditions; or discarded outside; or inherited, by what is reduced or by an intermediate.
void Lowering::settle_needs(Draft& draft) {
  if (draft.needs.empty()) return;
  Prover sure = prover_for(draft, true);
  for (const Need& need : draft.needs) {
    draft.limited.push_back(need.producer);
    if (sure.implies(need.condition)) continue;
    if (!need.when.empty() && prover_for(draft, true, need.when).implies(need.condition)) {
      drafts_[need.producer].total = true;
      continue;
    }
    if (reads_data(need.condition)) {
      error(need.span,
            "`{}` is defined only in a part of its range, and an index that is read from data may "
            "leave that part; give it a value elsewhere, `... where ... else v`",
            snippet(need.span));
      return;
    }
    const bool reduced = std::any_of(draft.rvars.begin(), draft.rvars.end(), [&](const Index& r) {
      return ir::mentions_var(need.condition, r.name);
    });
    if (!reduced && draft.role != ir::Role::kTemp) {
      error(need.span,
            "`{}` is read outside of where it is defined, `{}`; give it a value there, `... where "
            "... else v`, or read it as `{} else v`",
            snippet(need.span), print(need.condition), snippet(need.span));
      return;
    }
    if (ir::tree_size(need.condition) > kMaxConditionParts) {
      error(need.span,
            "the condition under which `{}` is defined has more than 1000 parts here; give it a "
            "value "
            "everywhere, `where ... else v`",
            snippet(need.span));
      return;
    }
    append_conjuncts(need.condition, reduced ? draft.limits : draft.domain);
    sure.add_fact(need.condition);
    if (draft.limits.size() + draft.domain.size() > kMaxConditions) {
      error(need.span,
            "this stage inherits more than 48 conditions from what it reads; give the "
            "tensors values everywhere, `where ... else v`");
      return;
    }
  }
}

void Lowering::prove_accesses(Draft& draft, bool with_domain) {
  const Prover sure = prover_for(draft, with_domain);
  std::vector<Expr> conditions;
  Prover when = sure;
  for (const Access& access : draft.accesses) {
    if (access.load->guarded) continue;
    const bool known = std::equal(conditions.begin(), conditions.end(), access.when.begin(),
                                  access.when.end(), ir::equal);
    if (!known) when = prover_for(draft, with_domain, conditions = access.when);
    apart([&] { return prove_indices(draft, access, sure, when, with_domain); });
  }
}

bool Lowering::prove_indices(Draft& draft, const Access& access, const Prover& sure,
                             const Prover& when, bool with_domain) {
  for (size_t i = 0; i < access.index_count() && !failed(); ++i) {
    const Expr& index = access.load->args[i];
    if (!reads_data(index)) {
      prove_access(draft, access, i, sure, when, with_domain);
      continue;
    }
    if (with_domain) check_data_index(draft, access, i);
    // What a discarded index gives in place of data is in no tensor without elements.
    ir::visit(index, [&](const Expr& e) {
      if (e->op == ir::Op::kLoad && contains(draft.guards, e)) {
        draft.guards.push_back(access.load.get());
      }
    });
  }
  return !failed();
}

void Lowering::prove_access(Draft& draft, const Access& access, size_t dim, const Prover& sure,
                            const Prover& when, bool with_domain) {
  const Expr& index = access.load->args[dim];
  const Expr extent = program_.buffers[tensors_.find(access.load->name)->second.buffer].shape[dim];
  if (spans_dim(draft, index, extent)) return;
  const Expr room = extent - index - ir::make_int(1);
  const Proof low = sure.non_negative(index);
  const Proof high = sure.non_negative(room);
  if (low == Proof::kYes && high == Proof::kYes) return;
  const bool discarded = !access.when.empty() && when.non_negative(index) == Proof::kYes &&
                         when.non_negative(room) == Proof::kYes;
  if (discarded || !with_domain) {
    draft.guards.push_back(access.load.get());
    return;
  }
  if (binding_.checking && low != Proof::kNo && high != Proof::kNo) return;
  error(
      access.span,
      "index {} of `{}` {} dim {} of `{}`, of extent {}; say what stands outside, `{} else 0`, or "
      "state smaller ranges",
      print(index), snippet(access.span),
      low == Proof::kNo || high == Proof::kNo ? "leaves" : "may leave", dim, access.load->name,
      print(extent), snippet(access.span));
}

/// A convolution without padding, say, says `else` and never needs it.
void Lowering::drop_idle_guards(Draft& draft) const {
  for (const Access& access : draft.accesses) {
    if (!access.load->guarded) continue;
    const Prover prover = prover_for(draft, true);
    const ir::Buffer& b = program_.buffers[tensors_.find(access.load->name)->second.buffer];
    bool inside = true;
    for (size_t i = 0; i < access.index_count() && inside; ++i) {
      const Expr& index = access.load->args[i];
      inside = spans_dim(draft, index, b.shape[i]) ||
               (!reads_data(index) && prover.non_negative(index) == Proof::kYes &&
                prover.non_negative(b.shape[i] - index - ir::make_int(1)) == Proof::kYes);
    }
    if (inside) draft.unguards.push_back(access.load.get());
  }
}

std::vector<ir::IndexVar> Lowering::check_vars(const Expr& e,
                                               const std::vector<Index>& scope) const {
  std::vector<ir::IndexVar> vars;
  for (size_t i = scope.size(); i-- > 0;) {
    const Index& index = scope[i];
    bool used = ir::mentions_var(e, index.name);
    for (const ir::IndexVar& v : vars) {
      used |= (v.lo && ir::mentions_var(v.lo, index.name)) || ir::mentions_var(v.hi, index.name);
    }
    if (!used) continue;
    ir::IndexVar v = index_var(index);
    if (index.from_data) v = {index.name, {}, index.end};
    vars.insert(vars.begin(), std::move(v));
  }
  return vars;
}

/// Adds a check of `source`, an expression that reads data; false with an error where it cannot be
/// checked before the stages run.
bool Lowering::add_check(ir::Check check, const Expr& source, Span span) {
  const Expr load = first_load(source);
  bool input = true;
  ir::visit(source, [&](const Expr& e) {
    if (e->op != ir::Op::kLoad) return;
    const ir::Buffer& b = program_.buffers[tensors_.find(e->name)->second.buffer];
    input &= b.role == ir::Role::kInput;
  });
  if (!input) {
    error(span,
          "an index or range that is read from data is checked before anything runs, so it must "
          "come from inputs; guard the read with `else`");
    return false;
  }
  const ir::Buffer& b = program_.buffers[tensors_.find(load->name)->second.buffer];
  check.tensor = b.name;
  check.position = ir::make_int(0);
  for (size_t i = 0; i < b.shape.size(); ++i) {
    check.position = check.position * b.shape[i] + load->args[i];
  }
  for (const ir::Check& known : program_.checks) {
    if (same_check(known, check)) return true;
  }
  program_.checks.push_back(std::move(check));
  return true;
}

void Lowering::check_data_index(const Draft& draft, const Access& access, size_t dim) {
  std::vector<Index> scope = draft.vars;
  scope.insert(scope.end(), draft.rvars.begin(), draft.rvars.end());
  const Expr& index = access.load->args[dim];
  const ir::Buffer& b = program_.buffers[tensors_.find(access.load->name)->second.buffer];
  ir::Check check;
  check.vars = check_vars(index, scope);
  check.value = index;
  check.lo = ir::make_int(0);
  check.hi = b.shape[dim] - ir::make_int(1);
  add_check(std::move(check), index, access.span);
}

/// Drops the domains that some reader needs gone, then hands the stages over.
void Lowering::finish_drafts() {
  for (size_t i = drafts_.size(); i-- > 0;) {
    Draft& draft = drafts_[i];
    if (!draft.total) continue;
    draft.domain.clear();
    for (const int producer : draft.limited) drafts_[producer].total = true;
    prove_accesses(draft, false);
  }
  for (Draft& draft : drafts_) {
    if (!binding_.checking) drop_idle_guards(draft);
    draft.stage.where = all_of(draft.domain, draft.limits);
    if (!draft.guards.empty() || !draft.unguards.empty()) {
      draft.stage.value = with_guards_settled(draft.stage.value, draft);
    }
    program_.stages.push_back(std::move(draft.stage));
  }
}

}  // namespace hone::ops
