// SPDX-License-Identifier: Apache-2.0
#include "ops/proofs.h"

#include <algorithm>
#include <utility>

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

Expr all_of(const Draft& draft) {
  Expr all;
  for (const auto* list : {&draft.domain, &draft.limits, &draft.places}) {
    for (const Expr& c : *list) all = all ? ir::make_binary(ir::Op::kAnd, all, c) : c;
  }
  return all;
}

bool contains(const std::vector<const ir::Node*>& nodes, const Expr& e) {
  return std::find(nodes.begin(), nodes.end(), e.get()) != nodes.end();
}

/// `e` with the draft's `guards` reading 0 where an index leaves the tensor, and without the
/// `else` of its `unguards`. Of what is `absent` the `else` alone is left.
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
  if (contains(draft.absent, e)) return args.back();
  if (contains(draft.unguards, e)) {
    args.pop_back();
    return ir::make_load(e->name, e->type, std::move(args));
  }
  return changed ? ir::with_args(e, std::move(args)) : e;
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

Prover Proofs::prover_for(const Draft& draft, bool with_domain,
                          const std::vector<Expr>& when) const {
  Prover prover(c_.binding.ranged);
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
void Proofs::settle(Draft& draft) {
  for (const Expr& c : c_.own) {
    if (covers(draft, c)) append_conjuncts(c, draft.domain);
  }
  settle_needs(draft);
  assemble(draft);
  prove_accesses(draft, true);
}

void Proofs::assemble(Draft& draft) const {
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

/// Settles reads of tensors that are not defined everywhere. The stage's own ranges imply the
/// condition, or the read is discarded outside, or the reduction or the intermediate inherits it.
void Proofs::settle_needs(Draft& draft) {
  if (draft.needs.empty()) return;
  Prover sure = prover_for(draft, true);
  for (const Need& need : draft.needs) {
    draft.limited.push_back(need.producer);
    if (sure.implies(need.condition)) continue;
    if (!need.when.empty() && prover_for(draft, true, need.when).implies(need.condition)) {
      c_.drafts[need.producer].total = true;
      continue;
    }
    if (reads_data(need.condition)) {
      c_.error(
          need.span,
          "`{}` is defined only in a part of its range, and an index that is read from data may "
          "leave that part; give it a value elsewhere, `... where ... else v`",
          c_.snippet(need.span));
      return;
    }
    const bool reduced = std::any_of(draft.rvars.begin(), draft.rvars.end(), [&](const Index& r) {
      return ir::mentions_var(need.condition, r.name);
    });
    if (!reduced && draft.role != ir::Role::kTemp) {
      c_.error(
          need.span,
          "`{}` is read outside of where it is defined, `{}`; give it a value there, `... where "
          "... else v`, or read it as `{} else v`",
          c_.snippet(need.span), print(need.condition), c_.snippet(need.span));
      return;
    }
    if (ir::tree_size(need.condition) > kMaxConditionParts) {
      c_.error(need.span,
               "the condition under which `{}` is defined has more than 1000 parts here; give it a "
               "value "
               "everywhere, `where ... else v`",
               c_.snippet(need.span));
      return;
    }
    append_conjuncts(need.condition, reduced ? draft.limits : draft.domain);
    sure.add_fact(need.condition);
    if (draft.limits.size() + draft.domain.size() > kMaxConditions) {
      c_.error(need.span,
               "this stage inherits more than 48 conditions from what it reads; give the "
               "tensors values everywhere, `where ... else v`");
      return;
    }
  }
}

void Proofs::prove_accesses(Draft& draft, bool with_domain) {
  const Prover sure = prover_for(draft, with_domain);
  std::vector<Expr> conditions;
  Prover when = sure;
  for (const Access& access : draft.accesses) {
    if (access.load->guarded) continue;
    const bool known = std::equal(conditions.begin(), conditions.end(), access.when.begin(),
                                  access.when.end(), ir::equal);
    if (!known) when = prover_for(draft, with_domain, conditions = access.when);
    c_.apart([&] { return prove_indices(draft, access, sure, when, with_domain); });
  }
}

bool Proofs::prove_indices(Draft& draft, const Access& access, const Prover& sure,
                           const Prover& when, bool with_domain) {
  for (size_t i = 0; i < access.index_count() && !c_.failed(); ++i) {
    const Expr& index = access.load->args[i];
    if (!reads_data(index)) {
      prove_access(draft, access, i, sure, when, with_domain);
      continue;
    }
    if (with_domain) checks_.check_data_index(draft, access, i);
    // What a discarded index gives in place of data is in no tensor without elements.
    ir::visit(index, [&](const Expr& e) {
      if (e->op == ir::Op::kLoad && contains(draft.guards, e)) {
        draft.guards.push_back(access.load.get());
      }
    });
  }
  return !c_.failed();
}

void Proofs::prove_access(Draft& draft, const Access& access, size_t dim, const Prover& sure,
                          const Prover& when, bool with_domain) {
  const Expr& index = access.load->args[dim];
  const Expr extent = c_.buffer_of(access.load->name).shape[dim];
  if (spans_dim(draft, index, extent)) return;
  const Expr room = extent - index - ir::make_int(1);
  Proof low = sure.non_negative(index);
  Proof high = sure.non_negative(room);
  if (low == Proof::kYes && high == Proof::kYes) return;
  if (!access.when.empty()) {  // elsewhere the value is discarded
    low = when.non_negative(index);
    high = when.non_negative(room);
  }
  if ((low == Proof::kYes && high == Proof::kYes) || !with_domain) {
    draft.guards.push_back(access.load.get());
    return;
  }
  if (c_.binding.checking && low != Proof::kNo && high != Proof::kNo) return;
  c_.error(
      access.span,
      "index {} of `{}` {} dim {} of `{}`, of extent {}; {}, `{} else {}`, or state smaller ranges",
      print(index), c_.snippet(access.span),
      low == Proof::kNo || high == Proof::kNo ? "leaves" : "may leave", dim, access.load->name,
      print(extent), access.written ? "leave out what goes outside" : "say what stands outside",
      c_.snippet(access.span), access.written ? "skip" : "0");
}

/// A convolution without padding, say, says `else` and never needs it. What lies in the padding
/// alone, or in a tensor without elements, always does.
void Proofs::drop_idle_guards(Draft& draft) const {
  for (const Access& access : draft.accesses) {
    if (!access.load->guarded) continue;
    const Prover prover = prover_for(draft, true);
    const ir::Buffer& b = c_.buffer_of(access.load->name);
    const auto holds = [&](const Expr& e) { return prover.non_negative(e) == Proof::kYes; };
    bool inside = true, outside = false;
    for (size_t i = 0; i < access.index_count() && !outside; ++i) {
      const Expr &index = access.load->args[i], &extent = b.shape[i];
      if (spans_dim(draft, index, extent)) continue;
      const bool known = !reads_data(index);
      outside = holds(ir::make_int(0) - extent) ||
                (known && (holds(ir::make_int(-1) - index) || holds(index - extent)));
      inside = inside && known && holds(index) && holds(extent - index - ir::make_int(1));
    }
    if (outside) {
      draft.absent.push_back(access.load.get());
    } else if (inside) {
      draft.unguards.push_back(access.load.get());
    }
  }
}

/// Drops the domains that some reader needs gone, then hands the stages over.
void Proofs::finish_drafts() {
  for (size_t i = c_.drafts.size(); i-- > 0;) {
    Draft& draft = c_.drafts[i];
    if (!draft.total) continue;
    draft.domain.clear();
    for (const int producer : draft.limited) c_.drafts[producer].total = true;
    prove_accesses(draft, false);
  }
  for (Draft& draft : c_.drafts) {
    if (!c_.binding.checking) drop_idle_guards(draft);
    draft.stage.where = all_of(draft);
    if (!draft.guards.empty() || !draft.unguards.empty() || !draft.absent.empty()) {
      draft.stage.value = with_guards_settled(draft.stage.value, draft);
    }
    ir::Stage done = std::move(draft.stage);
    draft.stage.name = done.name;
    c_.program.stages.push_back(std::move(done));
  }
}

}  // namespace hone::ops
