// SPDX-License-Identifier: Apache-2.0
#include "jit/x86/select/indices.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "jit/ir/functions/function.h"
#include "jit/ir/integers.h"

namespace hone::jit {

using ir::Op;

namespace {

/// True of what is multiplied or added to and may wrap: factors do not cancel then.
bool may_wrap(const ir::Expr& e, const Affine& x) {
  const bool alone = x.count == 1 && x.constant == 0 && x.terms[0].coefficient == 1;
  return !alone && !ir::stays_near(e);
}

}  // namespace

void Indices::opened(Scope::Kind /*kind*/, uint64_t /*written*/) {
  loops_.resize(code_.depth() + 1);
  loops_.back() = {};
}

void Indices::closed(int depth, uint64_t /*written*/) { loops_.resize(depth); }

Affine Indices::affine(const ir::Expr& e) {
  if (e->type == DType::kI64) return sum_of(e);
  if (!strict_ || e->type != DType::kI32) return opaque(e);
  const Affine a = sum_of(e);
  int64_t least, most;
  if (!range_of(a, least, most) || least < INT32_MIN || most > INT32_MAX) tangled_ = true;
  return a;
}

Affine Indices::sum_of(const ir::Expr& e) {
  switch (e->op) {
    case Op::kInt:
      return Affine::of(e->i);
    case Op::kVar: {
      const Binding& b = bindings_[e->id];
      if (!b.bound) {
        refuse("loop variable " + nest_.loops[e->id] + " is used outside its loop");
      }
      if (b.lane == 0) return b.base;
      return b.base + scaled(Affine::of_factor(Factor::make(Factor::kLane, 0)), b.lane);
    }
    case Op::kDim:
      return Affine::of_factor(Factor::make(Factor::kDim, e->id));
    case Op::kNeg:
      return scaled(affine(e->args[0]), -1);
    case Op::kAdd:
      return added(e, affine(e->args[0]), affine(e->args[1]));
    case Op::kSub:
      return added(e, affine(e->args[0]), scaled(affine(e->args[1]), -1));
    case Op::kMul: {
      const Affine a = affine(e->args[0]), b = affine(e->args[1]);
      const Affine product = a * b;
      if (!product.overflow) return product;
      return opaque(e, [&] { return general_.multiplied(gpr(a), gpr(b)); });
    }
    case Op::kDiv:
    case Op::kMod:
      return affine_of_division(e);
    case Op::kShr:
      return affine_of_shift(e);
    case Op::kBitAnd:
    case Op::kBitOr:
    case Op::kBitXor:
      return affine_of_bits(e);
    case Op::kCast:
      if (strict_ && is_int(e->args[0]->type)) return affine(e->args[0]);
      return opaque(e);
    case Op::kMin:
    case Op::kMax: {
      const Affine a = affine(e->args[0]), b = affine(e->args[1]);
      int64_t least, most;
      if (range_of(a - b, least, most) && (most <= 0 || least >= 0)) {
        return (most <= 0) == (e->op == Op::kMin) ? a : b;
      }
      return opaque(e, [&] { return general_.extreme_of(e->op, gpr(a), gpr(b)); });
    }
    default:
      return opaque(e);
  }
}

bool Indices::lane_index(const ir::Expr& e, Affine& out) {
  // What is uniform in an index may itself be loaded, and asks the same of its own.
  const bool trying = std::exchange(trying_, true), tangled = std::exchange(tangled_, false);
  out = affine(e);
  trying_ = trying;
  return !std::exchange(tangled_, tangled);
}

bool Indices::known_sum(const ir::Expr& e, Affine& out) {
  const bool strict = std::exchange(strict_, true), tangled = std::exchange(tangled_, false);
  out = affine(e);
  strict_ = strict;
  return !std::exchange(tangled_, tangled) && !out.overflow;
}

Affine Indices::added(const ir::Expr& e, const Affine& a, const Affine& b) {
  const Affine sum = a + b;
  if (!sum.overflow) return sum;
  if (strict_ || (trying_ && depends_on_lane(e))) {
    tangled_ = true;
    return {};
  }
  const auto as_register = [&](const Affine& x) {
    return Affine::of_factor(Factor::make(Factor::kReg, gpr(x).id));
  };
  return as_register(a) + as_register(b);
}

Indices::Division Indices::divided(const Affine& x, int64_t c) const {
  Division out{Affine::of(ir::floor_div_of(x.constant, c)),
               Affine::of(ir::floor_mod_of(x.constant, c))};
  for (int i = 0; i < x.count; ++i) {
    Term t = x.terms[i];
    if (t.coefficient % c == 0) {
      t.coefficient /= c;
      out.quotient.add(t);
    } else {
      out.rest.add(t);
    }
  }
  int64_t least, most;
  out.known = range_of(out.rest, least, most) && least >= 0 && most < c;
  return out;
}

Affine Indices::affine_of_division(const ir::Expr& e) {
  const Affine x = affine(e->args[0]);
  const Affine divisor = affine(e->args[1]);
  int64_t from = 0, to = 0;
  const bool fits = range_of(x, from, to) && from >= INT32_MIN && to <= INT32_MAX;
  const auto computed = [&] {
    return opaque(e,
                  [&] { return general_.divided(e, gpr(x), fits, [&] { return gpr(divisor); }); });
  };
  if (!divisor.is_constant()) return computed();
  const int64_t c = divisor.constant;
  if (x.is_constant()) {
    return Affine::of(e->op == Op::kDiv ? ir::floor_div_of(x.constant, c)
                                        : ir::floor_mod_of(x.constant, c));
  }
  if (c <= 0 || may_wrap(e->args[0], x)) return computed();
  const Division parts = divided(x, c);
  if (!parts.known) return computed();
  return e->op == Op::kDiv ? parts.quotient : parts.rest;
}

Affine Indices::affine_of_shift(const ir::Expr& e) {
  constexpr int64_t kMost = 62;  // of powers of two below 2^63. Fixed by: 64 bits.
  const Affine x = affine(e->args[0]), count = affine(e->args[1]);
  const bool counted = count.is_constant() && count.constant >= 0 && count.constant <= kMost;
  if (counted && !x.overflow && !may_wrap(e->args[0], x)) {
    const Division parts = divided(x, int64_t{1} << count.constant);
    if (parts.known) return parts.quotient;
  }
  return opaque(e, [&] { return general_.shifted(e->op, gpr(x), gpr(count)); });
}

Affine Indices::affine_of_bits(const ir::Expr& e) {
  Affine x = affine(e->args[0]), bits = affine(e->args[1]);
  if (x.is_constant()) std::swap(x, bits);
  if (bits.is_constant() && bits.constant >= 0 && bits.constant < INT32_MAX && !x.overflow) {
    // Multiples of a power of two beyond the bits keep theirs, whether they wrap or not.
    const auto beyond =
        static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(bits.constant) + 1));
    const Division parts = divided(x, beyond);
    const bool masks = e->op == Op::kBitAnd;
    if (masks && parts.known && bits.constant == beyond - 1) return parts.rest;
    if (parts.rest.is_constant()) {
      const int64_t rest = parts.rest.constant;
      const int64_t value = ir::bits_of(e->op, DType::kI64, rest, bits.constant);
      return masks ? Affine::of(value) : x + Affine::of(value - rest);
    }
  }
  return opaque(e, [&] { return general_.bits_of(e->op, gpr(x), gpr(bits)); });
}

