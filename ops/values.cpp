// SPDX-License-Identifier: Apache-2.0
#include "ops/values.h"

#include <optional>
#include <utility>
#include <vector>

#include "jit/ir/facts.h"
#include "jit/ir/functions/function.h"
#include "ops/philox.h"

namespace hone::ops {
namespace {

using ir::Expr;

constexpr uint64_t kMaxIndexParts = 512;  // of an index, which proofs take apart

bool is_comparison(Infix op) { return op >= Infix::kEq && op <= Infix::kGe; }
bool is_bitwise(Infix op) { return op >= Infix::kBitOr && op <= Infix::kShr; }

/// What to write instead of an operator on bits, of bools.
std::string_view logical_form(std::string_view sign) {
  if (sign == "&") return "join bools by `&&`";
  if (sign == "|") return "join bools by `||`";
  if (sign == "^") return "bools that differ are `a != b`";
  return sign == "~" ? "negate a bool by `!`" : "count with `cast<i32>(...)`";
}

/// The storage type that both operands agree on; a constant agrees with any.
std::optional<DType> joined_values(const Value& a, const Value& b) {
  if (a.flex != Value::kTyped) return b.stored;
  if (b.flex != Value::kTyped || a.stored == b.stored) return a.stored;
  return std::nullopt;
}

Value typed(Expr e, Span span, std::optional<DType> stored = {}) {
  return {std::move(e), Value::kTyped, stored, span};
}

}  // namespace

Value Values::lower_value(const Term& t) {
  if (c_.failed()) return {ir::make_int(0), Value::kWhole, {}, t.span};
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
      return accesses_.lower_access(t);
    case Term::kNeg:
    case Term::kNot:
    case Term::kBitNot:
      return lower_prefix(t);
    case Term::kInfix:
      return lower_infix(t);
    case Term::kCall:
      return lower_call(t);
    case Term::kCast:
      return lower_cast(t);
    case Term::kReduce:
      return reductions_.lower_reduction(t);
  }
  return {ir::make_int(0), Value::kWhole, {}, t.span};
}

/// A part whose errors are told beside those of the other parts.
Value Values::lower_part(const Term& t) {
  return c_.apart([&] { return lower_value(t); });
}

Value Values::lower_name(const Term& t) {
  if (const Index* index = c_.index_named(t.name)) return typed(ir::make_var(index->name), t.span);
  if (Expr number = c_.number_named(t.name)) return {number, Value::kWhole, {}, t.span};
  const Argument* a = c_.op.arg(t.name);
  if (a && a->scalar) return lower_scalar(*a, t.span);
  if (c_.op.param(t.name)) {
    c_.error(t.span, "`{}` is a dtype, not a value; a conversion is `cast<{}>(...)`", t.name,
             t.name);
  } else {
    c_.error(t.span, "`{}` is a tensor; read an element of it, `{}[...]`", t.name, t.name);
  }
  return {ir::make_int(0), Value::kWhole, {}, t.span};
}

/// The value counts as read from its declared type, so that it mixes with tensors of that type.
Value Values::lower_scalar(const Argument& a, Span span) {
  const DType passed = c_.scalar_type(a), declared = c_.type_named(a.type);
  Value v = types_.read(ir::make_scalar(a.name, passed), span);
  if (passed != declared) v.stored = declared;
  return v;
}

Value Values::lower_prefix(const Term& t) {
  Value v = lower_value(t.args[0]);
  if (t.kind == Term::kNot) {
    if (v.flex != Value::kTyped || v.e->type != DType::kBool) {
      c_.error(t.span, "`!` takes a bool; write a comparison, `{} == 0`", c_.snippet(v.span));
      return v;
    }
    v.e = ir::make_unary(ir::Op::kNot, v.e);
  } else if (t.kind == Term::kBitNot) {
    if (!takes_bits("~", v)) return v;
    v.e = ir::make_int(-1, v.e->type) - v.e;  // all bits the other way round
  } else {
    types_.widen_bool(v);
    v.e = ir::make_unary(ir::Op::kNeg, v.e);
  }
  v.span = t.span;
  return v;
}

/// Whether `v` has bits to work on; an error where it is a float or a bool.
bool Values::takes_bits(std::string_view sign, const Value& v) {
  if (v.flex == Value::kWhole || (v.flex == Value::kTyped && is_int(v.e->type))) return true;
  if (v.flex == Value::kTyped && v.e->type == DType::kBool) {
    c_.error(v.span, "`{}` takes integers and `{}` is bool; {}", sign, c_.snippet(v.span),
             logical_form(sign));
    return false;
  }
  const std::string what = v.flex == Value::kReal ? "a fraction" : std::string(name_of(v.e->type));
  c_.error(v.span, "`{}` takes integers (i64 i32 i16 i8 u8 i4 u4 i2 u2 u1) and `{}` is {}{}", sign,
           c_.snippet(v.span), what,
           sign == "^" ? "; a power is `x*x`, or `pow(x, y)` of floats" : "; write cast<i32>(...)");
  return false;
}

