// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "jit/ir/functions/function.h"
#include "jit/ir/half.h"
#include "ops/lowering.h"

namespace hone::ops {
namespace {

using ir::Expr;

ir::Op op_of(Infix op) {
  switch (op) {
    case Infix::kOr:
      return ir::Op::kOr;
    case Infix::kAnd:
      return ir::Op::kAnd;
    case Infix::kEq:
      return ir::Op::kEq;
    case Infix::kNe:
      return ir::Op::kNe;
    case Infix::kLt:
    case Infix::kGt:
      return ir::Op::kLt;
    case Infix::kLe:
    case Infix::kGe:
      return ir::Op::kLe;
    case Infix::kAdd:
      return ir::Op::kAdd;
    case Infix::kSub:
      return ir::Op::kSub;
    case Infix::kMul:
      return ir::Op::kMul;
    case Infix::kDiv:
      return ir::Op::kDiv;
    case Infix::kMod:
      return ir::Op::kMod;
  }
  return ir::Op::kAdd;
}

bool is_comparison(Infix op) { return op >= Infix::kEq && op <= Infix::kGe; }

/// The storage type that both operands agree on; a constant agrees with any.
std::optional<DType> joined_values(const Value& a, const Value& b) {
  if (a.flex != Value::kTyped) return b.stored;
  if (b.flex != Value::kTyped || a.stored == b.stored) return a.stored;
  return std::nullopt;
}

/// The term of that place, or null.
const Term* term_at(const Term& t, Span span) {
  if (t.span.begin == span.begin && t.span.end == span.end) return &t;
  for (const Term& a : t.args) {
    if (const Term* found = term_at(a, span)) return found;
  }
  return nullptr;
}

/// The first division in the arithmetic of `t`; indices and conversions are not looked into.
const Term* first_division(const Term& t) {
  if (t.kind == Term::kInfix && t.infix == Infix::kDiv) return &t;
  if (t.kind == Term::kAccess || t.kind == Term::kCast) return nullptr;
  for (const Term& a : t.args) {
    if (const Term* found = first_division(a)) return found;
  }
  return nullptr;
}

Value typed(Expr e, Span span, std::optional<DType> stored = {}) {
  return {std::move(e), Value::kTyped, stored, span};
}

}  // namespace

Value Lowering::lower_value(const Term& t) {
  if (failed()) return {ir::make_int(0), Value::kWhole, {}, t.span};
  switch (t.kind) {
    case Term::kInt:
      return {ir::make_int(t.i), Value::kWhole, {}, t.span};
    case Term::kFloat:
      return {ir::make_float(t.f, DType::kF64), Value::kReal, {}, t.span};
    case Term::kBool:
      return typed(ir::make_int(t.i, DType::kBool), t.span);
    case Term::kName:
      return lower_name(t);
    case Term::kAccess:
      return lower_access(t);
    case Term::kNeg:
    case Term::kNot:
      return lower_prefix(t);
    case Term::kInfix:
      return lower_infix(t);
    case Term::kCall:
      return lower_call(t);
    case Term::kCast:
      return lower_cast(t);
    case Term::kReduce:
      return lower_reduction(t);
  }
  return {ir::make_int(0), Value::kWhole, {}, t.span};
}

/// A part whose errors are told beside those of the other parts.
Value Lowering::lower_part(const Term& t) {
  return apart([&] { return lower_value(t); });
}

Value Lowering::read(Expr load, Span span) {
  const DType stored = load->type;
  const DType wide = in_index_ && is_int(stored) ? DType::kI64 : widened(stored);
  Value v = typed(ir::make_cast(wide, std::move(load)), span);
  if (wide != stored) v.stored = stored;
  return v;
}

Value Lowering::lower_name(const Term& t) {
  if (const Index* index = index_named(t.name)) return typed(ir::make_var(index->name), t.span);
  if (Expr number = number_named(t.name)) return {number, Value::kWhole, {}, t.span};
  const Argument* a = d_.arg(t.name);
  if (a && a->scalar) return lower_scalar(*a, t.span);
  if (d_.param(t.name)) {
    error(t.span, "`{}` is a dtype, not a value; a conversion is `cast<{}>(...)`", t.name, t.name);
  } else {
    error(t.span, "`{}` is a tensor; read an element of it, `{}[...]`", t.name, t.name);
  }
  return {ir::make_int(0), Value::kWhole, {}, t.span};
}

/// The value counts as read from its declared type, so that it mixes with tensors of that type.
Value Lowering::lower_scalar(const Argument& a, Span span) {
  const DType passed = scalar_type(a), declared = type_named(a.type);
  Value v = read(ir::make_scalar(a.name, passed), span);
  if (passed != declared) v.stored = declared;
  return v;
}

void Lowering::widen_bool(Value& v) {
  if (v.flex != Value::kTyped || v.e->type != DType::kBool) return;
  v.e = ir::make_cast(DType::kI32, v.e);
  v.stored = DType::kBool;
}

Expr Lowering::adapt(const Value& v, DType type) {
  if (v.flex == Value::kReal && !is_float(type)) {
    error(v.span, "`{}` is a fraction and meets {}; write cast<{}>({})", snippet(v.span),
          name_of(type), name_of(type), snippet(v.span));
    return ir::make_int(0, type);
  }
  if (type == DType::kBool) {
    error(v.span,
          "`{}` is a number where a bool is expected; write `true`, `false` or a "
          "comparison",
          snippet(v.span));
    return ir::make_int(0, type);
  }
  if (is_int(type)) {
    const Expr out = ir::make_cast(type, v.e);
    if (v.e->op == ir::Op::kInt && out->op == ir::Op::kInt && out->i != v.e->i) {
      error(v.span, "{} does not fit {}; write cast<{}>({}) to wrap it", v.e->i, name_of(type),
            name_of(type), v.e->i);
    }
    return out;
  }
  if (v.e->op != ir::Op::kInt && v.e->op != ir::Op::kFloat) return ir::make_cast(type, v.e);
  const double exact = v.e->op == ir::Op::kInt ? static_cast<double>(v.e->i) : v.e->f;
  switch (type) {
    case DType::kF64:
      return ir::make_float(exact, type);
    case DType::kF16:
      return ir::make_float(ir::f16_value(ir::f16_from(exact)), type);
    case DType::kBF16:
      return ir::make_float(ir::bf16_value(ir::bf16_from(exact)), type);
    default:
      return ir::make_float(static_cast<float>(exact), type);
  }
}

bool Lowering::unify(Value& a, Value& b) {
  if (a.flex != Value::kTyped && b.flex != Value::kTyped) {
    if (a.flex == b.flex) return true;
    for (Value* v : {&a, &b}) {
      if (v->flex == Value::kWhole) v->e = adapt(*v, DType::kF64);
      v->flex = Value::kReal;
    }
    return true;
  }
  if (a.flex != Value::kTyped) {
    a.e = adapt(a, b.e->type);
  } else if (b.flex != Value::kTyped) {
    b.e = adapt(b, a.e->type);
  } else if (a.e->type != b.e->type) {
    error(cover(a.span, b.span),
          "`{}` is {} and `{}` is {}; write cast<{}>({}) or cast<{}>({}){}{}", snippet(a.span),
          name_of(a.e->type), snippet(b.span), name_of(b.e->type), name_of(b.e->type),
          snippet(a.span), name_of(a.e->type), snippet(b.span), cast_inside(a, b.e->type),
          cast_inside(b, a.e->type));
  }
  return !failed();
}

Value Lowering::lower_prefix(const Term& t) {
  Value v = lower_value(t.args[0]);
  if (t.kind == Term::kNot) {
    if (v.flex != Value::kTyped || v.e->type != DType::kBool) {
      error(t.span, "`!` takes a bool; write a comparison, `{} == 0`", snippet(v.span));
      return v;
    }
    v.e = ir::make_unary(ir::Op::kNot, v.e);
  } else {
    widen_bool(v);
    v.e = ir::make_unary(ir::Op::kNeg, v.e);
  }
  v.span = t.span;
  return v;
}

Value Lowering::lower_infix(const Term& t) {
  Value a = lower_part(t.args[0]);
  Value b = lower_part(t.args[1]);
  const bool logical = t.infix == Infix::kAnd || t.infix == Infix::kOr;
  const bool equality = t.infix == Infix::kEq || t.infix == Infix::kNe;
  if (failed()) return a;
  const auto is_bool = [](const Value& v) {
    return v.flex == Value::kTyped && v.e->type == DType::kBool;
  };
  if (logical && !(is_bool(a) && is_bool(b))) {
    const Value& wrong = is_bool(a) ? b : a;
    error(wrong.span, "`{}` joins bools and `{}` is a number; write a comparison, `{} != 0`",
          row_of(t.infix).text, snippet(wrong.span), snippet(wrong.span));
  }
  if (!logical && !(equality && is_bool(a) && is_bool(b))) {
    widen_bool(a);
    widen_bool(b);
  }
  const auto stored = joined_values(a, b);
  if (failed() || !unify(a, b)) return a;
  if (t.infix == Infix::kMod && is_float(a.e->type)) {
    error(t.span, "`%` takes integers; for floats write x - y*floor(x/y)");
  }
  if (t.infix == Infix::kGt || t.infix == Infix::kGe) std::swap(a, b);
  Value out = typed(ir::make_binary(op_of(t.infix), a.e, b.e), t.span);
  if (!is_comparison(t.infix) && !logical) {
    out.flex = a.flex == Value::kTyped || b.flex == Value::kTyped ? Value::kTyped : a.flex;
    out.stored = stored;
  }
  return out;
}

bool Lowering::expect_count(const Term& t, size_t count) {
  if (t.args.size() == count) return true;
  error(t.span, "`{}` takes {} value{}, not {}", t.name, count, count == 1 ? "" : "s",
        t.args.size());
  return false;
}

Value Lowering::lower_call(const Term& t) {
  if (t.name == "select") return lower_select(t);
  if (t.name != "min" && t.name != "max" && t.name != "relu") return lower_function(t);
  if (!expect_count(t, t.name == "relu" ? 1 : 2)) return {ir::make_int(0), {}, {}, t.span};
  Value a = lower_part(t.args[0]);
  Value b =
      t.name == "relu" ? Value{ir::make_int(0), Value::kWhole, {}, t.span} : lower_part(t.args[1]);
  widen_bool(a);
  widen_bool(b);
  const auto stored = joined_values(a, b);
  if (failed() || !unify(a, b)) return a;
  const bool flexible = a.flex != Value::kTyped && b.flex != Value::kTyped;
  Value out = typed(ir::make_binary(t.name == "min" ? ir::Op::kMin : ir::Op::kMax, a.e, b.e),
                    t.span, stored);
  if (flexible) out.flex = a.flex;
  return out;
}

/// A side of a choice: discarded unless `condition` holds. What it reads may count on that.
Value Lowering::lower_side(const Term& t, const Expr& condition) {
  const size_t outer = chosen_.size();
  std::vector<Expr> conjuncts;
  append_conjuncts(condition, conjuncts);
  for (const Expr& c : conjuncts) {
    if (is_index_condition(c)) chosen_.push_back(c);
  }
  Value v = lower_part(t);
  chosen_.resize(outer);
  return v;
}

Value Lowering::lower_select(const Term& t) {
  if (!expect_count(t, 3)) return {ir::make_int(0), {}, {}, t.span};
  const Value c = lower_part(t.args[0]);
  const bool condition = c.e->type == DType::kBool;
  Value a = condition ? lower_side(t.args[1], c.e) : lower_part(t.args[1]);
  Value b = condition ? lower_side(t.args[2], negated(c.e)) : lower_part(t.args[2]);
  if (failed()) return a;
  if (c.flex != Value::kTyped || c.e->type != DType::kBool) {
    error(c.span, "the first value of `select` is a condition; write a comparison, `{} != 0`",
          snippet(c.span));
    return a;
  }
  const auto stored = joined_values(a, b);
  if (!unify(a, b)) return a;
  const bool flexible = a.flex != Value::kTyped && b.flex != Value::kTyped;
  Value out = typed(ir::make_select(c.e, a.e, b.e), t.span, stored);
  if (flexible) out.flex = a.flex;
  return out;
}

Value Lowering::lower_function(const Term& t) {
  const ir::Function* fn = ir::function_named(t.name);
  if (!expect_count(t, fn->arity)) return {ir::make_int(0), {}, {}, t.span};
  std::vector<Value> args;
  for (const Term& a : t.args) args.push_back(lower_part(a));
  if (failed()) return args[0];
  for (Value& v : args) {
    if (!fn->ints_too && v.flex == Value::kWhole)
      v = {adapt(v, DType::kF64), Value::kReal, {}, v.span};
    if (!fn->ints_too && !is_float(v.e->type)) {
      error(v.span, "`{}` takes floats and `{}` is {}; write cast<f32>({})", t.name,
            snippet(v.span), name_of(v.e->type), snippet(v.span));
    }
    widen_bool(v);
  }
  std::optional<DType> stored = args[0].stored;
  if (args.size() == 2) {
    stored = joined_values(args[0], args[1]);
    if (!unify(args[0], args[1])) return args[0];
  }
  Value out = typed({}, t.span, stored);
  std::vector<Expr> exprs;
  bool flexible = true;
  for (const Value& v : args) {
    flexible &= v.flex != Value::kTyped;
    exprs.push_back(v.e);
  }
  if (flexible) out.flex = args[0].flex;
  out.e = ir::make_call(fn, std::move(exprs));
  return out;
}

Expr Lowering::convert(const Value& v, DType type) {
  if (type == DType::kBool) {
    if (v.e->type == DType::kBool) return v.e;
    const Expr zero =
        is_float(v.e->type) ? ir::make_float(0, v.e->type) : ir::make_int(0, v.e->type);
    return ir::make_binary(ir::Op::kNe, v.e, zero);
  }
  return ir::make_cast(type, v.e);
}

Value Lowering::lower_cast(const Term& t) {
  const DType type = type_named(t.name);
  Value v = lower_value(t.args[0]);
  if (failed()) return v;
  if (v.flex != Value::kTyped && is_float(type)) {
    v.e = adapt(v, type);
  } else if (v.stored == type && v.e->op == ir::Op::kCast && v.e->args[0]->type == type) {
    v.e = v.e->args[0];  // what was read, as it was
  } else {
    v.e = convert(v, type);
  }
  Value out = read(v.e, t.span);
  if (widened(type) == type) out.stored.reset();
  return out;
}

/// A conversion around a division of integers comes too late: says to put it inside.
std::string Lowering::cast_inside(const Value& v, DType type) const {
  if (!is_int(v.e->type) || !is_float(type)) return {};
  const Term* value = nullptr;
  for (const auto* terms : {&statement_->otherwise, &statement_->where}) {
    for (const Term& t : *terms) value = value ? value : term_at(t, v.span);
  }
  if (!value) value = term_at(statement_->value, v.span);
  const Term* division = value ? first_division(*value) : nullptr;
  if (!division) return {};
  return fmt::format(
      "; `/` of integers floors, so for a fraction convert inside: `cast<{}>({})/{}`",
      name_of(type), snippet(division->args[0].span), snippet(division->args[1].span));
}

/// What is written to an element of `type`: constants adapt, the wide types of arithmetic round or
/// wrap to the storage type they came from, anything else must be said.
Expr Lowering::store(const Value& v, DType type, Span span) {
  if (failed()) return ir::make_int(0, type);
  if (v.flex != Value::kTyped) return adapt(v, type);
  const DType from = v.e->type;
  if (from == type) return v.e;
  if (v.e->op == ir::Op::kCast && v.e->args[0]->type == type && v.stored == type)
    return v.e->args[0];
  const bool rounds = from == DType::kF32 && widened(type) == DType::kF32;
  const bool wraps = from == DType::kI32 && v.stored == type;
  if (rounds || wraps) return convert(v, type);
  error(span, "`{}` is {} and is stored as {}; write cast<{}>(...){}", snippet(v.span),
        name_of(from), name_of(type), name_of(type), cast_inside(v, type));
  return ir::make_int(0, type);
}

}  // namespace hone::ops
