// SPDX-License-Identifier: Apache-2.0
#include "jit/halide/value.h"

#include <cmath>
#include <cstdint>

#include "jit/halide/functions.h"

namespace hone::jit::halide {
namespace {

using Halide::cast;
using Halide::select;
using ir::Op;

using E = Halide::Expr;

E zero_of(const E& like) { return Halide::Internal::make_zero(like.type()); }

bool is_positive_constant(const ir::Expr& e) {
  int64_t value = 0;
  return is_const(e, &value) && value > 0;
}

/// Halide's division leaves a remainder of at least 0; the language's rounds down. By -1 its
/// result may not fit.
E floor_quotient(const E& a, const E& b) {
  const E zero = zero_of(b);
  const E minus = b == cast(b.type(), -1);
  const E safe = select(minus, cast(b.type(), 1), b);
  const E quotient = a / safe;
  const E rounded = select(safe < zero && a % safe != zero, quotient - cast(b.type(), 1), quotient);
  return select(minus, zero - a, rounded);
}

E floor_remainder(const E& a, const E& b) {
  const E zero = zero_of(b);
  const E minus = b == cast(b.type(), -1);
  const E safe = select(minus, cast(b.type(), 1), b);
  const E rest = a % safe;
  return select(minus, zero, safe < zero && rest != zero, rest + safe, rest);
}

/// Halide shifts the other way by a negative count, and says nothing of one past the width.
E shifted(Op op, const E& a, const E& n) {
  const E zero = zero_of(n), last = cast(n.type(), a.type().bits() - 1);
  const E inside = n >= zero && n <= last;
  const E count = select(inside, n, op == Op::kShl ? zero : last);
  return op == Op::kShl ? select(inside, a << count, zero_of(a)) : a >> count;
}

bool is_infinite(const ir::Expr& e) { return e->op == Op::kFloat && std::isinf(e->f); }

/// A comparison of strict floats: false where one is NaN, but for `!=`.
E comparison(const ir::Expr& e, const E& a, const E& b) {
  const bool limit = is_infinite(e->args[0]) || is_infinite(e->args[1]);
  const E x = limit ? order_of(a) : a, y = limit ? order_of(b) : b;
  // Halide's simplifier turns comparisons round as if there were no NaN.
  const E numbers = !is_nan_bits(a) && !is_nan_bits(b);
  if (e->op == Op::kLt) return x < y && numbers;
  if (e->op == Op::kLe) return x <= y && numbers;
  return e->op == Op::kEq ? x == y && numbers : !(x == y && numbers);
}

}  // namespace

E Values::index(const ir::Expr& e) {
  const auto both = [&](auto f) { return f(index(e->args[0]), index(e->args[1])); };
  switch (e->op) {
    case Op::kInt:
      if (e->i > INT32_MAX || e->i < INT32_MIN) refuse("index " + print(e) + ": beyond 32 bits");
      return static_cast<int32_t>(e->i);
    case Op::kVar:
      if (!bound(e->name)) refuse("variable " + e->name + " has no counterpart");
      return vars_.at(e->name);
    case Op::kDim:
      return buffers_.dim(e->name);
    case Op::kAdd:
      return both([](const E& a, const E& b) { return a + b; });
    case Op::kSub:
      return both([](const E& a, const E& b) { return a - b; });
    case Op::kMul:
      return both([](const E& a, const E& b) { return a * b; });
    case Op::kMin:
      return both([](const E& a, const E& b) { return Halide::min(a, b); });
    case Op::kMax:
      return both([](const E& a, const E& b) { return Halide::max(a, b); });
    case Op::kDiv:
      if (!is_positive_constant(e->args[1])) break;
      return both([](const E& a, const E& b) { return a / b; });
    case Op::kMod:
      if (!is_positive_constant(e->args[1])) break;
      return both([](const E& a, const E& b) { return a % b; });
    case Op::kCast:
      if (e->type == DType::kI64 && is_int(e->args[0]->type)) return index(e->args[0]);
      break;
    default:
      break;
  }
  return cast<int32_t>(value(e));
}

E Values::value(const ir::Expr& e) {
  switch (e->op) {
    case Op::kInt:
      if (e->type == DType::kBool) return Halide::Internal::make_bool(e->i != 0);
      return Halide::Internal::make_const(value_type(e->type), e->i);
    case Op::kFloat:
      return Halide::Internal::make_const(value_type(e->type), e->f);
    case Op::kVar:
    case Op::kDim:
      return cast<int64_t>(index(e));
    case Op::kScalar:
      return buffers_.scalar(e->name, e->type);
    case Op::kLoad:
      return load(e);
    case Op::kCast:
      return converted(value(e->args[0]), e->args[0]->type, e->type);
    case Op::kSelect: {
      // Halide's select takes the type of its sides.
      return select(value(e->args[0]), value(e->args[1]), value(e->args[2]));
    }
    case Op::kCall: {
      std::vector<E> args;
      for (const ir::Expr& a : e->args) args.push_back(value(a));
      return call(*e->fn, e->type, args, floats_);
    }
    default:
      break;
  }
  // Comparisons of what fits 32 bits are what Halide can prove.
  const bool compares =
      e->op == Op::kLt || e->op == Op::kLe || e->op == Op::kEq || e->op == Op::kNe;
  if (compares && e->args[0]->type == DType::kI64) {
    const auto a = ranges_.of(e->args[0]), b = ranges_.of(e->args[1]);
    const auto fits = [](const std::optional<Range>& r) {
      return r && r->lo >= INT32_MIN / 2 && r->hi <= INT32_MAX / 2;
    };
    if (fits(a) && fits(b)) {
      const E x = index(e->args[0]), y = index(e->args[1]);
      if (e->op == Op::kLt) return x < y;
      if (e->op == Op::kLe) return x <= y;
      return e->op == Op::kEq ? x == y : x != y;
    }
  }
  return operation(e);
}

E Values::operation(const ir::Expr& e) {
  const E a = value(e->args[0]);
  if (e->op == Op::kNeg) return is_float(e->type) ? -a : zero_of(a) - a;
  if (e->op == Op::kNot) return !a;
  const E b = value(e->args[1]);
  if (e->type == DType::kBool && is_float(e->args[0]->type) && floats_ == Floats::kStrict) {
    return comparison(e, a, b);
  }
  switch (e->op) {
    case Op::kAdd:
      return a + b;
    case Op::kSub:
      return a - b;
    case Op::kMul:
      return a * b;
    case Op::kDiv:
      if (is_float(e->type) || is_positive_constant(e->args[1])) return a / b;
      return floor_quotient(a, b);
    case Op::kMod:
      return is_positive_constant(e->args[1]) ? a % b : floor_remainder(a, b);
    case Op::kBitAnd:
      return a & b;
    case Op::kBitOr:
      return a | b;
    case Op::kBitXor:
      return a ^ b;
    case Op::kShl:
    case Op::kShr:
      return shifted(e->op, a, b);
    case Op::kMin:
      return lesser(a, b, floats_);
    case Op::kMax:
      return greater(a, b, floats_);
    case Op::kEq:
      return a == b;
    case Op::kNe:
      return a != b;
    case Op::kLt:
      return a < b;
    case Op::kLe:
      return a <= b;
    case Op::kAnd:
      return a && b;
    case Op::kOr:
      return a || b;
    default:
      refuse(print(e) + ": Halide has no such operation");
  }
}

/// Halide computes a whole box of indices, regardless of conditions. An index that is not known to
/// stay inside is therefore clamped, and what a guarded load reads outside is not chosen. Halide
/// knows nothing of values read from data.
E Values::load(const ir::Expr& e) {
  const ir::Buffer& b = *program_.buffer(e->name);
  std::vector<E> indices;
  E inside;
  for (size_t d = 0; d < b.shape.size(); ++d) {
    const ir::Expr& at = e->args[d];
    E i = index(at);
    const bool data = mentions_load(at);
    if (data || !ranges_.inside(at, b.shape[d])) {
      const E size = buffers_.size(b.shape[d]);
      if (e->guarded) {
        const auto range = ranges_.of(at);
        const bool narrow = range && range->lo >= INT32_MIN && range->hi <= INT32_MAX;
        const E test = narrow ? i >= 0 && i < size
                              : value(at) >= cast<int64_t>(0) && value(at) < cast<int64_t>(size);
        inside = inside.defined() ? inside && test : test;
      }
      i = Halide::clamp(i, 0, buffers_.last(b.shape[d]));
    }
    indices.push_back(std::move(i));
  }
  const E element = from_stored(buffers_.load(e->name, indices), e->type);
  return inside.defined() ? select(inside, element, value(e->args[b.shape.size()])) : element;
}

}  // namespace hone::jit::halide