/// Of a shift the result has the type of what is shifted, and so has the count in the end. What an
/// i32 does not hold of an i64 is as far outside as -1 or 32.
Value Values::lower_bits(const Term& t, Value a, Value b) {
  const std::string_view sign = row_of(t.infix).text;
  const bool shifts = t.infix == Infix::kShl || t.infix == Infix::kShr;
  if (!takes_bits(sign, a) || !takes_bits(sign, b)) return a;
  const bool typed_both = a.flex == Value::kTyped && b.flex == Value::kTyped;
  auto stored = joined_values(a, b);
  if (shifts && typed_both) {
    stored = a.stored;
    if (a.e->type == DType::kI32 && b.e->type == DType::kI64) {
      constexpr int64_t kWidth = 32;
      const ir::Facts nothing;
      const ir::Poly count = ir::Poly::of(b.e);
      const auto least = nothing.lower(count), most = nothing.upper(count);
      if (!least || !most || *least < INT32_MIN || *most > INT32_MAX) {
        b.e = ir::make_binary(ir::Op::kMin, b.e, ir::make_int(kWidth));
        b.e = ir::make_binary(ir::Op::kMax, b.e, ir::make_int(-1));
      }
    }
    b.e = ir::make_cast(a.e->type, b.e);
  }
  if (!types_.unify(a, b)) return a;
  Value out = typed(ir::make_binary(row_of(t.infix).op, a.e, b.e), t.span, stored);
  if (a.flex != Value::kTyped && b.flex != Value::kTyped) out.flex = a.flex;
  return out;
}

Value Values::lower_infix(const Term& t) {
  Value a = lower_part(t.args[0]);
  Value b = lower_part(t.args[1]);
  const bool logical = t.infix == Infix::kAnd || t.infix == Infix::kOr;
  const bool equality = t.infix == Infix::kEq || t.infix == Infix::kNe;
  if (c_.failed()) return a;
  if (is_bitwise(t.infix)) return lower_bits(t, std::move(a), std::move(b));
  const auto is_bool = [](const Value& v) {
    return v.flex == Value::kTyped && v.e->type == DType::kBool;
  };
  if (logical && !(is_bool(a) && is_bool(b))) {
    const Value& wrong = is_bool(a) ? b : a;
    c_.error(wrong.span, "`{}` joins bools and `{}` is a number; write a comparison, `{} != 0`",
             row_of(t.infix).text, c_.snippet(wrong.span), c_.snippet(wrong.span));
  }
  if (!logical && !(equality && is_bool(a) && is_bool(b))) {
    types_.widen_bool(a);
    types_.widen_bool(b);
  }
  const auto stored = joined_values(a, b);
  if (c_.failed() || !types_.unify(a, b)) return a;
  if (t.infix == Infix::kMod && is_float(a.e->type)) {
    c_.error(t.span, "`%` takes integers; for floats write x - y*floor(x/y)");
  }
  if (t.infix == Infix::kGt || t.infix == Infix::kGe) std::swap(a, b);
  Value out = typed(ir::make_binary(row_of(t.infix).op, a.e, b.e), t.span);
  if (!is_comparison(t.infix) && !logical) {
    out.flex = a.flex == Value::kTyped || b.flex == Value::kTyped ? Value::kTyped : a.flex;
    out.stored = stored;
  }
  return out;
}

bool Values::expect_count(const Term& t, size_t count) {
  if (t.args.size() == count) return true;
  c_.error(t.span, "`{}` takes {} value{}, not {}", t.name, count, count == 1 ? "" : "s",
           t.args.size());
  return false;
}

Value Values::lower_call(const Term& t) {
  if (t.name == "select") return lower_select(t);
  if (t.name == "philox") return lower_philox(t);
  if (t.name != "min" && t.name != "max" && t.name != "relu") return lower_function(t);
  if (!expect_count(t, t.name == "relu" ? 1 : 2)) return {ir::make_int(0), {}, {}, t.span};
  Value a = lower_part(t.args[0]);
  Value b =
      t.name == "relu" ? Value{ir::make_int(0), Value::kWhole, {}, t.span} : lower_part(t.args[1]);
  types_.widen_bool(a);
  types_.widen_bool(b);
  const auto stored = joined_values(a, b);
  if (c_.failed() || !types_.unify(a, b)) return a;
  const bool flexible = a.flex != Value::kTyped && b.flex != Value::kTyped;
  Value out = typed(ir::make_binary(t.name == "min" ? ir::Op::kMin : ir::Op::kMax, a.e, b.e),
                    t.span, stored);
  if (flexible) out.flex = a.flex;
  return out;
}

