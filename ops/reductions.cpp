// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "ops/lowering.h"

namespace hone::ops {
namespace {

using ir::Expr;
using ir::Reduce;

bool is_arg(const Term& t) { return t.name == "argmax" || t.name == "argmin"; }

Reduce reduce_named(std::string_view name) {
  for (int i = 1; i <= static_cast<int>(Reduce::kAll); ++i) {
    if (name_of(static_cast<Reduce>(i)) == name) return static_cast<Reduce>(i);
  }
  return name == "argmax" ? Reduce::kMax : Reduce::kMin;
}

/// `t` with the index `from` called `to`.
Term renamed(Term t, const std::string& from, const std::string& to) {
  if (t.kind == Term::kName && t.name == from) t.name = to;
  for (Term& a : t.args) a = renamed(std::move(a), from, to);
  for (Range& r : t.ranges) {
    if (r.name == from) r.name = to;
    for (Term& b : r.bounds) b = renamed(std::move(b), from, to);
  }
  return t;
}

bool is_variable_free(const Expr& e) {
  if (e->op == ir::Op::kVar) return false;
  return std::all_of(e->args.begin(), e->args.end(), is_variable_free);
}

}  // namespace

std::string Lowering::fresh_name() { return statement_->name + "." + std::to_string(++nested_); }

bool Lowering::check_fresh(const Range& r) {
  if (index_named(r.name)) {
    error(r.span, "`{}` is an index here already; choose another name", r.name);
  } else if (names_something(r.name)) {
    error(r.span, "`{}` names something else in this op; choose another name for the index",
          r.name);
  }
  return !failed();
}

/// The same for a reduction's index, which is told what to write.
bool Lowering::check_fresh(const Range& r, const Term& reduction) {
  if (!index_named(r.name)) return check_fresh(r);
  std::string fresh;
  for (int i = 2; fresh.empty() || index_named(fresh) || names_something(fresh); ++i) {
    fresh = r.name + std::to_string(i);
  }
  const std::string text = print(renamed(reduction, r.name, fresh));
  error(r.span, "`{}` is an index here already, and a reduction has its own; write {}", r.name,
        text.size() < 80 ? fmt::format("`{}`", text)
                         : fmt::format("another name in it, such as `{}`", fresh));
  return false;
}

void Lowering::find_extents(const Term& t, std::string_view name, std::vector<Found>& out) const {
  if (t.kind == Term::kAccess && !t.guarded) {
    const auto at = tensors_.find(t.name);
    for (size_t i = 0; at != tensors_.end() && !at->second.shapeless && i < t.args.size(); ++i) {
      const ir::Buffer& b = program_.buffers[at->second.buffer];
      if (t.args[i].kind == Term::kName && t.args[i].name == name && i < b.shape.size()) {
        const std::vector<size_t>& inferred = at->second.inferred;
        const bool told = std::find(inferred.begin(), inferred.end(), i) != inferred.end();
        out.push_back({b.shape[i], t.args[i].span, t.name, i, told});
      }
    }
  }
  for (const Term& a : t.args) find_extents(a, name, out);
  for (const Range& r : t.ranges) {
    for (const Term& b : r.bounds) find_extents(b, name, out);
  }
}

Expr Lowering::agreed_extent(const Range& r, std::vector<Found> found) {
  if (found.empty()) {
    error(r.span,
          "nothing says how far `{}` runs: it indexes no tensor by itself; state its range, `{} in "
          "0..N`",
          r.name, r.name);
    return ir::make_int(0);
  }
  // What readers decide says nothing where something else does.
  const auto own =
      std::stable_partition(found.begin(), found.end(), [](const Found& f) { return !f.inferred; });
  if (own != found.begin()) found.erase(own, found.end());
  const Found& first = found.front();
  for (const Found& other : found) {
    const Linear gap = difference(first.extent, other.extent);
    if (gap.is_constant() && gap.constant == 0) continue;
    error(other.span,
          "`{}` runs over {} (dim {} of `{}`) and over {} (dim {} of `{}`); make the shapes agree, "
          "or state its range, `{} in 0..{}`",
          r.name, print(first.extent), first.dim, first.tensor, print(other.extent), other.dim,
          other.tensor, r.name, print(first.extent));
    break;
  }
  return first.extent;
}

/// Ends read from a tensor: what the index itself indexes bounds it, and checks make that hold.
void Lowering::bound_from_data(const Range& r, const std::vector<Found>& found, Index& index) {
  index.from_data = true;
  if (found.empty()) {
    error(r.span,
          "the range of `{}` is read from data, so `{}` must index some tensor by itself: that "
          "bounds it",
          r.name, r.name);
    return;
  }
  index.end = agreed_extent(r, found);
  if (failed()) return;
  ir::Check start;
  start.vars = check_vars(index.lo, scope_);
  start.value = index.lo;
  start.lo = ir::make_int(0);
  start.hi = reads_data(index.hi) ? index.end : index.hi;
  if (reads_data(index.lo) && !add_check(start, index.lo, r.span)) return;
  ir::Check finish;
  finish.vars = check_vars(index.hi + index.lo, scope_);
  finish.value = index.hi;
  finish.lo = index.lo;
  finish.hi = index.end;
  if (reads_data(index.hi) && !add_check(finish, index.hi, r.span)) return;
  Prover prover(binding_.ranged);
  for (const Index& outer : scope_) prover.add_variable(interval_of(outer));
  const bool low = reads_data(index.lo) || prover.non_negative(index.lo) == Proof::kYes;
  const bool high =
      reads_data(index.hi) || prover.non_negative(index.end - index.hi) == Proof::kYes;
  if (!binding_.checking && (!low || !high)) {
    error(r.span, "this range may leave 0..{}, the extent that `{}` indexes", print(index.end),
          r.name);
  }
}

Index Lowering::right_index(const Range& r, const Term& body) {
  Index index;
  index.name = r.name;
  index.lo = ir::make_int(0);
  std::vector<Found> found;
  find_extents(body, r.name, found);
  if (r.bounds.empty()) {
    index.hi = index.end = agreed_extent(r, found);
    return index;
  }
  index.lo = lower_index(r.bounds[0]);
  index.hi = index.end = lower_index(r.bounds[1]);
  if (failed()) return index;
  if (reads_data(index.lo) || reads_data(index.hi)) {
    bound_from_data(r, found, index);
  } else if (!is_variable_free(index.hi)) {
    Prover prover(binding_.ranged);
    for (const Index& outer : scope_) prover.add_variable(interval_of(outer));
    index.end = prover.most(index.hi);
    if (!index.end) {
      error(r.bounds[1].span, "this end of the range is not linear in the indices around it");
    }
  }
  return index;
}

void Lowering::open_ranges(const Term& t, Draft& draft) {
  for (const Range& r : t.ranges) {
    if (failed() || !check_fresh(r, t)) return;
    draft.rvars.push_back(right_index(r, t.args[0]));
    scope_.push_back(draft.rvars.back());
  }
}

/// Makes `draft` the reduction `t` of `body`; returns the type of the result.
DType Lowering::reduce(const Term& t, Draft& draft, Value body) {
  draft.stage.reduce = reduce_named(t.name);
  const bool logical = t.name == "any" || t.name == "all";
  if (failed()) return DType::kF32;
  if (logical && (body.flex != Value::kTyped || body.e->type != DType::kBool)) {
    error(t.args[0].span, "`{}` reduces bools and `{}` is a number; write a comparison", t.name,
          snippet(t.args[0].span));
  }
  if (!logical) widen_bool(body);
  if (body.flex == Value::kReal) {
    error(t.args[0].span, "`{}` has no type yet; write cast<f32>({})", snippet(t.args[0].span),
          snippet(t.args[0].span));
  }
  const DType type = body.e->type;
  draft.stage.accumulate = type;
  if (!t.type.empty()) {
    // A parameter bound to a narrow type accumulates in the wide one; f16 in so many words is an
    // error.
    const Param* p = d_.param(t.type);
    const DType asked = p ? widened(type_named(t.type)) : type_named(t.type);
    const bool known = p ? p->is_type : dtype_named(t.type).has_value();
    if (!known || widened(asked) != asked || is_float(asked) != is_float(type) ||
        asked == DType::kBool || logical || is_arg(t)) {
      error(t.span, "`{}` of {} accumulates in {}, not in `{}`", t.name, name_of(type),
            logical || is_arg(t) ? name_of(type)
            : is_float(type)     ? "f32 or f64"
                                 : "i32 or i64",
            t.type);
    }
    draft.stage.accumulate = asked;
  }
  draft.stage.value = ir::make_cast(draft.stage.accumulate, body.e);
  return type;
}

void Lowering::close_scope(Draft& draft, size_t outer) {
  scope_.resize(outer);
  if (failed()) return;
  const auto used = [&](const std::string& name) {
    bool any = ir::mentions_var(draft.stage.value, name);
    for (const Index& r : draft.rvars)
      any |= ir::mentions_var(r.lo, name) || ir::mentions_var(r.hi, name);
    for (const Need& n : draft.needs) any |= ir::mentions_var(n.condition, name);
    return any;
  };
  for (const Index& index : scope_) {
    if (!used(index.name)) continue;
    Index var = index;
    var.from_data = false;
    var.hi = index.end;
    if (index.from_data || !is_variable_free(index.lo)) var.lo = ir::make_int(0);
    int64_t lo = 0;
    if (ir::is_const(var.lo, &lo) && lo < 0) {
      error(draft.span,
            "a reduction inside a range that starts below 0 is not supported; let `{}` "
            "start at 0",
            index.name);
    }
    draft.vars.push_back(std::move(var));
  }
}

/// Ends a reduction that is part of a larger value: it becomes a stage, and the value reads it.
Value Lowering::close_nested(Draft draft, DType type, std::optional<DType> stored) {
  if (failed()) return {ir::make_int(0), Value::kWhole, {}, draft.span};
  settle(draft);
  ir::Buffer b;
  b.name = draft.stage.name;
  b.type = draft.stage.accumulate;
  std::vector<Expr> indices;
  for (const Index& index : draft.vars) {
    b.shape.push_back(index.end);
    indices.push_back(ir::make_var(index.name));
  }
  Tensor tensor;
  tensor.buffer = program_.buffers.size();
  tensor.draft = static_cast<int>(drafts_.size());
  tensor.readable = true;
  tensor.indices = draft.vars;
  tensor.domain = draft.domain;
  for (const Expr& condition : draft.domain) {
    frames_.back()->needs.push_back({condition, tensor.draft, draft.span, chosen_});
  }
  Value v{ir::make_cast(type, ir::make_load(b.name, b.type, indices)), Value::kTyped, stored,
          draft.span};
  if (in_index_ && is_int(type)) v.e = ir::make_cast(DType::kI64, v.e);
  tensors_.emplace(b.name, std::move(tensor));
  program_.buffers.push_back(std::move(b));
  drafts_.push_back(std::move(draft));
  return v;
}

Value Lowering::lower_reduction(const Term& t) {
  if (is_arg(t)) return lower_arg_reduction(t);
  Draft draft;
  draft.stage.name = fresh_name();
  draft.span = t.span;
  const size_t outer = scope_.size();
  const bool in_index = std::exchange(in_index_, false);
  frames_.push_back(&draft);
  open_ranges(t, draft);
  const Value body = lower_value(t.args[0]);
  const DType type = reduce(t, draft, body);
  frames_.pop_back();
  close_scope(draft, outer);
  in_index_ = in_index;
  return close_nested(std::move(draft), type, body.stored);
}

/// argmax is the lowest index at which the value equals the maximum, or is NaN:
/// `m = max[j](v)`, then `min[j](select(v == m || v != v, j, largest))`.
void Lowering::arg_reduce(const Term& t, Draft& draft) {
  Draft best;
  best.stage.name = fresh_name();
  best.span = t.span;
  const size_t outer = scope_.size();
  frames_.push_back(&best);
  open_ranges(t, best);
  const DType type = reduce(t, best, lower_value(t.args[0]));
  const Expr value = best.stage.value;
  const std::vector<Index> rvars = best.rvars;
  draft.accesses.insert(draft.accesses.end(), best.accesses.begin(), best.accesses.end());
  draft.needs.insert(draft.needs.end(), best.needs.begin(), best.needs.end());
  frames_.pop_back();
  close_scope(best, outer);
  const Value most = close_nested(std::move(best), type, {});
  if (failed()) return;
  Expr here = ir::make_binary(ir::Op::kEq, value, most.e);
  if (is_float(type)) {
    here = ir::make_binary(ir::Op::kOr, here, ir::make_binary(ir::Op::kNe, value, value));
  }
  // Several indices count as one, row-major.
  Expr position;
  for (const Index& r : rvars) {
    if (rvars.size() > 1 && (r.from_data || !is_variable_free(r.hi) || !is_variable_free(r.lo))) {
      error(t.span, "`{}` over several indices takes plain ranges", t.name);
    }
    const Expr var = ir::make_var(r.name);
    const Expr from_zero = rvars.size() > 1 ? var - r.lo : var;
    position = position ? position * (r.hi - r.lo) + from_zero : from_zero;
    draft.rvars.push_back(r);
    scope_.push_back(r);
  }
  draft.stage.reduce = Reduce::kMin;
  draft.stage.accumulate = DType::kI64;
  draft.stage.value =
      ir::make_select(here, position, ir::make_int(std::numeric_limits<int64_t>::max()));
}

Value Lowering::lower_arg_reduction(const Term& t) {
  Draft draft;
  draft.span = t.span;
  const size_t outer = scope_.size();
  const bool in_index = std::exchange(in_index_, false);
  frames_.push_back(&draft);
  arg_reduce(t, draft);
  draft.stage.name = fresh_name();
  frames_.pop_back();
  close_scope(draft, outer);
  in_index_ = in_index;
  return close_nested(std::move(draft), DType::kI64, {});
}

}  // namespace hone::ops