Affine Indices::opaque(const ir::Expr& e) {
  return opaque(e, [&] { return integer(e); });
}

/// The value of `e`, which `compute` leaves in a register. What `e` is made of is not looked at
/// again: each level of a deep one would double the work.
Affine Indices::opaque(const ir::Expr& e, const std::function<Reg()>& compute) {
  if (strict_ || (trying_ && depends_on_lane(e))) {
    tangled_ = true;
    return {};
  }
  return Affine::of_factor(Factor::make(Factor::kReg, compute().id));
}

bool Indices::range_of(const Affine& a, int64_t& min, int64_t& max) const {
  min = max = a.constant;
  if (a.overflow) return false;
  for (int i = 0; i < a.count; ++i) {
    const Term& t = a.terms[i];
    int64_t low = 1, high = 1;
    for (int32_t f : t.factors) {
      if (f == 0) break;
      int64_t least = 0, most = 0;
      switch (Factor::kind(f)) {
        case Factor::kLoop: {
          const LoopState& s = loops_[Factor::id(f)];
          if (!s.ranged) return false;
          least = s.min;
          most = s.max;
          break;
        }
        case Factor::kDim:
          least = nest_.dims[Factor::id(f)].lo;
          most = nest_.dims[Factor::id(f)].hi;
          break;
        case Factor::kLane:
          most = lanes_.count - 1;
          break;
        default:
          return false;
      }
      if (least < 0) return false;
      if (__builtin_mul_overflow(low, least, &low)) return false;
      if (__builtin_mul_overflow(high, most, &high)) return false;
    }
    int64_t less = 0, more = 0;
    if (__builtin_mul_overflow(t.coefficient, t.coefficient < 0 ? high : low, &less)) return false;
    if (__builtin_mul_overflow(t.coefficient, t.coefficient < 0 ? low : high, &more)) return false;
    if (__builtin_add_overflow(min, less, &min)) return false;
    if (__builtin_add_overflow(max, more, &max)) return false;
  }
  return true;
}

bool Indices::steers(const ir::Expr& e) const {
  if (is_float(e->type)) return false;
  if (e->op == Op::kCall && e->fn->expansion != ir::Expansion::kAbs) return false;
  if (e->op == Op::kLoad) {
    if (e->guarded || nest_.buffers[e->id].home == ir::Home::kRegisters) return false;
  }
  for (const ir::Expr& a : e->args) {
    if (!steers(a)) return false;
  }
  return true;
}

bool Indices::depends_on_lane(const ir::Expr& e) const {
  return lanes_.loop >= 0 && ir::mentions_loop(e, lanes_.loop);
}

