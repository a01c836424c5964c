// SPDX-License-Identifier: Apache-2.0
#include "ops/statements.h"

#include <algorithm>
#include <string>
#include <utility>

#include "ops/sizes.h"

namespace hone::ops {
namespace {

using ir::Expr;

Expr all_of_statements(const std::vector<Expr>& conditions) {
  Expr all;
  for (const Expr& c : conditions) all = all ? ir::make_binary(ir::Op::kAnd, all, c) : c;
  return all;
}

}  // namespace

void Statements::lower_statement(const Statement& s) {
  c_.statement = &s;
  values_.reductions().restart_names();
  c_.own.clear();
  c_.chosen.clear();
  c_.scope.clear();
  inferred_.clear();
  c_.in_index = false;
  Draft draft;
  draft.stage.name = s.name;
  draft.span = s.span;
  if (const Argument* a = c_.op.arg(s.name)) draft.role = a->role;
  c_.frames = {&draft};
  // What the names are wrong of is told already.
  const auto shapeless = [&](const std::vector<Term>& terms) {
    return !terms.empty() && mentions_shapeless(terms[0]);
  };
  c_.set_failed(s.broken || c_.diagnostics.has_error_in(s.whole) || mentions_shapeless(s.value) ||
                shapeless(s.where) || shapeless(s.otherwise));
  if (s.assign != Assign::kSet && draft.role != ir::Role::kInOut && !s.scatters()) {
    c_.error(s.span,
             "`{}` updates an `inout` tensor and `{}` is {}; write `=`, or declare `inout {}`",
             row_of(s.assign).text, s.name,
             draft.role == ir::Role::kOutput ? "an output" : "an intermediate", s.name);
  }
  if (!c_.failed()) scatters_.check(s);
  if (!c_.failed()) open_group(s);
  if (!c_.failed()) declare_indices(s, draft);
  const bool recurs = recurrences_.reads_itself(s) ||
                      c_.groups.is_read_ahead(static_cast<size_t>(&s - c_.op.statements.data()));
  if (!c_.failed() && recurs) recurrences_.open(s, draft, target_type(s));
  if (!c_.failed() && s.scatters()) {
    scatters_.lower(s, draft, target_type(s));
  } else {
    if (!c_.failed()) lower_where(s);
    if (!c_.failed()) lower_body(s, draft);
  }
  if (!c_.failed()) publish(s, draft);
  if (c_.failed()) poison(s, draft);
}

/// Lets the first statement of a group, and those after it, read what all of them define.
void Statements::open_group(const Statement& s) {
  const std::vector<size_t> group = recurrences_.group_of(s);
  if (group.empty() || &c_.op.statements[group[0]] != &s) return;
  bool failed = false;
  for (const size_t i : group) {
    const Statement& member = c_.op.statements[i];
    if (!c_.groups.is_read_ahead(i)) continue;
    c_.statement = &member;
    Draft draft;
    declare_indices(member, draft);
    if (!c_.failed()) recurrences_.open(member, draft, target_type(member));
    if (c_.failed()) poison(member, draft);
    failed |= c_.failed();
    c_.set_failed(false);
    c_.scope.clear();
    inferred_.clear();
  }
  c_.statement = &s;
  c_.set_failed(failed);
}

/// Does a term read what an earlier, wrong statement left without a shape?
bool Statements::mentions_shapeless(const Term& t) const {
  const auto at = t.kind == Term::kAccess ? c_.tensors.find(t.name) : c_.tensors.end();
  if (at != c_.tensors.end() && at->second.shapeless) return true;
  const auto any = [&](const std::vector<Term>& terms) {
    return std::any_of(terms.begin(), terms.end(),
                       [&](const Term& a) { return mentions_shapeless(a); });
  };
  return any(t.args) || std::any_of(t.ranges.begin(), t.ranges.end(),
                                    [&](const Range& r) { return any(r.bounds); });
}

/// Lets what follows a wrong statement be checked: its shape stands if that much was right, and
/// what reads it is not blamed.
void Statements::poison(const Statement& s, const Draft& draft) {
  const auto [at, added] = c_.tensors.emplace(s.name, Tensor{});
  Tensor& tensor = at->second;
  tensor.readable = tensor.poisoned = true;
  if (!added) return;
  tensor.shapeless = draft.vars.size() != s.indices.size();
  if (tensor.shapeless) return;
  tensor.buffer = c_.program.buffers.size();
  ir::Buffer b;
  b.name = s.name;
  for (const Index& index : draft.vars) b.shape.push_back(index.end);
  c_.program.buffers.push_back(std::move(b));
}

void Statements::declare_indices(const Statement& s, Draft& draft) {
  const auto at = c_.tensors.find(s.name);
  const ir::Buffer* output = nullptr;
  if (at != c_.tensors.end()) {
    output = &c_.program.buffers[at->second.buffer];
    if (output->shape.size() != s.indices.size()) {
      c_.error(s.span, "`{}` has {} dim{} and is written with {} ind{}", s.name,
               output->shape.size(), output->shape.size() == 1 ? "" : "s", s.indices.size(),
               s.indices.size() == 1 ? "ex" : "ices");
      return;
    }
  }
  for (size_t i = 0; i < s.indices.size(); ++i) {
    const bool plain = s.indices[i].at.empty();
    if (plain && !ranges_.check_fresh(s.indices[i])) return;
    Index index;
    index.name = plain ? s.indices[i].name : Scatters::index_name(i);
    index.lo = ir::make_int(0);
    index.hi = index.end = left_extent(s, i, output);
    if (c_.failed()) return;
    draft.vars.push_back(index);
    c_.scope.push_back(std::move(index));
  }
}

/// The extent of an index on the left: what is stated, else the output's shape, else what the
/// index runs over on the right.
Expr Statements::left_extent(const Statement& s, size_t position, const ir::Buffer* output) {
  const Range& r = s.indices[position];
  std::vector<Found> found;
  ranges_.find_extents(s.value, r.name, found);
  for (const Range& other : s.indices) {
    for (const Term& at : other.at) ranges_.find_extents(at, r.name, found);
  }
  if (r.bounds.empty()) {
    const auto own = [](const Found& f) { return !f.inferred; };
    if (!output && std::none_of(found.begin(), found.end(), own)) {
      return inferred_extent(s, position, found);
    }
    if (!output) return ranges_.agreed_extent(r, found);
    compare_with_uses(r, output->shape[position], found);
    return output->shape[position];
  }
  const Expr lo = values_.lower_index(r.bounds[0]);
  const Expr hi = values_.lower_index(r.bounds[1]);
  int64_t start = -1;
  if (c_.failed()) return hi;
  if (!ir::is_const(lo, &start) || start != 0) {
    c_.error(r.bounds[0].span,
             "a range on the left starts at 0; leave out what comes before with `where {} >= ...`",
             r.name);
  } else if (!is_index_condition(hi) || ir::mentions_var(hi, r.name)) {
    c_.error(r.bounds[1].span, "the end of a range on the left is made of dims and integers");
  }
  for (const Index& other : c_.scope) {
    if (ir::mentions_var(hi, other.name)) {
      c_.error(r.bounds[1].span,
               "a range on the left does not depend on other indices; use `where {} < ...`",
               r.name);
    }
  }
  if (output) {
    const Linear gap = difference(hi, output->shape[position]);
    if (!gap.is_constant() || gap.constant != 0) {
      c_.error(r.span,
               "`{}` has extent {} in dim {}, and all of an output is written; state no other "
               "range here",
               s.name, print(output->shape[position]), position);
    }
  } else if (!c_.binding.checking && Prover(c_.binding.ranged).non_negative(hi) != Proof::kYes) {
    c_.error(r.bounds[1].span, "this extent may be negative: {}", print(hi));
  }
  return hi;
}

/// The extent of an index of an intermediate that nothing on the right bounds. The readers of the
/// intermediate decide it, or else the readers of the tensors it reads.
Expr Statements::inferred_extent(const Statement& s, size_t position,
                                 const std::vector<Found>& found) {
  const Range& r = s.indices[position];
  inferred_.push_back(position);
  const Expr extent =
      extents_.needed_by_readers(static_cast<size_t>(&s - c_.op.statements.data()), position);
  if (!extent && !found.empty()) return ranges_.agreed_extent(r, found);
  if (!extent && !r.at.empty()) {
    const std::string at = c_.snippet(r.span);
    c_.error(r.span,
             "nothing says how long dim {} of `{}` is: no statement that reads it tells how far it "
             "needs it; state its range, `{} in 0..N`",
             position, s.name, at);
    return ir::make_int(0);
  }
  if (!extent) {
    c_.error(
        r.span,
        "nothing says how far `{}` runs: it indexes no tensor by itself, and no statement that "
        "reads `{}` tells how far it needs it; state its range, `{} in 0..N`",
        r.name, s.name, r.name);
    return ir::make_int(0);
  }
  return extent;
}

/// An output's index that also indexes dims of another name is almost surely a mistake; extents
/// that are computed are left to the proofs.
void Statements::compare_with_uses(const Range& r, const Expr& extent,
                                   const std::vector<Found>& found) {
  for (const Found& f : found) {
    const bool named = extent->op == ir::Op::kDim || f.extent->op == ir::Op::kDim;
    const bool plain = (extent->op == ir::Op::kDim || extent->op == ir::Op::kInt) &&
                       (f.extent->op == ir::Op::kDim || f.extent->op == ir::Op::kInt);
    if (!c_.binding.checking || !plain || !named || f.inferred || equal(extent, f.extent)) continue;
    c_.error(
        f.span,
        "`{}` runs over {} in `{}` and over {} (dim {} of `{}`); make the shapes agree, or state "
        "its range on the left, `{} in 0..{}`",
        r.name, print(extent), c_.statement->name, print(f.extent), f.dim, f.tensor, r.name,
        print(extent));
    return;
  }
}

void Statements::lower_where(const Statement& s) {
  if (s.where.empty()) return;
  const bool outer = std::exchange(c_.in_index, true);
  const Value v = values_.lower_value(s.where[0]);
  c_.in_index = outer;
  if (c_.failed()) return;
  if (v.flex != Value::kTyped || v.e->type != DType::kBool) {
    c_.error(v.span, "`where` takes a condition, such as `j <= i`");
  } else if (!is_index_condition(v.e)) {
    c_.error(v.span, "`where` takes conditions on indices and dims; choose by data with `select`");
  }
  const Argument* a = c_.op.arg(s.name);
  const bool inout = a && a->role == ir::Role::kInOut;
  if (a && !inout && s.otherwise.empty()) {
    c_.error(v.span, "all of an output is written; say what stands elsewhere, `where ... else 0`");
  }
  if (inout || !s.otherwise.empty()) {
    append_conjuncts(v.e, c_.chosen);
  } else {
    append_conjuncts(v.e, c_.own);
  }
}

std::optional<DType> Statements::target_type(const Statement& s) const {
  const auto at = c_.tensors.find(s.name);
  if (at != c_.tensors.end()) return c_.program.buffers[at->second.buffer].type;
  if (!s.type.empty()) return c_.type_named(s.type);
  return std::nullopt;
}

void Statements::lower_body(const Statement& s, Draft& draft) {
  const bool whole = s.value.kind == Term::kReduce && s.assign == Assign::kSet &&
                     c_.chosen.empty() && !recurrences_.in_steps(s);
  if (whole && lower_whole_reduction(s, draft)) return;
  if (!c_.failed()) lower_plain(s, draft);
}

/// A statement that is one reduction is that reduction, if it is accumulated in the type that is
/// stored. Whether it is shows only when its operand is lowered: if not, all is as before.
bool Statements::lower_whole_reduction(const Statement& s, Draft& draft) {
  const size_t buffers = c_.program.buffers.size(), checks = c_.program.checks.size();
  const size_t drafts = c_.drafts.size(), outer = c_.scope.size();
  const Draft before = draft;
  const auto target = target_type(s);
  DType type = DType::kI64;
  if (s.value.name == "argmax" || s.value.name == "argmin") {
    values_.reductions().arg_reduce(s.value, draft);
  } else {
    ranges_.open_ranges(s.value, draft);
    const Value body = values_.lower_value(s.value.args[0]);
    type = values_.reductions().reduce(s.value, draft, body);
    const auto narrow = values_.reductions().narrow_extreme(draft, body);
    if (narrow && narrow == target) values_.reductions().accumulate_in(*narrow, draft);
  }
  if (c_.failed()) return false;
  c_.scope.resize(outer);
  if (target.value_or(type) == draft.stage.accumulate) return true;
  draft = before;
  for (size_t i = drafts; i < c_.drafts.size(); ++i) c_.tensors.erase(c_.drafts[i].stage.name);
  c_.drafts.resize(drafts);
  c_.program.buffers.truncate(buffers);
  c_.program.checks.truncate(checks);
  values_.reductions().restart_names();
  return false;
}

Value Statements::own_old_value(const Statement& s) {
  const ir::Buffer& b = c_.buffer_of(s.name);
  std::vector<Expr> indices;
  for (const Range& r : s.indices) indices.push_back(ir::make_var(r.name));
  return types_.read(ir::make_load(b.name, b.type, std::move(indices)), s.span);
}

void Statements::combine_with_old(const Statement& s, Value& v) {
  Value old = own_old_value(s);
  types_.widen_bool(v);
  types_.widen_bool(old);
  if (!types_.unify(old, v)) return;
  v.e = ir::make_binary(row_of(s.assign).op, old.e, v.e);
  v.stored = old.stored == v.stored || v.flex != Value::kTyped ? old.stored : std::nullopt;
  v.flex = Value::kTyped;
}

void Statements::lower_plain(const Statement& s, Draft& draft) {
  const std::vector<Expr> chosen = std::exchange(c_.chosen, {});
  Value otherwise;
  if (!s.otherwise.empty()) {
    otherwise = chosen.empty()
                    ? values_.lower_part(s.otherwise[0])
                    : values_.lower_side(s.otherwise[0], negated(all_of_statements(chosen)));
  } else if (!chosen.empty()) {
    otherwise = own_old_value(s);
  }
  c_.chosen = chosen;
  Value v = values_.lower_part(s.value);
  if (s.assign != Assign::kSet && !c_.failed()) combine_with_old(s, v);
  if (c_.failed()) return;
  auto target = target_type(s);
  if (!target && v.flex == Value::kTyped) target = v.e->type;
  if (!target) {
    c_.error(s.span, "`{}` has no type; state one, `{}: f32[...] = ...`", s.name, s.name);
    return;
  }
  draft.stage.value = types_.store(v, *target, s.value.span);
  if (!chosen.empty() && !c_.failed()) {
    draft.stage.value = ir::make_select(all_of_statements(chosen), draft.stage.value,
                                        types_.store(otherwise, *target, otherwise.span));
  }
}

/// Makes the finished statement readable by those that follow.
void Statements::publish(const Statement& s, Draft& draft) {
  proofs_.settle(draft);
  if (c_.failed()) return;
  recurrences_.put_in_order(draft);
  if (c_.failed()) return;
  auto at = c_.tensors.find(s.name);
  if (at == c_.tensors.end()) {
    ir::Buffer b;
    b.name = s.name;
    b.type = draft.stage.value->type;
    for (const Index& index : draft.vars) b.shape.push_back(index.end);
    check_addressable(c_, b, s.span);
    at = c_.tensors.emplace(s.name, Tensor{}).first;
    at->second.buffer = c_.program.buffers.size();
    c_.program.buffers.push_back(std::move(b));
  }
  Tensor& tensor = at->second;
  tensor.draft = static_cast<int>(c_.drafts.size());
  tensor.readable = true;
  tensor.indices = draft.vars;
  tensor.inferred = inferred_;
  tensor.domain = draft.domain;
  c_.drafts.push_back(std::move(draft));
}

}  // namespace hone::ops
