// SPDX-License-Identifier: Apache-2.0
#include "jit/passes/lower/accesses.h"

#include <algorithm>

#include "jit/ir/integers.h"
#include "jit/ir/scatter.h"
#include "jit/passes/lower/expressions.h"
#include "jit/passes/lower/loop_values.h"
#include "jit/passes/lower/overhangs.h"
#include "jit/passes/reject.h"

namespace hone::jit {

using namespace ir;

namespace {

bool has_guarded_load(const Expr& e) {
  bool found = false;
  visit(e, [&](const Expr& x) { found |= x->op == Op::kLoad && x->guarded; });
  return found;
}

/// Refuses an access whose step forgot a dim, or has one too many.
void require_dims(const Storage& s, const std::vector<Poly>& indices) {
  if (indices.size() == s.base.size()) return;
  reject(std::to_string(indices.size()) + " indices into a storage of " +
         std::to_string(s.base.size()) + " dims");
}

}  // namespace

Poly Accesses::variable(Instance& in, const std::string& name) {
  if (!in.loops) reject("a size depends on " + name + ", which has a value in loops only");
  const Stage& s = in.stage();
  const size_t vars = s.vars.size();
  for (size_t v = 0; v < vars + s.rvars.size(); ++v) {
    if ((v < vars ? s.vars[v] : s.rvars[v - vars]).name != name) continue;
    auto value = values_.value_of(in, static_cast<int>(v));
    if (!value && runs_scattered(s, name)) return index(in, scattered_to(s, name));
    if (!value) {
      reject("stage " + s.name + ": " + name + " is used outside its loops; reorder its loops out");
    }
    if (v >= vars) return *value + reduction_span(in, v - vars).lo;
    const Span& window = in.window[v];
    return window.lo + (s.vars[v].backward ? window.extent - Poly(1) - *value : *value);
  }
  reject("stage " + s.name + " has no variable " + name);
}

Poly Accesses::index(Instance& in, const Expr& e) { return Poly::of(translate(in, e), &facts_); }

Span Accesses::reduction_span(Instance& in, size_t rvar) {
  const IndexVar& v = in.stage().rvars[rvar];
  const auto bound = [&](const Expr& e) {
    return in.ahead ? Poly::of(ahead(in, e), &facts_) : index(in, e);
  };
  const Poly lo = v.lo ? bound(v.lo) : Poly();
  return {lo, bound(v.hi) - lo};
}

/// True of what is made of data of 64 bits or large constants, unless it is known not to wrap
/// around.
bool Accesses::may_wrap(const Expr& e) const {
  if (stays_near(e) || e->op == Op::kLoad) return false;
  const Poly p = Poly::of(e, &facts_);
  const auto far = [](int64_t c) { return c <= -kNear || c >= kNear; };
  const bool known = facts_.lower(p) && facts_.upper(p) && !far(p.constant()) &&
                     std::none_of(p.terms().begin(), p.terms().end(),
                                  [&](const Poly::Term& t) { return far(t.coef); });
  return !known;
}

/// Integer comparisons that the loops' ranges decide become constants.
Expr Accesses::compare(Instance& in, const Expr& e) {
  const Expr a = translate(in, e->args[0]);
  const Expr b = translate(in, e->args[1]);
  if (a->type != DType::kI64 || may_wrap(a) || may_wrap(b)) return make_binary(e->op, a, b);
  if (e->op == Op::kEq || e->op == Op::kNe) {
    const Poly apart = Poly::of(b, &facts_) - Poly::of(a, &facts_);
    if (apart == Poly()) return make_int(e->op == Op::kEq, DType::kBool);
    if (facts_.nonnegative(apart - Poly(1)) || facts_.nonnegative(Poly(-1) - apart)) {
      return make_int(e->op == Op::kNe, DType::kBool);
    }
    return make_binary(e->op, a, b);
  }
  const Poly slack = Poly::of(b, &facts_) - Poly::of(a, &facts_) - Poly(e->op == Op::kLt ? 1 : 0);
  if (facts_.nonnegative(slack)) return make_int(1, DType::kBool);
  if (facts_.nonnegative(Poly(-1) - slack)) return make_int(0, DType::kBool);
  return make_binary(e->op, a, b);
}

/// A remainder of an index, without what the divisor divides.
Expr Accesses::remainder(const Expr& of, const Expr& by) const {
  int64_t n = 0;
  const bool index = of->type == DType::kI64 && is_const(by, &n) && n > 0 && !mentions_load(of);
  if (!index || may_wrap(of)) return make_binary(Op::kMod, of, by);
  const Poly whole = Poly::of(of, &facts_);
  Poly left = whole;
  for (const Poly::Term& t : whole.terms()) {
    if (t.coef % n != 0) continue;
    Poly divided(t.coef);
    for (const Expr& f : t.factors) divided = divided * Poly::atom(f);
    left -= divided;
  }
  if (left == whole) return make_binary(Op::kMod, of, by);
  left -= Poly(left.constant() - (left.constant() % n + n) % n);
  return make_binary(Op::kMod, left.expr(), by);
}

Expr Accesses::translate(Instance& in, const Expr& e) {
  switch (e->op) {
    case Op::kInt:
    case Op::kFloat:
      return e;
    case Op::kVar:
      return variable(in, e->name).expr();
    case Op::kDim:
      for (size_t i = 0; i < nest_.dims.size(); ++i) {
        if (nest_.dims[i].name == e->name) return make_dim(e->name, static_cast<int>(i));
      }
      reject("no dim " + e->name);
    case Op::kScalar:
      for (size_t i = 0; i < nest_.scalars.size(); ++i) {
        if (nest_.scalars[i].name == e->name) {
          return make_scalar(e->name, e->type, static_cast<int>(i));
        }
      }
      reject("no scalar argument " + e->name);
    case Op::kLoad:
      return translate_load(in, e);
    case Op::kLt:
    case Op::kLe:
    case Op::kEq:
    case Op::kNe:
      return compare(in, e);
    case Op::kMod:
      return remainder(translate(in, e->args[0]), translate(in, e->args[1]));
    case Op::kSelect: {
      const Expr condition = translate(in, e->args[0]);
      int64_t known = 0;
      if (is_const(condition, &known)) return translate(in, e->args[known ? 1 : 2]);
      return with_args(e, {condition, translate(in, e->args[1]), translate(in, e->args[2])});
    }
    default:
      break;
  }
  std::vector<Expr> args;
  for (const Expr& a : e->args) args.push_back(translate(in, a));
  return with_args(e, std::move(args));
}

Expr Accesses::translate_load(Instance& in, const Expr& e) {
  const Storage& s = storage_of(e->name);
  std::vector<Poly> indices;
  const size_t dims = e->args.size() - (e->guarded ? 1 : 0);
  for (size_t d = 0; d < dims; ++d) indices.push_back(index(in, e->args[d]));
  const std::vector<Poly> places = indices;
  const bool earlier = s.carried >= 0 && count_back(in, s, e->name, indices) > 0;
  const bool guarded = e->guarded;
  Node n;
  n.op = Op::kLoad;
  n.type = e->type;
  n.id = s.buffer;
  n.name = e->name;
  n.args.push_back(offset(s, indices));
  const bool fills_in = !guarded && in.loops && overhangs_.fills(in.stage());
  const Expr otherwise = guarded ? e->args.back() : identity(Reduce::kSum, e->type);
  const Buffer& whole = *program_.buffer(e->name);
  const bool tested = !guarded && !fills_in && !proves_inside(s, indices, whole);
  if (!guarded && !fills_in && !tested) return make_node(std::move(n));
  // The `else` value stands where an index leaves the tensor; the storage may be a window of it.
  Expr inside = make_int(1, DType::kBool);
  bool never = false;
  std::vector<std::pair<Poly, Poly>> required;
  // What stands before the first element along a carried dim is stored there.
  const auto require = [&](const Poly& from, const Poly& extent, bool stored) {
    for (const auto& [same_from, same_extent] : required) {
      if (same_from == from && same_extent == extent) return;
    }
    required.emplace_back(from, extent);
    const Poly last = extent - Poly(1) - from;
    never |=
        (!stored && facts_.nonnegative(Poly(-1) - from)) || facts_.nonnegative(Poly(-1) - last);
    const bool below = facts_.nonnegative(last);
    // What grows past 64 bits comes back as a negative number.
    if (!stored && (!facts_.nonnegative(from) || (!below && !facts_.upper(from)))) {
      inside = make_binary(Op::kAnd, inside, make_binary(Op::kLe, make_int(0), from.expr()));
    }
    if (!below) {
      inside = make_binary(Op::kAnd, inside, make_binary(Op::kLt, from.expr(), extent.expr()));
    }
  };
  for (size_t d = 0; d < dims; ++d) {
    const bool stored = earlier && static_cast<int>(d) == s.carried;
    // A window that a fill reads holds zeros of its own.
    if (!fills_in && d < whole.shape.size()) require(places[d], index(in, whole.shape[d]), stored);
    require(indices[d] - s.base[d], s.shape[d], false);
    if (never && tested && tested_) tested_->push_back(make_int(0, DType::kBool));
    if (never) return translate(in, otherwise);
  }
  if (tested && tested_) tested_->push_back(inside);
  if (!is_const(inside)) {
    n.guarded = true;
    n.args.push_back(inside);
    n.args.push_back(translate(in, otherwise));
  }
  return make_node(std::move(n));
}

/// Turns the index along a carried dim into how far it goes back from the youngest element. Of its
/// own stage that is 0 where nothing else is kept; the distance is returned.
int64_t Accesses::count_back(const Instance& in, const Storage& s, const std::string& name,
                             std::vector<Poly>& indices) const {
  Poly& at = indices[static_cast<size_t>(s.carried)];
  const int64_t back = s.youngest ? (*s.youngest - at).value().value_or(-1) : -1;
  const int64_t kept = s.shape[static_cast<size_t>(s.carried)].constant();
  const bool own = in.loops && in.stage().output == name && kept == 1;
  if (back < 0 || back >= kept + (own ? 1 : 0)) {
    reject("of " + name + " the youngest elements along dim " + std::to_string(s.carried) +
           " are kept, and " + print(at.expr()) + " is not known to be among them");
  }
  at = own ? 0 : back;
  return back;
}

Expr Accesses::offset(const Storage& s, const std::vector<Poly>& indices) {
  require_dims(s, indices);
  // Which register a lane has an element in is the same for lanes that are left out.
  const bool held = nest_.buffers[static_cast<size_t>(s.buffer)].home == Home::kWarp;
  const Facts facts = held ? facts_.unconditional() : Facts();
  const Facts* known = held ? &facts : &facts_;
  Poly flat;
  for (size_t a = 0; a < s.axes.size(); ++a) {
    const Axis& axis = s.axes[a];
    const auto d = static_cast<size_t>(axis.dim);
    Poly i = floor_div(indices[d] - s.base[d], axis.div, known);
    if (axis.mod) i = floor_mod(i, axis.mod, known);
    flat += i * s.strides[a];
  }
  return flat.expr();
}

/// The first dim whose index is not proved inside the storage; -1: there is none.
int Accesses::unproved_dim(const Storage& s, const std::vector<Poly>& indices, size_t first) {
  require_dims(s, indices);
  for (size_t d = first; d < indices.size(); ++d) {
    const Poly from = indices[d] - s.base[d];
    if (!facts_.nonnegative(from) || !facts_.at_most(from, s.shape[d] - Poly(1))) {
      return static_cast<int>(d);
    }
  }
  return -1;
}

void Accesses::prove_inside(const Storage& s, const std::vector<Poly>& indices,
                            const std::string& name) {
  const int d = unproved_dim(s, indices, 0);
  if (d < 0) return;
  const auto at = static_cast<size_t>(d);
  reject("cannot prove " + name + "[..., " + print(indices[at].expr()) + ", ...] inside 0.." +
         print(s.shape[at].expr()) + " in dim " + std::to_string(d));
}

/// The same for a read. False leaves the proof to a test at the access, where all of the tensor is
/// there. The op was checked, so the test fails only for elements whose value is not used.
bool Accesses::proves_inside(const Storage& s, const std::vector<Poly>& indices,
                             const Buffer& whole) {
  Instance none;
  int d = unproved_dim(s, indices, 0);
  if (d < 0) return true;
  for (; d >= 0; d = unproved_dim(s, indices, static_cast<size_t>(d) + 1)) {
    const auto at = static_cast<size_t>(d);
    const bool all = at < whole.shape.size() && s.base[at] == Poly() &&
                     facts_.at_most(index(none, whole.shape[at]), s.shape[at]);
    if (!all) prove_inside(s, indices, whole.name);
  }
  return false;
}

Expr Accesses::ahead(Instance& in, const Expr& e) {
  if (e->op == Op::kVar) {
    const int node = in.loops->find(e->name);
    const int var = in.loops->nodes[static_cast<size_t>(node)].var;
    return values_.values_of(in, static_cast<size_t>(var)).lo.expr();
  }
  if (e->op == Op::kDim || e->op == Op::kScalar) return translate(in, e);
  std::vector<Expr> args;
  for (const Expr& a : e->args) args.push_back(ahead(in, a));
  if (e->op != Op::kLoad) return args.empty() ? e : with_args(e, std::move(args));
  const Storage& s = storage_of(e->name);
  Node n;
  n.op = Op::kLoad;
  n.type = e->type;
  n.id = s.buffer;
  n.name = e->name;
  n.args.push_back(offset(s, clamped(s, args)));
  Expr any = make_int(1, DType::kBool);
  for (const Poly& extent : s.shape) {
    if (facts_.nonnegative(extent - Poly(1))) continue;
    any = make_binary(Op::kAnd, any, make_binary(Op::kLt, make_int(0), extent.expr()));
  }
  if (!is_const(any)) {
    n.guarded = true;
    n.args.push_back(any);
    n.args.push_back(make_int(0, e->type));
  }
  return make_node(std::move(n));
}

/// Indices cut to the elements that a storage holds. What is known of a tensor's elements does not
/// hold for the 0 read in their place.
std::vector<Poly> Accesses::clamped(const Storage& s, const std::vector<Expr>& indices) {
  std::vector<Poly> out;
  for (size_t d = 0; d < s.shape.size(); ++d) {
    const Poly last = s.base[d] + s.shape[d] - Poly(1);
    const Facts* facts = has_guarded_load(indices[d]) ? nullptr : &facts_;
    out.push_back(max(s.base[d], min(Poly::of(indices[d], facts), last, facts), facts));
  }
  return out;
}

}  // namespace hone::jit
