// SPDX-License-Identifier: Apache-2.0
//
// How error bounds travel. e(x) bounds |what code may compute - what the definition says|; it is
// never NaN, and infinity says that anything may come out. With eps the epsilon of the type that
// computes (f32 for narrow floats), v the result and as much more as the operands' share:
//
//   a + b, a - b   e(a) + e(b)                               + eps |v|
//     where a is an earlier result, to which lanes of a vector add prefixes of the terms b,
//                  e(a) + e(b) + 4 eps |b|                   + eps |v|; infinite where 16 terms of
//                  this size overflow
//     where it is multiplied by f, and lanes multiply factors and prefixes of terms first,
//                  e(f a) + e(b) + 8 eps (|b| + |f a|)       + eps |v|; infinite where 15 factors
//                  or what they multiply may overflow, and where v is infinite or NaN
//   a * b          |a| e(b) + |b| e(a) + e(a) e(b)           + eps |v|
//   a / b          (e(a) + |v| e(b)) / (|b| - e(b))          + eps |v|
//   f(a)           max |f(a +- e(a)) - v|, or as far as f
//                  swings between                            + 8 eps |v| (some: + eps |a|;
//                                                              floor and the like: nothing)
//   max, min       max(e(a), e(b));  negation, select: the operand's
//   comparison     infinite if the operands may be the other way round, else 0
//   cast           e(a), + 2 eps' |v| where rounding to the new type may fall either way, + |v| of
//                  bf16 denormals
//   sum of K terms max(4 sqrt(K), K/64) eps sum|terms| (up to K/2: few values) + the terms': see
//                  running_values.cpp; store: reference_stage.cpp
//   sum of products  whose factors a schedule may take in another order: as a sum of terms. It is
//                  infinite where some factors alone may overflow, or infinite ones gave NaN or
//                  meet factors whose product may become 0
//
// Every rounding term has the smallest denormal added to it. The term is 0 where the inputs are
// exact and the result, unrounded, is an integer that the type holds. Then every order and
// contraction gives the same bits, and bits are compared. A result that is infinite or NaN from
// exact inputs has bound 0: its class is certain.

#include <algorithm>
#include <cmath>
#include <limits>

#include "jit/interp/scalar.h"
#include "jit/interp/tape.h"
#include "jit/ir/functions/function.h"

namespace hone::jit {
namespace {

using ir::Op;

constexpr double kTapeBoundsInfinity = std::numeric_limits<double>::infinity();
/// The bound of a zero whose sign is open.
constexpr double kLeast = std::numeric_limits<double>::denorm_min();

/// True for integers below 2^51.
bool is_whole(double v) {
  // Fixed by: the format of f64.
  constexpr double kMagic = 0x1.8p52;
  return (v + kMagic) - kMagic == v;
}

/// Adds the rounding of one operation to `carried`, the operands' share.
struct Rounding {
  double eps;
  double largest;
  double whole;     ///< integers up to here are exact
  double denormal;  ///< the smallest

  explicit Rounding(DType type)
      : eps(epsilon_of(compute_type(type))),
        largest(largest_of(compute_type(type))),
        whole(std::min(2 / eps, 0x1p50)),
        denormal(denormal_of(compute_type(type))) {}

