// SPDX-License-Identifier: Apache-2.0
#include "ops/scatters.h"

#include <algorithm>
#include <string>
#include <utility>

#include "ops/scatter_indices.h"
#include "ops/statement_groups.h"

namespace hone::ops {
namespace {

using ir::Expr;

Expr both(const Expr& a, const Expr& b) { return a ? ir::make_binary(ir::Op::kAnd, a, b) : b; }

}  // namespace

std::string Scatters::index_name(size_t dim) { return "at." + std::to_string(dim); }

void Scatters::check(const Statement& s) {
  if (!s.scatters()) {
    if (!s.loops.empty()) {
      c_.error(s.loops[0].span,
               "`for` states the ranges of indices that positions on the left name, as in "
               "`Y[ids[n]] += v for n in 0..N`; this statement has none");
    } else if (s.skip) {
      c_.error(s.span, "`else skip` leaves out positions outside of `{}`, and an index has none",
               s.name);
    }
    return;
  }
  const auto reads = [&](const Term& t) { return reads_tensor(t, s.name); };
  const auto any = [&](const std::vector<Term>& terms) {
    return std::any_of(terms.begin(), terms.end(), reads);
  };
  const bool placed = std::any_of(s.indices.begin(), s.indices.end(),
                                  [&](const Range& r) { return any(r.at) || any(r.bounds); });
  if (placed || reads(s.value) || any(s.where)) {
    c_.error(s.span,
             "a scatter combines with what `{}` holds, and reads it in no other way; take what it "
             "reads from another tensor",
             s.name);
  } else if (!c_.groups.of(static_cast<size_t>(c_.statement - c_.op.statements.data())).empty()) {
    c_.error(s.span, "a scatter is complete before it is read: it is in no circle of statements");
  } else if (!s.otherwise.empty()) {
    c_.error(s.otherwise[0].span,
             "elements that no position names keep what they begin with; a scatter takes no `else` "
             "after `where`");
  }
}

/// Bools have no sums, but some of them hold, or all.
ir::Reduce Scatters::reduction_of(Assign assign, DType type) const {
  const bool logical = type == DType::kBool;
  switch (assign) {
    case Assign::kAdd:
      return logical ? ir::Reduce::kAny : ir::Reduce::kSum;
    case Assign::kMul:
      return logical ? ir::Reduce::kAll : ir::Reduce::kProd;
    case Assign::kMax:
      return logical ? ir::Reduce::kAny : ir::Reduce::kMax;
    case Assign::kMin:
      return logical ? ir::Reduce::kAll : ir::Reduce::kMin;
    case Assign::kSet:
      break;
  }
  return ir::Reduce::kLast;
}

bool Scatters::known(std::string_view name) const {
  return c_.names_something(name) || c_.index_named(name) != nullptr;
}

/// The statement's terms as a reduction, in which ranges are looked for.
Term Scatters::as_reduction(const Statement& s) const {
  return terms_as_reduction(s, [&](std::string_view name) { return known(name); });
}

void Scatters::lower_conditions(const Statement& s, Draft& terms) {
  for (const Term& t : s.where) {
    const bool outer = std::exchange(c_.in_index, true);
    const Value v = values_.lower_value(t);
    c_.in_index = outer;
    if (c_.failed()) return;
    if (v.flex != Value::kTyped || v.e->type != DType::kBool || !is_index_condition(v.e)) {
      c_.error(
          v.span,
          "`where` of a scatter takes a condition on indices and dims, such as `n < N`; by data a "
          "term is left out by its position, `{}[select(m[n], ids[n], -1)] else skip`",
          s.name);
      return;
    }
    append_conjuncts(v.e, terms.limits);
  }
}

/// Makes the extents known of what is written, for ranges that they bound.
void Scatters::declare(const Statement& s, const Draft& terms) {
  const auto [at, added] = c_.tensors.emplace(s.name, Tensor{});
  if (!added) return;
  at->second.buffer = c_.program.buffers.size();
  ir::Buffer b;
  b.name = s.name;
  for (const Index& index : terms.vars) b.shape.push_back(index.end);
  c_.program.buffers.push_back(std::move(b));
}

/// Lets the proofs see the element that is written, as they see a read.
void Scatters::claim_positions(const Statement& s, Draft& terms, DType type) {
  c_.program.buffers.edit(c_.tensors.at(s.name).buffer).type = type;
  if (s.skip) return;
  std::vector<Expr> indices;
  for (size_t d = 0; d < to_.size(); ++d) {
    indices.push_back(to_[d] ? to_[d] : ir::make_var(terms.vars[d].name));
  }
  Access written{ir::make_load(s.name, type, std::move(indices)), s.span, {}};
  written.written = true;
  terms.accesses.push_back(std::move(written));
}

std::vector<Expr> Scatters::places_of(const Statement& s, const Draft& terms) const {
  std::vector<Expr> out;
  for (size_t d = 0; d < s.indices.size(); ++d) {
    if (!to_[d]) continue;
    out.push_back(ir::make_binary(ir::Op::kEq, ir::make_var(terms.vars[d].name), to_[d]));
  }
  return out;
}

/// An element has one term or none: a choice.
void Scatters::choose(const Statement& s, Draft& terms, const Value& v, DType type) {
  Expr here;
  for (const Expr& c : places_of(s, terms)) here = both(here, c);
  for (const Expr& c : terms.limits) here = both(here, c);
  terms.limits.clear();
  const Expr none = ir::identity(reduction_of(s.assign, type), widened(type));
  terms.stage.value = ir::make_select(here, types_.store(v, type, s.value.span),
                                      types_.convert({none, Value::kTyped, {}, v.span}, type));
}

void Scatters::reduce(const Statement& s, Draft& draft, Draft terms, Value v, DType target) {
  const bool inout = draft.role == ir::Role::kInOut;
  terms.places = places_of(s, terms);
  DType type = target;
  if (s.assign == Assign::kSet) {
    terms.stage.accumulate = target;
    terms.stage.value = types_.store(v, target, s.value.span);
  } else {
    Term all = as_reduction(s);
    all.name = name_of(reduction_of(s.assign, target));
    all.args[0] = s.value;
    type = values_.reductions().reduce(all, terms, v);
  }
  terms.stage.reduce = reduction_of(s.assign, target);
  if (c_.failed()) return;
  if (terms.stage.accumulate == target) {
    terms.stage.from_old = inout;
    return finish(s, draft, std::move(terms));
  }
  // Rounded or wrapped once, when all terms are in.
  Value all = values_.reductions().nested(std::move(terms), type, v.stored);
  if (inout && !c_.failed()) {
    const ir::Buffer& b = c_.buffer_of(s.name);
    std::vector<Expr> element;
    for (const Index& i : draft.vars) element.push_back(ir::make_var(i.name));
    Value old = types_.read(ir::make_load(b.name, b.type, std::move(element)), s.span);
    if (!types_.unify(old, all)) return;
    all.e = ir::make_binary(row_of(s.assign).op, old.e, all.e);
  }
  all.span = s.value.span;
  draft.stage.value = types_.store(all, target, s.value.span);
}

/// The statement is that stage.
void Scatters::finish(const Statement& s, Draft& draft, Draft terms) const {
  terms.stage.name = s.name;
  terms.role = draft.role;
  draft = std::move(terms);
}

/// The statement with positions in the place of indices that tell no terms apart otherwise. By
/// `Y[n, ids[n]]` of an inout one element of many is written, and the others are not touched.
Statement Scatters::with_own_indices(const Statement& s, Draft& draft) {
  const std::vector<Range> scattered = as_reduction(s).ranges;
  if (scattered.empty() && draft.role != ir::Role::kInOut) return s;
  Statement out = with_scattered_indices(s, scattered);
  for (size_t d = 0; d < out.indices.size(); ++d) {
    if (!out.indices[d].name.empty()) continue;
    std::erase_if(c_.scope, [&](const Index& i) { return i.name == draft.vars[d].name; });
    draft.vars[d].name = index_name(d);
  }
  return out;
}

void Scatters::lower_positions(const Statement& s) {
  to_.assign(s.indices.size(), {});
  for (size_t d = 0; d < s.indices.size(); ++d) {
    for (const Term& at : s.indices[d].at) {
      to_[d] = c_.apart([&] { return values_.lower_index(at); });
    }
  }
}

/// Terms that go to one place, or count or do not, all together are no scatter's.
void Scatters::check_terms(const Statement& s, const Draft& terms) {
  std::vector<ir::IndexVar> own;
  for (const Index& r : terms.rvars) own.push_back(index_var(r));
  // With dims known, `n % D` may be 0.
  for (size_t d = 0; d < to_.size() && !own.empty() && c_.binding.checking; ++d) {
    if (!to_[d] || ir::mentions_any(to_[d], own)) continue;
    c_.error(s.indices[d].span, "this position is the same for all terms; name an index in it");
  }
  for (const Expr& c : terms.limits) {
    if (own.empty() || ir::mentions_any(c, own)) continue;
    c_.error(s.where[0].span,
             "a condition of a scatter says which terms count: it names an index of positions, and "
             "`{}` names none; choose by `select`",
             print(c));
  }
}

void Scatters::lower(const Statement& written, Draft& draft, std::optional<DType> target) {
  const std::vector<Index> outer = c_.scope;
  const Statement s = with_own_indices(written, draft);
  Draft terms;
  terms.span = s.span;
  terms.vars = draft.vars;
  declare(s, terms);
  c_.frames.push_back(&terms);
  ranges_.open_ranges(as_reduction(s), terms);
  if (!c_.failed()) lower_positions(s);
  if (!c_.failed()) lower_conditions(s, terms);
  if (!c_.failed()) check_terms(s, terms);
  Value v = values_.lower_part(s.value);
  c_.frames.pop_back();
  c_.scope = outer;
  if (!target && v.flex == Value::kTyped) target = v.e->type;
  if (!target) {
    c_.error(s.span, "`{}` has no type; state one, `{}: f32[...] {} ...`", s.name, s.name,
             row_of(s.assign).text);
  }
  if (c_.failed()) return;
  if (v.flex != Value::kTyped && s.assign != Assign::kSet) {
    v = {types_.adapt(v, widened(*target)), Value::kTyped, *target, v.span};
  }
  claim_positions(s, terms, *target);
  if (!terms.rvars.empty()) return reduce(s, draft, std::move(terms), std::move(v), *target);
  choose(s, terms, v, *target);
  finish(s, draft, std::move(terms));
}

}  // namespace hone::ops
