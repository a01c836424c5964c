// SPDX-License-Identifier: Apache-2.0
#include "ops/conversions.h"

#include <optional>
#include <utility>

#include "jit/ir/half.h"

namespace hone::ops {
namespace {

using ir::Expr;

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

}  // namespace

Value Conversions::read(Expr load, Span span) {
  const DType stored = load->type;
  const DType wide = c_.in_index && is_int(stored) ? DType::kI64 : widened(stored);
  Value v{ir::make_cast(wide, std::move(load)), Value::kTyped, {}, span};
  if (wide != stored) v.stored = stored;
  return v;
}

void Conversions::widen_bool(Value& v) {
  if (v.flex != Value::kTyped || v.e->type != DType::kBool) return;
  v.e = ir::make_cast(DType::kI32, v.e);
  v.stored = DType::kBool;
}

Expr Conversions::adapt(const Value& v, DType type) {
  if (v.flex == Value::kReal && !is_float(type)) {
    c_.error(v.span, "`{}` is a fraction and meets {}; write cast<{}>({})", c_.snippet(v.span),
             name_of(type), name_of(type), c_.snippet(v.span));
    return ir::make_int(0, type);
  }
  if (type == DType::kBool) {
    c_.error(v.span,
             "`{}` is a number where a bool is expected; write `true`, `false` or a "
             "comparison",
             c_.snippet(v.span));
    return ir::make_int(0, type);
  }
  if (is_int(type)) {
    const Expr out = ir::make_cast(type, v.e);
    if (v.e->op == ir::Op::kInt && out->op == ir::Op::kInt && out->i != v.e->i) {
      c_.error(v.span, "{} does not fit {}; write cast<{}>({}) to wrap it", v.e->i, name_of(type),
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
    case DType::kF8E4M3:
      return ir::make_float(ir::f8e4m3_value(ir::f8e4m3_from(exact)), type);
    case DType::kF8E5M2:
      return ir::make_float(ir::f8e5m2_value(ir::f8e5m2_from(exact)), type);
    default:
      return ir::make_float(static_cast<float>(exact), type);
  }
}

bool Conversions::unify(Value& a, Value& b) {
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
    c_.error(cover(a.span, b.span),
             "`{}` is {} and `{}` is {}; write cast<{}>({}) or cast<{}>({}){}{}",
             c_.snippet(a.span), name_of(a.e->type), c_.snippet(b.span), name_of(b.e->type),
             name_of(b.e->type), c_.snippet(a.span), name_of(a.e->type), c_.snippet(b.span),
             cast_inside(a, b.e->type), cast_inside(b, a.e->type));
  }
  return !c_.failed();
}

Expr Conversions::convert(const Value& v, DType type) {
  if (type == DType::kBool) {
    if (v.e->type == DType::kBool) return v.e;
    const Expr zero =
        is_float(v.e->type) ? ir::make_float(0, v.e->type) : ir::make_int(0, v.e->type);
    return ir::make_binary(ir::Op::kNe, v.e, zero);
  }
  return ir::make_cast(type, v.e);
}

/// A conversion around a division of integers comes too late: says to put it inside.
std::string Conversions::cast_inside(const Value& v, DType type) const {
  if (!is_int(v.e->type) || !is_float(type)) return {};
  const Term* value = nullptr;
  for (const auto* terms : {&c_.statement->otherwise, &c_.statement->where}) {
    for (const Term& t : *terms) value = value ? value : term_at(t, v.span);
  }
  if (!value) value = term_at(c_.statement->value, v.span);
  const Term* division = value ? first_division(*value) : nullptr;
  if (!division) return {};
  return fmt::format(
      "; `/` of integers floors, so for a fraction convert inside: `cast<{}>({})/{}`",
      name_of(type), c_.snippet(division->args[0].span), c_.snippet(division->args[1].span));
}

/// Constants adapt; the wide types of arithmetic round or wrap to the storage type they came from.
/// Any other conversion must be written as a cast.
Expr Conversions::store(const Value& v, DType type, Span span) {
  if (c_.failed()) return ir::make_int(0, type);
  if (v.flex != Value::kTyped) return adapt(v, type);
  const DType from = v.e->type;
  if (from == type) return v.e;
  if (v.e->op == ir::Op::kCast && v.e->args[0]->type == type && v.stored == type)
    return v.e->args[0];
  const bool rounds = from == DType::kF32 && widened(type) == DType::kF32;
  const bool wraps = from == DType::kI32 && v.stored == type;
  if (rounds || wraps) return convert(v, type);
  c_.error(span, "`{}` is {} and is stored as {}; write cast<{}>(...){}", c_.snippet(v.span),
           name_of(from), name_of(type), name_of(type), cast_inside(v, type));
  return ir::make_int(0, type);
}

}  // namespace hone::ops