LaneSum Indices::split(const ir::Expr& index) const {
  if (!depends_on_lane(index)) return {index, {}};
  if (index->op != Op::kAdd && index->op != Op::kSub) return {{}, index};
  const LaneSum a = split(index->args[0]), b = split(index->args[1]);
  const auto sum = [&](const ir::Expr& x, const ir::Expr& y) {
    if (!y) return x;
    if (x) return ir::make_binary(index->op, x, y);
    return index->op == Op::kAdd ? y : ir::make_unary(Op::kNeg, y);
  };
  return {sum(a.same, b.same), sum(a.apart, b.apart)};
}

Reg Indices::gpr(const Affine& a) {
  if (a.overflow) {
    refuse("an index has more terms than can be handled");
  }
  if (a.count == 0) return constant_gpr(a.constant);
  // Terms of outer loops first, so that partial sums stay out of inner ones.
  std::array<int, Affine::kMaxTerms> order{};
  for (int i = 0; i < a.count; ++i) order[i] = i;
  std::stable_sort(order.begin(), order.begin() + a.count,
                   [&](int x, int y) { return term_level(a.terms[x]) < term_level(a.terms[y]); });
  Reg sum;
  for (int i = 0; i < a.count; ++i) {
    const Reg p = product(a.terms[order[i]]);
    if (!sum.valid()) {
      sum = p;
      continue;
    }
    Mem m;
    m.base = sum;
    m.index = p;
    sum = code_.define(RegClass::kGpr, 8, X86::lea, {mem(m)});
  }
  if (a.constant == 0) return sum;
  if (a.constant != static_cast<int32_t>(a.constant)) {
    return code_.update(RegClass::kGpr, 8, sum, X86::add, {imm(a.constant)});
  }
  Mem m;
  m.base = sum;
  m.disp = static_cast<int32_t>(a.constant);
  return code_.define(RegClass::kGpr, 8, X86::lea, {mem(m)});
}

Operand Indices::gpr_or_imm(const Affine& a) {
  return a.is_constant() ? imm(a.constant) : greg(gpr(a));
}

Reg Indices::product(const Term& t) {
  Reg r;
  for (int32_t f : t.factors) {
    if (f == 0) break;
    const Reg x = factor_reg(f);
    r = r.valid() ? code_.update(RegClass::kGpr, 8, r, X86::imul, {greg(x)}) : x;
  }
  const int64_t c = t.coefficient;
  if (!r.valid()) return constant_gpr(c);
  if (c == 1) return r;
  if (c > 0 && std::has_single_bit(static_cast<uint64_t>(c))) {
    return code_.update(RegClass::kGpr, 8, r, X86::shl,
                        {imm(std::countr_zero(static_cast<uint64_t>(c)))});
  }
  return code_.define(RegClass::kGpr, 8, X86::imul, {greg(r), imm(c)});
}

Reg Indices::factor_reg(int32_t factor) {
  switch (Factor::kind(factor)) {
    case Factor::kLoop:
      return loop_variable(Factor::id(factor));
    case Factor::kDim:
      return dim(Factor::id(factor));
    case Factor::kReg:
      return {Factor::id(factor)};
    default:
      refuse("an index depends on the lane of a vector loop where one value is needed");
  }
}

Reg Indices::loop_variable(int depth) {
  LoopState& s = loops_[depth];
  if (s.variable.valid()) return s.variable;
  const Operand begin = gpr_or_imm(s.begin);
  const Reg variable = code_.make(RegClass::kGpr, depth);
  loops_[depth].variable = variable;
  code_.append(code_.scope(depth).pre, X86::mov, {greg(variable), begin});
  return variable;
}

Reg Indices::dim(int id) {
  return code_.define(RegClass::kGpr, 8, X86::mov, {mem(argument(context_.layout.dim_slots[id]))});
}

int Indices::factor_level(int32_t factor) const {
  switch (Factor::kind(factor)) {
    case Factor::kLoop:
      return Factor::id(factor);
    case Factor::kReg:
      return code_.level({Factor::id(factor)});
    default:
      return 0;
  }
}

int Indices::term_level(const Term& t) const {
  int level = 0;
  for (int32_t f : t.factors) {
    if (f != 0) level = std::max(level, factor_level(f));
  }
  return level;
}

Reg Indices::at_least(const Affine& a, int64_t limit) {
  return general_.extreme_of(ir::Op::kMax, gpr(a), constant_gpr(limit));
}

Reg Indices::at_most(const Affine& a, int64_t limit) {
  return general_.extreme_of(ir::Op::kMin, gpr(a), constant_gpr(limit));
}

Affine Indices::limited(const Affine& a, int64_t least, int64_t most) {
  if (a.is_constant()) return Affine::of(std::clamp(a.constant, least, most));
  const auto value = [](Reg r) { return Affine::of_factor(Factor::make(Factor::kReg, r.id)); };
  return value(at_most(value(at_least(a, least)), most));
}

Reg Indices::limited_to_lanes(const Affine& a) { return gpr(limited(a, 0, lanes_.count)); }

}  // namespace hone::jit
