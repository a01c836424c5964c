// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ops/lowering.h"

namespace hone::ops {
namespace {

using ir::Expr;

Expr all_of_statements(const std::vector<Expr>& conditions) {
  Expr all;
  for (const Expr& c : conditions) all = all ? ir::make_binary(ir::Op::kAnd, all, c) : c;
  return all;
}

}  // namespace

bool is_index_condition(const Expr& e) {
  if (e->op == ir::Op::kLoad || e->op == ir::Op::kScalar || e->op == ir::Op::kCall) return false;
  return std::all_of(e->args.begin(), e->args.end(), is_index_condition);
}

void Lowering::lower_statement(const Statement& s) {
  statement_ = &s;
  nested_ = 0;
  own_.clear();
  chosen_.clear();
  scope_.clear();
  inferred_.clear();
  in_index_ = false;
  Draft draft;
  draft.stage.name = s.name;
  draft.span = s.span;
  if (const Argument* a = d_.arg(s.name)) draft.role = a->role;
  frames_ = {&draft};
  // What the names are wrong of is told already.
  const auto shapeless = [&](const std::vector<Term>& terms) {
    return !terms.empty() && mentions_shapeless(terms[0]);
  };
  stuck_ = s.broken || diagnostics_.has_error_in(s.whole) || mentions_shapeless(s.value) ||
           shapeless(s.where) || shapeless(s.otherwise);
  if (s.accumulate && draft.role != ir::Role::kInOut) {
    error(s.span, "`+=` updates an `inout` tensor and `{}` is {}; write `=`, or declare `inout {}`",
          s.name, draft.role == ir::Role::kOutput ? "an output" : "an intermediate", s.name);
  }
  if (!failed()) declare_indices(s, draft);
  if (!failed()) lower_where(s);
  if (!failed()) lower_body(s, draft);
  if (!failed()) publish(s, draft);
  if (failed()) poison(s, draft);
}

/// Does a term read what an earlier, wrong statement left without a shape?
bool Lowering::mentions_shapeless(const Term& t) const {
  const auto at = t.kind == Term::kAccess ? tensors_.find(t.name) : tensors_.end();
  if (at != tensors_.end() && at->second.shapeless) return true;
  const auto any = [&](const std::vector<Term>& terms) {
    return std::any_of(terms.begin(), terms.end(),
                       [&](const Term& a) { return mentions_shapeless(a); });
  };
  return any(t.args) || std::any_of(t.ranges.begin(), t.ranges.end(),
                                    [&](const Range& r) { return any(r.bounds); });
}

/// Lets what follows a wrong statement be checked: its shape stands if that much was right, and
/// what reads it is not blamed.
void Lowering::poison(const Statement& s, const Draft& draft) {
  const auto [at, added] = tensors_.emplace(s.name, Tensor{});
  Tensor& tensor = at->second;
  tensor.readable = tensor.poisoned = true;
  if (!added) return;
  tensor.shapeless = draft.vars.size() != s.indices.size();
  if (tensor.shapeless) return;
  tensor.buffer = program_.buffers.size();
  ir::Buffer b;
  b.name = s.name;
  for (const Index& index : draft.vars) b.shape.push_back(index.end);
  program_.buffers.push_back(std::move(b));
}

void Lowering::declare_indices(const Statement& s, Draft& draft) {
  const auto at = tensors_.find(s.name);
  const ir::Buffer* output = nullptr;
  if (at != tensors_.end()) {
    output = &program_.buffers[at->second.buffer];
    if (output->shape.size() != s.indices.size()) {
      error(s.span, "`{}` has {} dim{} and is written with {} ind{}", s.name, output->shape.size(),
            output->shape.size() == 1 ? "" : "s", s.indices.size(),
            s.indices.size() == 1 ? "ex" : "ices");
      return;
    }
  }
  for (size_t i = 0; i < s.indices.size(); ++i) {
    if (!check_fresh(s.indices[i])) return;
    Index index;
    index.name = s.indices[i].name;
    index.lo = ir::make_int(0);
    index.hi = index.end = left_extent(s, i, output);
    if (failed()) return;
    draft.vars.push_back(index);
    scope_.push_back(std::move(index));
  }
}

/// The extent of an index on the left: what is stated, else the output's shape, else what the
/// index runs over on the right.
Expr Lowering::left_extent(const Statement& s, size_t position, const ir::Buffer* output) {
  const Range& r = s.indices[position];
  std::vector<Found> found;
  find_extents(s.value, r.name, found);
  if (r.bounds.empty()) {
    const auto own = [](const Found& f) { return !f.inferred; };
    if (!output && std::none_of(found.begin(), found.end(), own)) {
      return inferred_extent(s, position, found);
    }
    if (!output) return agreed_extent(r, found);
    compare_with_uses(r, output->shape[position], found);
    return output->shape[position];
  }
  const Expr lo = lower_index(r.bounds[0]);
  const Expr hi = lower_index(r.bounds[1]);
  int64_t start = -1;
  if (failed()) return hi;
  if (!ir::is_const(lo, &start) || start != 0) {
    error(r.bounds[0].span,
          "a range on the left starts at 0; leave out what comes before with `where {} >= ...`",
          r.name);
  } else if (!is_index_condition(hi) || ir::mentions_var(hi, r.name)) {
    error(r.bounds[1].span, "the end of a range on the left is made of dims and integers");
  }
  for (const Index& other : scope_) {
    if (ir::mentions_var(hi, other.name)) {
      error(r.bounds[1].span,
            "a range on the left does not depend on other indices; use `where {} < ...`", r.name);
    }
  }
  if (output) {
    const Linear gap = difference(hi, output->shape[position]);
    if (!gap.is_constant() || gap.constant != 0) {
      error(r.span,
            "`{}` has extent {} in dim {}, and all of an output is written; state no other "
            "range here",
            s.name, print(output->shape[position]), position);
    }
  } else if (!binding_.checking && Prover(binding_.ranged).non_negative(hi) != Proof::kYes) {
    error(r.bounds[1].span, "this extent may be negative: {}", print(hi));
  }
  return hi;
}

/// Of an index of an intermediate that nothing it reads bounds: what readers need, or else what the
/// readers of what it reads do.
Expr Lowering::inferred_extent(const Statement& s, size_t position,
                               const std::vector<Found>& found) {
  const Range& r = s.indices[position];
  ahead_.clear();
  inferred_.push_back(position);
  const Expr extent = needed_extent(static_cast<size_t>(&s - d_.statements.data()), position);
  if (!extent && !found.empty()) return agreed_extent(r, found);
  if (!extent) {
    error(r.span,
          "nothing says how far `{}` runs: it indexes no tensor by itself, and no statement that "
          "reads `{}` tells how far it needs it; state its range, `{} in 0..N`",
          r.name, s.name, r.name);
    return ir::make_int(0);
  }
  return extent;
}

/// An output's index that also indexes dims of another name is almost surely a mistake; extents
/// that are computed are left to the proofs.
void Lowering::compare_with_uses(const Range& r, const Expr& extent,
                                 const std::vector<Found>& found) {
  for (const Found& f : found) {
    const bool named = extent->op == ir::Op::kDim || f.extent->op == ir::Op::kDim;
    const bool plain = (extent->op == ir::Op::kDim || extent->op == ir::Op::kInt) &&
                       (f.extent->op == ir::Op::kDim || f.extent->op == ir::Op::kInt);
    if (!binding_.checking || !plain || !named || f.inferred || equal(extent, f.extent)) continue;
    error(f.span,
          "`{}` runs over {} in `{}` and over {} (dim {} of `{}`); make the shapes agree, or state "
          "its range on the left, `{} in 0..{}`",
          r.name, print(extent), statement_->name, print(f.extent), f.dim, f.tensor, r.name,
          print(extent));
    return;
  }
}

void Lowering::lower_where(const Statement& s) {
  if (s.where.empty()) return;
  const bool outer = std::exchange(in_index_, true);
  const Value v = lower_value(s.where[0]);
  in_index_ = outer;
  if (failed()) return;
  if (v.flex != Value::kTyped || v.e->type != DType::kBool) {
    error(v.span, "`where` takes a condition, such as `j <= i`");
  } else if (!is_index_condition(v.e)) {
    error(v.span, "`where` takes conditions on indices and dims; choose by data with `select`");
  }
  const Argument* a = d_.arg(s.name);
  const bool inout = a && a->role == ir::Role::kInOut;
  if (a && !inout && s.otherwise.empty()) {
    error(v.span, "all of an output is written; say what stands elsewhere, `where ... else 0`");
  }
  if (inout || !s.otherwise.empty()) {
    append_conjuncts(v.e, chosen_);
  } else {
    append_conjuncts(v.e, own_);
  }
}

std::optional<DType> Lowering::target_type(const Statement& s) const {
  const auto at = tensors_.find(s.name);
  if (at != tensors_.end()) return program_.buffers[at->second.buffer].type;
  if (!s.type.empty()) return type_named(s.type);
  return std::nullopt;
}

void Lowering::lower_body(const Statement& s, Draft& draft) {
  const bool whole = s.value.kind == Term::kReduce && !s.accumulate && chosen_.empty();
  if (whole && lower_whole_reduction(s, draft)) return;
  if (!failed()) lower_plain(s, draft);
}

/// A statement that is one reduction is that reduction, if it is accumulated in the type that is
/// stored. Whether it is shows only when its operand is lowered: if not, all is as before.
bool Lowering::lower_whole_reduction(const Statement& s, Draft& draft) {
  const size_t buffers = program_.buffers.size(), checks = program_.checks.size();
  const size_t drafts = drafts_.size(), outer = scope_.size();
  const Draft before = draft;
  const auto target = target_type(s);
  DType type = DType::kI64;
  if (s.value.name == "argmax" || s.value.name == "argmin") {
    arg_reduce(s.value, draft);
  } else {
    open_ranges(s.value, draft);
    type = reduce(s.value, draft, lower_value(s.value.args[0]));
  }
  if (failed()) return false;
  scope_.resize(outer);
  if (target.value_or(type) == draft.stage.accumulate) return true;
  draft = before;
  for (size_t i = drafts; i < drafts_.size(); ++i) tensors_.erase(drafts_[i].stage.name);
  drafts_.resize(drafts);
  program_.buffers.truncate(buffers);
  program_.checks.truncate(checks);
  nested_ = 0;
  return false;
}

Value Lowering::own_old_value(const Statement& s) {
  const ir::Buffer& b = program_.buffers[tensors_.find(s.name)->second.buffer];
  std::vector<Expr> indices;
  for (const Range& r : s.indices) indices.push_back(ir::make_var(r.name));
  return read(ir::make_load(b.name, b.type, std::move(indices)), s.span);
}

void Lowering::lower_plain(const Statement& s, Draft& draft) {
  const std::vector<Expr> chosen = std::exchange(chosen_, {});
  Value otherwise;
  if (!s.otherwise.empty()) {
    otherwise = chosen.empty() ? lower_part(s.otherwise[0])
                               : lower_side(s.otherwise[0], negated(all_of_statements(chosen)));
  } else if (!chosen.empty()) {
    otherwise = own_old_value(s);
  }
  chosen_ = chosen;
  Value v = lower_part(s.value);
  if (s.accumulate && !failed()) {
    Value old = own_old_value(s);
    widen_bool(v);
    widen_bool(old);
    if (!unify(old, v)) return;
    v.e = old.e + v.e;
    v.stored = old.stored == v.stored || v.flex != Value::kTyped ? old.stored : std::nullopt;
    v.flex = Value::kTyped;
  }
  if (failed()) return;
  auto target = target_type(s);
  if (!target && v.flex == Value::kTyped) target = v.e->type;
  if (!target) {
    error(s.span, "`{}` has no type; state one, `{}: f32[...] = ...`", s.name, s.name);
    return;
  }
  draft.stage.value = store(v, *target, s.value.span);
  if (!chosen.empty() && !failed()) {
    draft.stage.value = ir::make_select(all_of_statements(chosen), draft.stage.value,
                                        store(otherwise, *target, otherwise.span));
  }
}

/// Makes the finished statement readable by those that follow.
void Lowering::publish(const Statement& s, Draft& draft) {
  settle(draft);
  if (failed()) return;
  auto at = tensors_.find(s.name);
  if (at == tensors_.end()) {
    ir::Buffer b;
    b.name = s.name;
    b.type = draft.stage.value->type;
    for (const Index& index : draft.vars) b.shape.push_back(index.end);
    at = tensors_.emplace(s.name, Tensor{}).first;
    at->second.buffer = program_.buffers.size();
    program_.buffers.push_back(std::move(b));
  }
  Tensor& tensor = at->second;
  tensor.draft = static_cast<int>(drafts_.size());
  tensor.readable = true;
  tensor.indices = draft.vars;
  tensor.inferred = inferred_;
  tensor.domain = draft.domain;
  drafts_.push_back(std::move(draft));
}

}  // namespace hone::ops