/// A side of a choice: discarded unless `condition` holds. Its reads may count on that.
Value Values::lower_side(const Term& t, const Expr& condition) {
  const size_t outer = c_.chosen.size();
  std::vector<Expr> conjuncts;
  append_conjuncts(condition, conjuncts);
  for (const Expr& c : conjuncts) {
    if (is_index_condition(c)) c_.chosen.push_back(c);
  }
  Value v = lower_part(t);
  c_.chosen.resize(outer);
  return v;
}

Value Values::lower_select(const Term& t) {
  if (!expect_count(t, 3)) return {ir::make_int(0), {}, {}, t.span};
  const Value c = lower_part(t.args[0]);
  const bool condition = c.e->type == DType::kBool;
  Value a = condition ? lower_side(t.args[1], c.e) : lower_part(t.args[1]);
  Value b = condition ? lower_side(t.args[2], negated(c.e)) : lower_part(t.args[2]);
  if (c_.failed()) return a;
  if (c.flex != Value::kTyped || c.e->type != DType::kBool) {
    c_.error(c.span, "the first value of `select` is a condition; write a comparison, `{} != 0`",
             c_.snippet(c.span));
    return a;
  }
  const auto stored = joined_values(a, b);
  if (!types_.unify(a, b)) return a;
  const bool flexible = a.flex != Value::kTyped && b.flex != Value::kTyped;
  Value out = typed(ir::make_select(c.e, a.e, b.e), t.span, stored);
  if (flexible) out.flex = a.flex;
  return out;
}

Value Values::lower_philox(const Term& t) {
  if (!expect_count(t, 2)) return {ir::make_int(0), {}, {}, t.span};
  Value args[2] = {lower_part(t.args[0]), lower_part(t.args[1])};
  if (c_.failed()) return args[0];
  for (const Value& v : args) {
    if (v.flex != Value::kReal && is_int(v.e->type)) continue;
    c_.error(v.span, "`philox` takes integers, a seed and a number in its stream, and `{}` is {}",
             c_.snippet(v.span), v.flex == Value::kReal ? "a fraction" : name_of(v.e->type));
  }
  if (c_.failed()) return args[0];
  return typed(philox(ir::make_cast(DType::kI64, args[0].e), ir::make_cast(DType::kI64, args[1].e)),
               t.span);
}

Value Values::lower_function(const Term& t) {
  const ir::Function* fn = ir::function_named(t.name);
  if (!expect_count(t, fn->arity)) return {ir::make_int(0), {}, {}, t.span};
  std::vector<Value> args;
  for (const Term& a : t.args) args.push_back(lower_part(a));
  if (c_.failed()) return args[0];
  for (Value& v : args) {
    if (!fn->ints_too && v.flex == Value::kWhole)
      v = {types_.adapt(v, DType::kF64), Value::kReal, {}, v.span};
    if (!fn->ints_too && !is_float(v.e->type)) {
      c_.error(v.span, "`{}` takes floats and `{}` is {}; write cast<f32>({})", t.name,
               c_.snippet(v.span), name_of(v.e->type), c_.snippet(v.span));
    }
    types_.widen_bool(v);
  }
  std::optional<DType> stored = args[0].stored;
  if (args.size() == 2) {
    stored = joined_values(args[0], args[1]);
    if (!types_.unify(args[0], args[1])) return args[0];
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

Value Values::lower_cast(const Term& t) {
  const DType type = c_.type_named(t.name);
  Value v = lower_value(t.args[0]);
  if (c_.failed()) return v;
  if (v.flex != Value::kTyped && is_float(type)) {
    v.e = types_.adapt(v, type);
  } else if (v.stored == type && v.e->op == ir::Op::kCast && v.e->args[0]->type == type) {
    v.e = v.e->args[0];  // what was read, as it was
  } else {
    v.e = types_.convert(v, type);
  }
  Value out = types_.read(v.e, t.span);
  if (widened(type) == type) out.stored.reset();
  return out;
}

Expr Values::lower_index(const Term& t) {
  const bool outer = std::exchange(c_.in_index, true);
  const Value v = lower_value(t);
  c_.in_index = outer;
  if (!c_.failed() && ir::tree_size(v.e) > kMaxIndexParts) {
    c_.error(t.span, "an index is made of at most 512 names, numbers and operators");
  }
  if (!c_.failed() && v.e->type != DType::kI64) {
    c_.error(t.span, "an index is an integer and `{}` is {}; write cast<i64>({})",
             c_.snippet(t.span), name_of(v.e->type), c_.snippet(t.span));
  }
  return v.e;
}

}  // namespace hone::ops