  double operator()(double carried, double v, bool certain) const {
    const double size = std::fabs(v);
    if (!(size <= std::numeric_limits<double>::max())) return certain ? 0 : kTapeBoundsInfinity;
    if (!(size + carried <= largest)) return kTapeBoundsInfinity;
    if (carried == 0 && size <= whole && is_whole(v)) return 0;
    return carried + eps * (size + carried) + denormal;
  }
};

/// |a| e where e is 0 counts as 0, infinite a or not.
double scaled(double a, double e) { return e == 0 ? 0 : std::fabs(a) * e; }

bool certain(double ea, double eb) { return ea < kTapeBoundsInfinity && eb < kTapeBoundsInfinity; }

void bound_sum(const TapeInstr& in, Frame& fr, int n, int dst) {
  const Rounding rounding(in.type);
  const double *ea = fr.e(in.a), *eb = fr.e(in.b), *v = fr.f(dst);
  double* e = fr.e(dst);
  for (int i = 0; i < n; ++i) e[i] = rounding(ea[i] + eb[i], v[i], certain(ea[i], eb[i]));
}

/// Lanes of one vector: the most terms that are added to one another before an earlier result is.
/// Fixed by: AVX-512, whose vectors hold 16 lanes of f32.
constexpr double kPrefixTerms = 16;

/// A sum whose terms may be added to one another first: each is rounded log2(kPrefixTerms) times
/// more. As long as all are integers, so are the prefixes; then the first that is none meets them.
void bound_prefix(const TapeInstr& in, Frame& fr, int n, int dst) {
  const Rounding rounding(in.type);
  const double *ea = fr.e(in.a), *eb = fr.e(in.b), *term = fr.f(in.term);
  bound_sum(in, fr, n, dst);
  double* e = fr.e(dst);
  for (int i = 0; i < n; ++i) {
    const double size = std::fabs(term[i]), most = kPrefixTerms * size;
    if (!(size <= std::numeric_limits<double>::max())) continue;
    const bool exact = ea[i] + eb[i] == 0;
    if (exact && most <= rounding.whole && is_whole(size)) {
      fr.largest_whole_term = std::max(fr.largest_whole_term, size);
      continue;
    }
    const double others = exact ? kPrefixTerms * fr.largest_whole_term : 0;
    e[i] += std::log2(kPrefixTerms) * rounding.eps * (size + others);
    if (!(most <= rounding.largest)) e[i] = kTapeBoundsInfinity;
  }
}

/// The same where the earlier result is multiplied: so are neighbouring factors, before they meet
/// it. A term is rounded once a lane on its way through products and sums, by half an epsilon each.
void bound_linear_prefix(const TapeInstr& in, Frame& fr, int n, int dst) {
  const Rounding rounding(in.type);
  const double steps = kPrefixTerms / 2;
  const double *h = fr.f(in.earlier), *a = fr.f(in.factor), *b = fr.f(in.term);
  const double *eh = fr.e(in.earlier), *ea = fr.e(in.factor), *eb = fr.e(in.term);
  bound_sum(in, fr, n, dst);
  const double* v = fr.f(dst);
  double* e = fr.e(dst);
  for (int i = 0; i < n; ++i) {
    const double term = std::fabs(b[i]), factor = std::fabs(a[i]), before = std::fabs(h[i]);
    // Infinite ones stay for good: what a vector makes of them, its later lanes go on from.
    fr.largest_factor = factor + ea[i] >= fr.largest_factor ? factor + ea[i] : fr.largest_factor;
    if (factor != factor) fr.largest_factor = kTapeBoundsInfinity;
    if (!(term + before + factor + std::fabs(v[i]) <= std::numeric_limits<double>::max())) {
      e[i] = kTapeBoundsInfinity;
      continue;
    }
    fr.largest_operand = std::max({fr.largest_operand, term + eb[i], before + eh[i]});
    const double whole = kPrefixTerms * std::max(term, fr.largest_whole_term) + before;
    if (ea[i] + eb[i] + eh[i] == 0 && fr.largest_factor == 1 && is_whole(a[i]) && is_whole(term) &&
        is_whole(before) && whole <= rounding.whole) {
      fr.largest_whole_term = std::max({fr.largest_whole_term, term, before});
      continue;
    }
    const double others = eh[i] == 0 ? kPrefixTerms * fr.largest_whole_term : 0;
    const double product = std::pow(fr.largest_factor, kPrefixTerms - 1);
    const double reach = kPrefixTerms * product * fr.largest_operand;
    e[i] += steps * rounding.eps * (term + factor * (before + others)) + reach * rounding.denormal;
    if (!(2 * reach <= rounding.largest)) e[i] = kTapeBoundsInfinity;
  }
}

void bound_product(const TapeInstr& in, Frame& fr, int n, int dst) {
  const Rounding rounding(in.type);
  const double *a = fr.f(in.a), *b = fr.f(in.b), *v = fr.f(dst);
  const double *ea = fr.e(in.a), *eb = fr.e(in.b);
  double* e = fr.e(dst);
  for (int i = 0; i < n; ++i) {
    double carried = scaled(a[i], eb[i]) + scaled(b[i], ea[i]) + scaled(ea[i], eb[i]);
    // A sum that adds it unrounded tells a product that is an integer only once rounded.
    if (carried == 0 && is_whole(v[i]) && std::fma(a[i], b[i], -v[i]) != 0)
      carried = rounding.denormal;
    // Infinity times what may be zero, or may be of either sign, may be anything.
    const bool vanishes =
        (ea[i] > 0 && std::fabs(a[i]) <= ea[i]) || (eb[i] > 0 && std::fabs(b[i]) <= eb[i]);
    // So is a zero that it makes.
    if (vanishes && v[i] == 0) carried = std::max(carried, rounding.denormal);
    e[i] = rounding(carried, v[i], certain(ea[i], eb[i]) && !vanishes);
  }
}

void bound_quotient(const TapeInstr& in, Frame& fr, int n, int dst) {
  const Rounding rounding(in.type);
  const double *a = fr.f(in.a), *b = fr.f(in.b), *v = fr.f(dst);
  const double *ea = fr.e(in.a), *eb = fr.e(in.b);
  double* e = fr.e(dst);
  for (int i = 0; i < n; ++i) {
    const double room = std::fabs(b[i]) - eb[i];
    // x/0 is infinite of either sign, or NaN where x may be 0.
    const bool may_be_zero = ea[i] > 0 && std::fabs(a[i]) <= ea[i];
    if (!(room > 0) && (eb[i] > 0 || may_be_zero)) {
      e[i] = kTapeBoundsInfinity;
      continue;
    }
    double carried = 0;
    if (ea[i] > 0 || eb[i] > 0) carried = (ea[i] + scaled(v[i], eb[i])) / room;
    if (carried != carried) carried = certain(ea[i], eb[i]) ? 0 : kTapeBoundsInfinity;
    if (may_be_zero && v[i] == 0) carried = std::max(carried, rounding.denormal);
    e[i] = rounding(carried, v[i], certain(ea[i], eb[i]));
  }
}

void bound_extremum(const TapeInstr& in, Frame& fr, int n, int dst) {
  const double *ea = fr.e(in.a), *eb = fr.e(in.b);
  double* e = fr.e(dst);
  for (int i = 0; i < n; ++i) e[i] = std::max(ea[i], eb[i]);
  if (!is_float(in.type)) return;
  // Of 0 and -0 either may come out; whoever divides by it sees the difference.
  const double *a = fr.f(in.a), *b = fr.f(in.b);
  for (int i = 0; i < n; ++i) {
    const bool either = a[i] == 0 && b[i] == 0 && std::signbit(a[i]) != std::signbit(b[i]);
    if (either) e[i] = std::max(e[i], kLeast);
  }
}

/// |f(at) - v|; infinite where one is a number and the other is not.
double change(double at, double v) {
  if (at == v || (at != at && v != v)) return 0;
  const double d = std::fabs(at - v);
  return d == d ? d : kTapeBoundsInfinity;
}

void bound_call(const TapeInstr& in, Frame& fr, int n, int dst) {
  const Rounding rounding(in.type);
  // Functions that are products with the argument, or sums, or take multiples of pi from it.
  const bool absolute =
      in.fn->error == ir::ErrorClass::kAngle || in.fn->error == ir::ErrorClass::kArgument;
  const bool exact = in.fn->error == ir::ErrorClass::kExact;
  const double flushed = in.fn->flushes ? ir::flushed_below(compute_type(in.type)) : 0;
  const bool two = in.b >= 0;
  const double *a = fr.f(in.a), *ea = fr.e(in.a), *v = fr.f(dst);
  const double* b = two ? fr.f(in.b) : nullptr;
  const double* eb = two ? fr.e(in.b) : nullptr;
  double* e = fr.e(dst);
  const auto eval = in.fn->eval;
  for (int i = 0; i < n; ++i) {
    const double y = two ? b[i] : 0;
    const double ey = two ? eb[i] : 0;
    // NaN as well, which no function bounds.
    if (!certain(ea[i], ey) || (in.fn->jumps && in.fn->jumps(a[i], ea[i], y, ey))) {
      e[i] = kTapeBoundsInfinity;
      continue;
    }
    double carried = in.fn->swing && ea[i] > 0 ? in.fn->swing(a[i], ea[i]) : 0;
    for (double x : {a[i] - ea[i], a[i] + ea[i]}) {
      if (ea[i] == 0 && ey == 0) break;
      carried = std::max(carried, change(eval(x, y - ey), v[i]));
      if (ey > 0) carried = std::max(carried, change(eval(x, y + ey), v[i]));
    }
    // Zeros of either sign make such zeros, as in extrema.
    const bool of_zeros = ea[i] + ey > 0 && std::fabs(a[i]) <= ea[i] && std::fabs(y) <= ey;
    if (of_zeros && v[i] == 0) carried = std::max(carried, kLeast);
    if (exact) {
      e[i] = carried;
      continue;
    }
    if (std::fabs(v[i]) < kTapeBoundsInfinity) {
      // f(0) = 0 and f(0) = 1 come out exactly; elsewhere a function is good to 4 units.
      const bool trivial = carried == 0 && a[i] == 0 && (v[i] == 0 || v[i] == 1);
      // Where the argument is uncertain, of the largest that may come out.
      if (!trivial) carried += 7 * rounding.eps * (std::fabs(v[i]) + carried);
      if (absolute && !trivial && a[i] == a[i]) {
        carried += rounding.eps * std::min(std::fabs(a[i]), rounding.largest);
      }
      if ((v[i] != 0 || carried > 0) && std::fabs(v[i]) - carried < flushed) carried += flushed;
    }
    e[i] = rounding(carried, v[i], certain(ea[i], ey) && carried < kTapeBoundsInfinity);
  }
}

void bound_select(const TapeInstr& in, Frame& fr, int n, int dst) {
  const int64_t* c = fr.i(in.a);
  const double *ec = fr.e(in.a), *ea = fr.e(in.b), *eb = fr.e(in.c);
  double* e = fr.e(dst);
  const bool floats = is_float(in.type);
  for (int i = 0; i < n; ++i) {
    e[i] = c[i] ? ea[i] : eb[i];
    if (ec[i] == 0) continue;
    const double gap =
        floats ? change(fr.f(in.b)[i], fr.f(in.c)[i]) : distance_of(fr.i(in.b)[i], fr.i(in.c)[i]);
    e[i] = std::max(ea[i], eb[i]) + gap;
  }
}

void bound_comparison(const TapeInstr& in, Frame& fr, int n, int dst) {
  const double *ea = fr.e(in.a), *eb = fr.e(in.b);
  double* e = fr.e(dst);
  const bool floats = is_float(in.from);
  for (int i = 0; i < n; ++i) {
    e[i] = 0;
    const double reach = ea[i] + eb[i];
    if (reach == 0) continue;
    const double gap = floats ? std::fabs(fr.f(in.a)[i] - fr.f(in.b)[i])
                              : distance_of(fr.i(in.a)[i], fr.i(in.b)[i]);
    if (gap <= reach || !(reach < kTapeBoundsInfinity)) e[i] = kTapeBoundsInfinity;
  }
}

void bound_logic(const TapeInstr& in, Frame& fr, int n, int dst) {
  const int64_t *a = fr.i(in.a), *b = fr.i(in.b);
  const double *ea = fr.e(in.a), *eb = fr.e(in.b);
  double* e = fr.e(dst);
  const int64_t decides = in.op == Op::kOr;
  for (int i = 0; i < n; ++i) {
    const bool settled = (ea[i] == 0 && a[i] == decides) || (eb[i] == 0 && b[i] == decides);
    e[i] = settled ? 0 : std::max(ea[i], eb[i]);
  }
}

/// The bound of a number rounded to the float type `to`; `e` is 0 where both sides round the same
/// exact value.
double bound_narrowed(DType to, double v, double e) {
  if (e == 0 || !(std::fabs(v) < kTapeBoundsInfinity)) return e;
  const double most = largest_of(to);
  // What has no infinities saturates; else it may overflow.
  const bool saturates = to == DType::kF8E4M3 && e < kTapeBoundsInfinity;
  if (!saturates && !(std::fabs(v) + e <= most)) return kTapeBoundsInfinity;
  return e + epsilon_of(to) * std::min(std::fabs(v) + e, most) + denormal_of(to);
}

void bound_cast(const TapeInstr& in, Frame& fr, int n, int dst) {
  const double* ea = fr.e(in.a);
  double* e = fr.e(dst);
  for (int i = 0; i < n; ++i) {
    if (is_float(in.type) && is_float(in.from)) {
      const bool narrows = size_of(in.type) < size_of(in.from);
      const double v = fr.f(in.a)[i];
      e[i] = narrows ? bound_narrowed(in.type, v, ea[i]) : ea[i];
      // Dot products of bf16 take denormals for zero, whatever the caller's MXCSR says.
      if (in.from == DType::kBF16 && std::fabs(v) < 0x1p-126) e[i] += std::fabs(v);
      // f64 may reach fewer bits by way of f32: rounded twice.
      const bool twice = in.from == DType::kF64 && is_narrow_float(in.type);
      if (twice && e[i] == 0 && fr.f(dst)[i] != v) e[i] = epsilon_of(in.type) * std::fabs(v);
    } else if (is_float(in.from)) {
      e[i] = 0;
      if (ea[i] == 0) continue;
      const double v = fr.f(in.a)[i];
      const auto low = static_cast<double>(int_from_float(in.type, v - ea[i]));
      const auto high = static_cast<double>(int_from_float(in.type, v + ea[i]));
      e[i] = ea[i] < kTapeBoundsInfinity ? high - low : kTapeBoundsInfinity;
    } else if (is_float(in.type)) {
      e[i] = bound_narrowed(in.type, static_cast<double>(fr.i(in.a)[i]), ea[i]);
    } else {  // what wraps may come out far away
      const bool wraps = size_of(in.type) < size_of(in.from);
      e[i] = wraps && ea[i] > 0 ? kTapeBoundsInfinity : ea[i];
    }
    if (e[i] != e[i]) e[i] = kTapeBoundsInfinity;
  }
}

/// Integers derived from inexact values: exact in, exact out, else anything, sums apart that do not
/// wrap.
void bound_int(const TapeInstr& in, Frame& fr, int n, int dst) {
  double* e = fr.e(dst);
  const bool additive = in.op == Op::kAdd || in.op == Op::kSub;
  const bool keeps = in.op == Op::kMin || in.op == Op::kMax;
  for (int i = 0; i < n; ++i) {
    const double ea = fr.e(in.a)[i];
    const double eb = in.b >= 0 ? fr.e(in.b)[i] : 0;
    double either = ea + eb;
    if (either > 0 && may_wrap(in.type, fr.i(dst)[i], either)) either = kTapeBoundsInfinity;
    e[i] = either == 0 ? 0 : additive ? either : keeps ? std::max(ea, eb) : kTapeBoundsInfinity;
  }
}

void bound_float(const TapeInstr& in, Frame& fr, int n, int dst) {
  switch (in.op) {
    case Op::kAdd:
    case Op::kSub:
      if (in.factor >= 0) return bound_linear_prefix(in, fr, n, dst);
      if (in.term >= 0) return bound_prefix(in, fr, n, dst);
      return bound_sum(in, fr, n, dst);
    case Op::kMul:
      return bound_product(in, fr, n, dst);
    case Op::kDiv:
      return bound_quotient(in, fr, n, dst);
    case Op::kMin:
    case Op::kMax:
      return bound_extremum(in, fr, n, dst);
    case Op::kCall:
      return bound_call(in, fr, n, dst);
    case Op::kNeg:
      std::copy_n(fr.e(in.a), n, fr.e(dst));
      return;
    default:
      // A float remainder jumps: exact operands give an exact result, others anything.
      for (int i = 0; i < n; ++i) {
        const double slack = 4 * epsilon_of(compute_type(in.type)) * std::fabs(fr.f(in.a)[i]);
        const bool known = fr.e(in.a)[i] + fr.e(in.b)[i] == 0;
        fr.e(dst)[i] = !known ? kTapeBoundsInfinity : slack == slack ? slack : 0;
      }
  }
}

}  // namespace

bool may_wrap(DType type, int64_t v, double e) {
  const double most = std::ldexp(1.0, 8 * size_of(type) - (type == DType::kU8 ? 0 : 1));
  return !(std::fabs(static_cast<double>(v)) + e < most);
}

void bound_instr(const TapeInstr& in, Frame& fr, int n, int dst) {
  if (in.op == Op::kCast) return bound_cast(in, fr, n, dst);
  if (in.op == Op::kSelect) return bound_select(in, fr, n, dst);
  if (in.op == Op::kNot) {
    std::copy_n(fr.e(in.a), n, fr.e(dst));
    return;
  }
  if (in.op == Op::kAnd || in.op == Op::kOr) return bound_logic(in, fr, n, dst);
  if (in.op >= Op::kEq && in.op <= Op::kLe) return bound_comparison(in, fr, n, dst);
  if (is_float(in.type)) return bound_float(in, fr, n, dst);
  bound_int(in, fr, n, dst);
}

}  // namespace hone::jit
