// SPDX-License-Identifier: Apache-2.0
#include "jit/passes/narrow_integers.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "jit/ir/build.h"
#include "jit/ir/facts.h"
#include "jit/ir/operations.h"
#include "jit/ir/visit.h"

namespace hone::jit {

using namespace ir;

namespace {

/// A comparison of 64-bit integers that needs more than the number of the lane of `loop`.
bool compares_lanes(const Expr& e, int loop) {
  if (!is_comparison(e->op) || e->args[0]->type != DType::kI64 || !mentions_loop(e, loop)) {
    return false;
  }
  const auto a = slope_in(e->args[0], loop), b = slope_in(e->args[1], loop);
  return !a || !b || *a - *b < -1 || *a - *b > 1;
}

/// A 64-bit integer that differs between the lanes of `loop` and becomes another type.
bool converts_lanes(const Expr& e, int loop) {
  return e->op == Op::kCast && e->args[0]->type == DType::kI64 && e->type != DType::kBool &&
         mentions_loop(e, loop);
}

/// Whether a vector loop computes with integers of 64 bits that differ between its lanes.
bool has_wide_integers(const Stmt& s, int vector) {
  if (const auto* loop = as<ForStmt>(s); loop && loop->mark == Mark::kVector) vector = loop->loop;
  bool found = false;
  if (vector >= 0) {
    for_each_expr(s, [&](const Expr& e) {
      found |= any_node(
          e, [&](const Expr& x) { return compares_lanes(x, vector) || converts_lanes(x, vector); });
    });
  }
  for (size_t i = 0; i < s.body.size() && !found; ++i)
    found = has_wide_integers(*s.body[i], vector);
  return found;
}

class Narrower {
 public:
  explicit Narrower(const Nest& nest) {
    for (const Dim& d : nest.dims) facts_.define_dim(d.name, d.lo, d.hi);
  }

  StmtRef run(const Launch& launch) {
    facts_.define_loop(launch.range, Poly(), Poly::of(launch.extent, &facts_));
    return walk(launch.body);
  }

 private:
  StmtRef walk(const StmtRef& s) {
    const int outer = vector_;
    if (const auto* l = as<ForStmt>(*s)) {
      facts_.define_loop(l->loop, Poly::of(l->begin, &facts_), Poly::of(l->end, &facts_));
      if (l->mark == Mark::kVector) vector_ = l->loop;
    }
    const StmtRef out = rewrite_children(own(s), [&](const StmtRef& b) { return walk(b); });
    vector_ = outer;
    return out;
  }

  /// The statement with its data and conditions narrowed.
  StmtRef own(const StmtRef& s) const {
    if (vector_ < 0) return s;
    if (const auto* store = as<StoreStmt>(*s)) {
      StoreStmt narrowed = *store;
      narrowed.value = data(store->value);
      return narrowed.value.get() == store->value.get() ? s : make_stmt(std::move(narrowed));
    }
    if (const auto* choice = as<IfStmt>(*s)) {
      IfStmt narrowed = *choice;
      narrowed.condition = data(choice->condition);
      return narrowed.condition.get() == choice->condition.get() ? s
                                                                 : make_stmt(std::move(narrowed));
    }
    return s;
  }

  /// What lanes compute, with integers narrowed that become other types or are compared.
  Expr data(const Expr& e) const {
    std::vector<Expr> args = e->args;
    bool changed = false;
    for (size_t i = e->op == Op::kLoad ? 1 : 0; i < args.size(); ++i) {
      if (args[i]) args[i] = data(e->args[i]);
      changed |= args[i].get() != e->args[i].get();
    }
    const Expr now = changed ? with_args(e, std::move(args)) : e;
    if (converts_lanes(now, vector_)) {
      const Expr x = narrow(now->args[0]);
      return x ? make_cast(now->type, x) : now;
    }
    if (compares_lanes(now, vector_)) {
      const Expr a = narrow(now->args[0]), b = a ? narrow(now->args[1]) : Expr();
      return b ? make_binary(now->op, a, b) : now;
    }
    return now;
  }

  /// The same value in 32 bits; null where some part is not proved to fit.
  Expr narrow(const Expr& e) const {
    if (e->type == DType::kI32) return e;
    if (e->type != DType::kI64) return {};
    if (e->op == Op::kSelect) {
      const Expr then = narrow(e->args[1]), otherwise = then ? narrow(e->args[2]) : Expr();
      return otherwise ? make_select(e->args[0], then, otherwise) : Expr();
    }
    if (!fits(e)) return {};
    if (slope_in(e, vector_)) return make_cast(DType::kI32, e);
    switch (e->op) {
      case Op::kNeg:
      case Op::kAdd:
      case Op::kSub:
      case Op::kMul:
      case Op::kDiv:
      case Op::kMod:
      case Op::kMin:
      case Op::kMax:
      case Op::kBitAnd:
      case Op::kBitOr:
      case Op::kBitXor:
      case Op::kShl:
      case Op::kShr:
        break;
      default:
        return {};
    }
    std::vector<Expr> args;
    for (const Expr& a : e->args) {
      args.push_back(narrow(a));
      if (!args.back()) return {};
    }
    return args.size() == 1 ? make_unary(e->op, args[0]) : make_binary(e->op, args[0], args[1]);
  }

  bool fits(const Expr& e) const {
    const Poly p = Poly::of(e, &facts_);
    const auto least = facts_.lower(p), most = least ? facts_.upper(p) : std::nullopt;
    return most && *least >= INT32_MIN && *most <= INT32_MAX;
  }

  Facts facts_;
  int vector_ = -1;  ///< number of the vector loop around; -1: none
};

}  // namespace

std::optional<Nest> with_narrow_integers(const Nest& nest) {
  bool any = false;
  for (const Launch& l : nest.launches) any = any || has_wide_integers(*l.body, -1);
  if (!any) return std::nullopt;
  Nest out = nest;
  Narrower narrower(nest);
  for (Launch& l : out.launches) l.body = narrower.run(l);
  return out;
}

}  // namespace hone::jit
