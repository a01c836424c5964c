// SPDX-License-Identifier: Apache-2.0
#include "jit/ir/expr.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>

#include "jit/ir/integers.h"
#include "jit/ir/operations.h"

namespace hone::ir {
namespace {

/// Chosen: far beyond all limits on sizes (not measured).
constexpr uint64_t kEndless = uint64_t{1} << 40;  // larger is as good as endless

/// One of the 64 bits of a set that may hold more than was put into it.
uint64_t bit_of(size_t hash) { return uint64_t{1} << (hash % 64); }

/// Wraps a value to the range of an integer type; bool keeps 0 or 1.
int64_t wrap(int64_t v, DType type) {
  switch (type) {
    case DType::kI32:
      return static_cast<int32_t>(v);
    case DType::kI16:
      return static_cast<int16_t>(v);
    case DType::kI8:
      return static_cast<int8_t>(v);
    case DType::kU8:
      return static_cast<uint8_t>(v);
    case DType::kBool:
      return v != 0;
    case DType::kI64:
      return v;
    default: {  // of less than a byte
      const int away = 64 - bit_width_of(type);
      const auto up = static_cast<int64_t>(static_cast<uint64_t>(v) << away);
      return is_unsigned(type) ? v & ((int64_t{1} << bit_width_of(type)) - 1) : up >> away;
    }
  }
}

int64_t floor_div(int64_t a, int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return static_cast<int64_t>(0 - static_cast<uint64_t>(a));
  const int64_t q = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? q - 1 : q;
}

/// The value of `a op b` on integer constants, when defined here.
bool fold_ints(Op op, DType type, int64_t a, int64_t b, Expr* out) {
  const auto ua = static_cast<uint64_t>(a);
  const auto ub = static_cast<uint64_t>(b);
  int64_t v = 0;
  DType t = type;
  switch (op) {
    case Op::kAdd:
      v = static_cast<int64_t>(ua + ub);
      break;
    case Op::kSub:
      v = static_cast<int64_t>(ua - ub);
      break;
    case Op::kMul:
      v = static_cast<int64_t>(ua * ub);
      break;
    case Op::kDiv:
      v = floor_div(a, b);
      break;
    case Op::kMod:
      v = b == 0 ? 0 : static_cast<int64_t>(ua - ub * static_cast<uint64_t>(floor_div(a, b)));
      break;
    case Op::kBitAnd:
    case Op::kBitOr:
    case Op::kBitXor:
    case Op::kShl:
    case Op::kShr:
      v = bits_of(op, type, a, b);
      break;
    case Op::kMin:
      v = a < b ? a : b;
      break;
    case Op::kMax:
      v = a > b ? a : b;
      break;
    case Op::kEq:
      v = a == b, t = DType::kBool;
      break;
    case Op::kNe:
      v = a != b, t = DType::kBool;
      break;
    case Op::kLt:
      v = a < b, t = DType::kBool;
      break;
    case Op::kLe:
      v = a <= b, t = DType::kBool;
      break;
    case Op::kAnd:
      v = (a != 0) && (b != 0);
      break;
    case Op::kOr:
      v = (a != 0) || (b != 0);
      break;
    default:
      return false;
  }
  *out = make_int(wrap(v, t), t);
  return true;
}

/// A comparison of two constants that are floats; nothing for another operation.
Expr fold_comparison(Op op, double a, double b) {
  switch (op) {
    case Op::kEq:
      return make_int(a == b, DType::kBool);
    case Op::kNe:
      return make_int(a != b, DType::kBool);
    case Op::kLt:
      return make_int(a < b, DType::kBool);
    case Op::kLe:
      return make_int(a <= b, DType::kBool);
    default:
      return {};
  }
}

/// Bitwise operations that are arithmetic as well, about which more is known. Whatever the sign of
/// `x`, x & 7 is x % 8. Likewise x << 3 is x * 8, x >> 3 is x / 8, and x ^ -1 is -1 - x.
Expr arithmetic_of(Op op, const Expr& x, int64_t c) {
  const int width = 8 * size_of(x->type);
  switch (op) {
    case Op::kBitAnd:
      if (c == -1) return x;
      if (c == 0) return make_int(0, x->type);
      if (c > 0 && std::has_single_bit(static_cast<uint64_t>(c) + 1) &&
          c < INT64_MAX >> (64 - width))
        return make_binary(Op::kMod, x, make_int(c + 1, x->type));
      return {};
    case Op::kBitOr:
      return c == 0 ? x : c == -1 ? make_int(-1, x->type) : Expr();
    case Op::kBitXor:
      return c == 0 ? x : c == -1 ? make_int(-1, x->type) - x : Expr();
    case Op::kShl:
      if (c < 0 || c >= width) return make_int(0, x->type);
      return x * make_int(wrap(static_cast<int64_t>(uint64_t{1} << c), x->type), x->type);
    default:
      if (c < 0 || c > width - 1) return make_binary(op, x, make_int(width - 1, x->type));
      if (c == width - 1) return {};
      return make_binary(Op::kDiv, x, make_int(int64_t{1} << c, x->type));
  }
}

/// What a bitwise operation is without one: with a constant, or of equal values.
Expr fold_bits(Op op, const Expr& a, const Expr& b) {
  int64_t c = 0;
  if (is_const(b, &c)) return arithmetic_of(op, a, c);
  if (op == Op::kShl || op == Op::kShr) return is_const(a, &c) && c == 0 ? a : Expr();
  if (is_const(a, &c)) return arithmetic_of(op, b, c);
  if (!equal(a, b)) return {};
  return op == Op::kBitXor ? make_int(0, a->type) : a;
}

/// Identities that hold for every value of the type: x+0, x*1, x*0, x/1, min(x,x), true && x, x==x.
Expr fold_identity(Op op, const Expr& a, const Expr& b) {
  if (is_float(a->type)) return {};
  if (is_bitwise(op)) return fold_bits(op, a, b);
  int64_t x = 0, y = 0;
  const bool ca = is_const(a, &x), cb = is_const(b, &y);
  switch (op) {
    case Op::kAdd:
      if (ca && x == 0) return b;
      if (cb && y == 0) return a;
      break;
    case Op::kSub:
      if (cb && y == 0) return a;
      if (a->type == DType::kI64 && equal(a, b)) return make_int(0);
      break;
    case Op::kMul:
      if ((ca && x == 1) || (cb && y == 0)) return b;
      if ((cb && y == 1) || (ca && x == 0)) return a;
      break;
    case Op::kDiv:
      if (cb && y == 1) return a;
      if (ca && x == 0) return a;
      break;
    case Op::kMod:
      if (cb && y == 1) return make_int(0, a->type);
      break;
    case Op::kMin:
    case Op::kMax:
      if (equal(a, b)) return a;
      break;
    case Op::kAnd:
      if (ca) return x ? b : a;
      if (cb) return y ? a : b;
      break;
    case Op::kOr:
      if (ca) return x ? a : b;
      if (cb) return y ? b : a;
      break;
    case Op::kEq:
    case Op::kNe:
      if (equal(a, b)) return make_int(op == Op::kEq, DType::kBool);
      if (a->type == DType::kBool && (ca || cb)) {
        const Expr& other = ca ? b : a;
        return ((ca ? x : y) != 0) == (op == Op::kEq) ? other : make_unary(Op::kNot, other);
      }
      break;
    case Op::kLt:
    case Op::kLe:
      if (equal(a, b)) return make_int(op == Op::kLe, DType::kBool);
      break;
    default:
      break;
  }
  return {};
}

}  // namespace

Expr make_node(Node n) {
  const size_t name = std::hash<std::string_view>()(n.name);
  n.hash = static_cast<size_t>(n.op) * 31 + name;
  n.hash = (n.hash * 31 + static_cast<size_t>(n.id)) * 31 + static_cast<size_t>(n.i);
  n.size = 1;
  n.ops = uint64_t{1} << static_cast<int>(n.op);
  n.loops = n.op == Op::kVar ? bit_of(static_cast<size_t>(n.id)) : 0;
  n.vars = n.op == Op::kVar ? bit_of(name) : 0;
  for (const Expr& a : n.args) {
    n.hash = n.hash * 131 + a->hash;
    n.size = std::min(kEndless, n.size + a->size);
    n.ops |= a->ops;
    n.loops |= a->loops;
    n.vars |= a->vars;
  }
  return Expr(std::make_shared<const Node>(std::move(n)));
}

Expr make_int(int64_t value, DType type) {
  Node n;
  n.op = Op::kInt;
  n.type = type;
  n.i = value;
  return make_node(std::move(n));
}

Expr make_float(double value, DType type) {
  Node n;
  n.op = Op::kFloat;
  n.type = type;
  n.f = value;
  return make_node(std::move(n));
}

Expr make_var(std::string name, int id) {
  Node n;
  n.op = Op::kVar;
  n.id = id;
  n.name = std::move(name);
  return make_node(std::move(n));
}

Expr make_dim(std::string name, int id) {
  Node n;
  n.op = Op::kDim;
  n.id = id;
  n.name = std::move(name);
  return make_node(std::move(n));
}

Expr make_scalar(std::string name, DType type, int id) {
  Node n;
  n.op = Op::kScalar;
  n.type = type;
  n.id = id;
  n.name = std::move(name);
  return make_node(std::move(n));
}

Expr make_load(std::string name, DType type, std::vector<Expr> indices, Expr otherwise) {
  Node n;
  n.op = Op::kLoad;
  n.type = type;
  n.name = std::move(name);
  n.args = std::move(indices);
  if (otherwise) {
    n.guarded = true;
    n.args.push_back(std::move(otherwise));
  }
  return make_node(std::move(n));
}

Expr make_cast(DType type, Expr x) {
  if (x->type == type) return x;
  if (x->op == Op::kInt && !is_float(type) && type != DType::kBool && x->type != DType::kBool) {
    return make_int(wrap(x->i, type), type);
  }
  if (type == DType::kBool && x->op == Op::kInt) return make_int(x->i != 0, type);
  if (type == DType::kBool && x->op == Op::kFloat) return make_int(x->f != 0, type);
  if (x->op == Op::kInt && (type == DType::kF64 || type == DType::kF32)) {
    const auto value = static_cast<double>(x->i);
    return make_float(type == DType::kF32 ? static_cast<float>(value) : value, type);
  }
  Node n;
  n.op = Op::kCast;
  n.type = type;
  n.args.push_back(std::move(x));
  return make_node(std::move(n));
}

Expr make_select(Expr condition, Expr then, Expr otherwise) {
  int64_t c = 0;
  if (is_const(condition, &c)) return c ? then : otherwise;
  Node n;
  n.op = Op::kSelect;
  n.type = then->type;
  n.args = {std::move(condition), std::move(then), std::move(otherwise)};
  return make_node(std::move(n));
}

Expr make_unary(Op op, Expr x) {
  if (op == Op::kNeg && x->op == Op::kFloat) return make_float(-x->f, x->type);
  if (op == Op::kNeg && x->op == Op::kInt) {
    return make_int(wrap(static_cast<int64_t>(0 - static_cast<uint64_t>(x->i)), x->type), x->type);
  }
  if (op == Op::kNot && x->op == Op::kInt) return make_int(x->i == 0, DType::kBool);
  Node n;
  n.op = op;
  n.type = op == Op::kNot ? DType::kBool : x->type;
  n.args.push_back(std::move(x));
  return make_node(std::move(n));
}

Expr make_binary(Op op, Expr a, Expr b) {
  if (a->op == Op::kInt && b->op == Op::kInt) {
    Expr folded;
    if (fold_ints(op, a->type, a->i, b->i, &folded)) return folded;
  }
  if (a->op == Op::kFloat && b->op == Op::kFloat) {
    if (Expr folded = fold_comparison(op, a->f, b->f)) return folded;
  }
  if (Expr same = fold_identity(op, a, b)) return same;
  Node n;
  n.op = op;
  n.type = is_comparison(op) || op == Op::kAnd || op == Op::kOr ? DType::kBool : a->type;
  n.args = {std::move(a), std::move(b)};
  return make_node(std::move(n));
}

Expr make_call(const Function* fn, std::vector<Expr> args) {
  Node n;
  n.op = Op::kCall;
  n.type = args[0]->type;
  n.fn = fn;
  n.args = std::move(args);
  return make_node(std::move(n));
}

bool is_const(const Expr& e, int64_t* value) {
  if (!e || e->op != Op::kInt) return false;
  if (value) *value = e->i;
  return true;
}

void visit_nodes(const Expr& e, void (*f)(const void* context, const Expr& node),
                 const void* context) {
  if (!e) return;
  f(context, e);
  for (const Expr& a : e->args) visit_nodes(a, f, context);
}

Expr rewrite_nodes(const Expr& e, Expr (*f)(const void* context, const Expr& node),
                   const void* context) {
  if (!e) return e;
  std::vector<Expr> args;
  bool changed = false;
  args.reserve(e->args.size());
  for (const Expr& a : e->args) {
    args.push_back(rewrite_nodes(a, f, context));
    changed |= args.back().get() != a.get();
  }
  Expr kept = changed ? with_args(e, std::move(args)) : e;
  Expr replaced = f(context, kept);
  return replaced ? replaced : kept;
}

bool mentions_var(const Expr& e, std::string_view name) {
  return e && (e->vars & bit_of(std::hash<std::string_view>()(name))) != 0 &&
         any_node(e, [&](const Expr& x) { return x->op == Op::kVar && x->name == name; });
}

bool mentions_loop(const Expr& e, int loop) {
  return e && (e->loops & bit_of(static_cast<size_t>(loop))) != 0 &&
         any_node(e, [&](const Expr& x) { return x->op == Op::kVar && x->id == loop; });
}

std::optional<int64_t> slope_in(const Expr& e, int loop) {
  if (e->op == Op::kVar && e->id == loop) return 1;
  if (!mentions_loop(e, loop)) return 0;
  if (e->op == Op::kAdd || e->op == Op::kSub) {
    const auto a = slope_in(e->args[0], loop), b = slope_in(e->args[1], loop);
    if (!a || !b) return std::nullopt;
    return e->op == Op::kAdd ? *a + *b : *a - *b;
  }
  if (e->op == Op::kMul) {
    int64_t factor = 0;
    for (int i = 0; i < 2; ++i) {
      if (!is_const(e->args[i], &factor)) continue;
      const auto other = slope_in(e->args[1 - i], loop);
      if (other) return factor * *other;
    }
  }
  return std::nullopt;
}

bool equal(const Expr& a, const Expr& b) {
  if (a.get() == b.get()) return true;
  if (!a || !b || a->hash != b->hash || a->op != b->op || a->type != b->type ||
      a->guarded != b->guarded || a->reciprocal != b->reciprocal || a->id != b->id ||
      a->i != b->i || a->fn != b->fn || a->name != b->name || a->args.size() != b->args.size()) {
    return false;
  }
  // As values that may be exchanged: 0 is not -0, and one NaN is as good as another.
  const bool same = a->f == b->f ? std::signbit(a->f) == std::signbit(b->f)
                                 : std::isnan(a->f) && std::isnan(b->f);
  if (a->op == Op::kFloat && !same) return false;
  for (size_t i = 0; i < a->args.size(); ++i) {
    if (!equal(a->args[i], b->args[i])) return false;
  }
  return true;
}

Expr with_args(const Expr& e, std::vector<Expr> args) {
  switch (e->op) {
    case Op::kCast:
      return make_cast(e->type, std::move(args[0]));
    case Op::kSelect:
      return make_select(std::move(args[0]), std::move(args[1]), std::move(args[2]));
    case Op::kNeg:
    case Op::kNot:
      return make_unary(e->op, std::move(args[0]));
    case Op::kCall:
    case Op::kLoad:
    case Op::kInt:
    case Op::kFloat:
    case Op::kVar:
    case Op::kDim:
    case Op::kScalar: {
      Node n = *e;
      n.args = std::move(args);
      return make_node(std::move(n));
    }
    default: {
      Expr out = make_binary(e->op, std::move(args[0]), std::move(args[1]));
      return e->reciprocal ? by_reciprocal(out) : out;
    }
  }
}

Expr by_reciprocal(const Expr& quotient) {
  if (quotient->op != Op::kDiv || !is_float(quotient->type)) return quotient;
  Node n = *quotient;
  n.reciprocal = true;
  return make_node(std::move(n));
}

}  // namespace hone::ir
