// SPDX-License-Identifier: Apache-2.0
#include "ops/reductions.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "jit/ir/facts.h"
#include "jit/ir/integers.h"
#include "ops/values.h"

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

/// Whether dims alone decide where the range begins and ends.
bool has_known_ends(const Index& r) {
  return !r.from_data && is_variable_free(r.lo) && is_variable_free(r.hi);
}

}  // namespace

std::string Reductions::fresh_name() {
  return c_.statement->name + "." + std::to_string(++nested_);
}

/// Makes `draft` the reduction `t` of `body`; returns the type of the result.
DType Reductions::reduce(const Term& t, Draft& draft, Value body) {
  draft.stage.reduce = reduce_named(t.name);
  const bool logical = t.name == "any" || t.name == "all";
  if (c_.failed()) return DType::kF32;
  if (logical && (body.flex != Value::kTyped || body.e->type != DType::kBool)) {
    c_.error(t.args[0].span, "`{}` reduces bools and `{}` is a number; write a comparison", t.name,
             c_.snippet(t.args[0].span));
  }
  if (!logical) types_.widen_bool(body);
  if (body.flex == Value::kReal) {
    c_.error(t.args[0].span, "`{}` has no type yet; write cast<f32>({})",
             c_.snippet(t.args[0].span), c_.snippet(t.args[0].span));
  }
  const DType type = body.e->type;
  draft.stage.accumulate = type;
  if (!t.type.empty()) {
    // A parameter bound to a narrow type accumulates in the wide one; f16 written out is an error.
    const Param* p = c_.op.param(t.type);
    const DType asked = p ? widened(c_.type_named(t.type)) : c_.type_named(t.type);
    const bool known = p ? p->is_type : dtype_named(t.type).has_value();
    if (!known || widened(asked) != asked || is_float(asked) != is_float(type) ||
        asked == DType::kBool || logical || is_arg(t)) {
      c_.error(t.span, "`{}` of {} accumulates in {}, not in `{}`", t.name, name_of(type),
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

/// Whether each result of `draft` has a term: its ranges are known and not empty.
bool Reductions::surely_has_terms(const Draft& draft) const {
  if (!draft.needs.empty() || !draft.limits.empty()) return false;
  const ir::Facts facts = facts_of_dims();
  return std::all_of(draft.rvars.begin(), draft.rvars.end(), [&](const Index& r) {
    return has_known_ends(r) &&
           facts.nonnegative(ir::Poly::of(r.hi, &facts) - ir::Poly::of(r.lo, &facts) - 1);
  });
}

/// The largest of narrow integers is one of them. Where there is a term, their own type holds it.
std::optional<DType> Reductions::narrow_extreme(const Draft& draft, const Value& body) const {
  const bool extreme = draft.stage.reduce == Reduce::kMax || draft.stage.reduce == Reduce::kMin;
  if (!extreme || !body.stored || draft.stage.accumulate != DType::kI32) return std::nullopt;
  const DType type = *body.stored;
  const bool narrow = type == DType::kI8 || type == DType::kU8 || type == DType::kI16;
  if (!narrow || !ir::in_type(draft.stage.value, type) || !surely_has_terms(draft))
    return std::nullopt;
  return type;
}

void Reductions::accumulate_in(DType type, Draft& draft) {
  draft.stage.value = ir::in_type(draft.stage.value, type);
  draft.stage.accumulate = type;
}

void Reductions::close_scope(Draft& draft, size_t outer) {
  c_.scope.resize(outer);
  if (c_.failed()) return;
  const auto used = [&](const std::string& name) {
    bool any = ir::mentions_var(draft.stage.value, name);
    for (const Index& r : draft.rvars)
      any |= ir::mentions_var(r.lo, name) || ir::mentions_var(r.hi, name);
    for (const Need& n : draft.needs) any |= ir::mentions_var(n.condition, name);
    // Reads are proved inside their tensors even where `x*0` leaves nothing of them.
    for (const Access& a : draft.accesses) any |= ir::mentions_var(a.load, name);
    return any;
  };
  for (const Index& index : c_.scope) {
    if (!used(index.name)) continue;
    Index var = index;
    var.from_data = false;
    var.hi = index.end;
    if (index.from_data || !is_variable_free(index.lo)) var.lo = ir::make_int(0);
    int64_t lo = 0;
    if (ir::is_const(var.lo, &lo) && lo < 0) {
      c_.error(draft.span,
               "a reduction inside a range that starts below 0 is not supported; let `{}` "
               "start at 0",
               index.name);
    }
    draft.vars.push_back(std::move(var));
  }
}

/// Ends a reduction that is part of a larger value: it becomes a stage, and the value reads it.
Value Reductions::close_nested(Draft draft, DType type, std::optional<DType> stored) {
  if (c_.failed()) return {ir::make_int(0), Value::kWhole, {}, draft.span};
  proofs_.settle(draft);
  ir::Buffer b;
  b.name = draft.stage.name;
  b.type = draft.stage.accumulate;
  std::vector<Expr> indices;
  for (const Index& index : draft.vars) {
    b.shape.push_back(index.end);
    indices.push_back(ir::make_var(index.name));
  }
  Tensor tensor;
  tensor.buffer = c_.program.buffers.size();
  tensor.draft = static_cast<int>(c_.drafts.size());
  tensor.readable = true;
  tensor.indices = draft.vars;
  tensor.domain = draft.domain;
  for (const Expr& condition : draft.domain) {
    c_.frames.back()->needs.push_back({condition, tensor.draft, draft.span, c_.chosen});
  }
  Value v{ir::make_cast(type, ir::make_load(b.name, b.type, indices)), Value::kTyped, stored,
          draft.span};
  if (c_.in_index && is_int(type)) v.e = ir::make_cast(DType::kI64, v.e);
  c_.tensors.emplace(b.name, std::move(tensor));
  c_.program.buffers.push_back(std::move(b));
  c_.drafts.push_back(std::move(draft));
  return v;
}

Value Reductions::nested(Draft draft, DType type, std::optional<DType> stored) {
  draft.stage.name = fresh_name();
  return close_nested(std::move(draft), type, stored);
}

/// The text of a reduction, and what else its value hangs on: the indices around, and the
/// conditions under which it counts.
std::string Reductions::place_of(const Term& t) const {
  std::string out = print(t);
  if (c_.in_index) out += " in an index";
  for (const Index& i : c_.scope) out += " " + i.name + " in " + print(i.lo) + ".." + print(i.hi);
  for (const auto* conditions : {&c_.own, &c_.chosen}) {
    for (const Expr& c : *conditions) out += " if " + print(c);
  }
  return out;
}

/// Equal reductions in one place are one stage.
Value Reductions::lower_reduction(const Term& t) {
  if (c_.failed()) return lower_new(t);
  const std::string place = place_of(t);
  if (const auto known = known_.find(place); known != known_.end()) {
    Value v = known->second;
    v.span = t.span;
    return v;
  }
  // Inside of it other stages read.
  auto outer = std::exchange(known_, {});
  Value v = lower_new(t);
  known_ = std::move(outer);
  if (!c_.failed()) known_.emplace(place, v);
  return v;
}

Value Reductions::lower_new(const Term& t) {
  if (is_arg(t)) return lower_arg_reduction(t);
  Draft draft;
  draft.stage.name = fresh_name();
  draft.span = t.span;
  const size_t outer = c_.scope.size();
  const bool in_index = std::exchange(c_.in_index, false);
  c_.frames.push_back(&draft);
  ranges_.open_ranges(t, draft);
  const Value body = values_.lower_value(t.args[0]);
  const DType type = reduce(t, draft, body);
  if (const auto narrow = narrow_extreme(draft, body)) accumulate_in(*narrow, draft);
  c_.frames.pop_back();
  close_scope(draft, outer);
  c_.in_index = in_index;
  return close_nested(std::move(draft), type, body.stored);
}

ir::Facts Reductions::facts_of_dims() const {
  ir::Facts facts;
  for (const ir::Dim& d : c_.program.dims) facts.define_dim(d.name, d.lo, d.hi);
  return facts;
}

/// Whether 32 bits hold the positions of an argmax over `rvars`, and there is one.
bool Reductions::few_positions(const std::vector<Index>& rvars) const {
  const ir::Facts facts = facts_of_dims();
  ir::Poly positions(1);
  for (const Index& r : rvars) {
    if (!has_known_ends(r)) return false;
    const ir::Poly lo = ir::Poly::of(r.lo, &facts), hi = ir::Poly::of(r.hi, &facts);
    if (!facts.nonnegative(lo) || !facts.nonnegative(hi - lo - 1)) return false;
    if (!facts.at_most(hi, INT32_MAX)) return false;
    positions = positions * (hi - lo);
  }
  return facts.at_most(positions, INT32_MAX);
}

/// The lowest index at which the value equals the maximum, or is NaN. Two stages give it:
/// `m = max[j](v)`, then `min[j](select(v == m || v != v, j, largest))`.
void Reductions::arg_reduce(const Term& t, Draft& draft) {
  Draft best;
  best.stage.name = fresh_name();
  best.span = t.span;
  const size_t outer = c_.scope.size();
  c_.frames.push_back(&best);
  ranges_.open_ranges(t, best);
  const Value body = values_.lower_value(t.args[0]);
  const DType type = reduce(t, best, body);
  const Expr value = best.stage.value;
  if (const auto narrow = narrow_extreme(best, body)) accumulate_in(*narrow, best);
  const std::vector<Index> rvars = best.rvars;
  const DType counter = best.needs.empty() && few_positions(rvars) ? DType::kI32 : DType::kI64;
  draft.accesses.insert(draft.accesses.end(), best.accesses.begin(), best.accesses.end());
  draft.needs.insert(draft.needs.end(), best.needs.begin(), best.needs.end());
  c_.frames.pop_back();
  close_scope(best, outer);
  const Value most = close_nested(std::move(best), type, {});
  if (c_.failed()) return;
  Expr here = ir::make_binary(ir::Op::kEq, value, most.e);
  if (is_float(type)) {
    here = ir::make_binary(ir::Op::kOr, here, ir::make_binary(ir::Op::kNe, value, value));
  }
  // Several indices count as one, row-major.
  Expr position;
  for (const Index& r : rvars) {
    if (rvars.size() > 1 && !has_known_ends(r)) {
      c_.error(t.span, "`{}` over several indices takes plain ranges", t.name);
    }
    const Expr var = ir::make_var(r.name);
    const Expr from_zero = rvars.size() > 1 ? var - r.lo : var;
    position = position ? position * (r.hi - r.lo) + from_zero : from_zero;
    draft.rvars.push_back(r);
    c_.scope.push_back(r);
  }
  draft.stage.reduce = Reduce::kMin;
  draft.stage.accumulate = counter;
  const int64_t none = counter == DType::kI32 ? INT32_MAX : INT64_MAX;
  draft.stage.value =
      ir::make_select(here, ir::make_cast(counter, position), ir::make_int(none, counter));
}

Value Reductions::lower_arg_reduction(const Term& t) {
  Draft draft;
  draft.span = t.span;
  const size_t outer = c_.scope.size();
  const bool in_index = std::exchange(c_.in_index, false);
  c_.frames.push_back(&draft);
  arg_reduce(t, draft);
  draft.stage.name = fresh_name();
  c_.frames.pop_back();
  close_scope(draft, outer);
  c_.in_index = in_index;
  return close_nested(std::move(draft), DType::kI64, {});
}

}  // namespace hone::ops
