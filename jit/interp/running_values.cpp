// SPDX-License-Identifier: Apache-2.0
#include "jit/interp/running_values.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "jit/interp/scalar.h"

namespace hone::jit {

using ir::Reduce;

namespace {

constexpr double kEndless = std::numeric_limits<double>::infinity();
/// Below, products may become 0. Fixed by: the least normal f32.
constexpr double kLeastFactor = 0x1p-126;

/// The value of an empty reduction of integers or bools.
int64_t empty_int(Reduce reduce, DType type) {
  switch (reduce) {
    case Reduce::kProd:
    case Reduce::kAll:
      return 1;
    case Reduce::kMax:
      return int_from_float(type, -kEndless);
    case Reduce::kMin:
      return int_from_float(type, kEndless);
    default:
      return 0;
  }
}

double empty_float(Reduce reduce) {
  switch (reduce) {
    case Reduce::kProd:
      return 1;
    case Reduce::kMax:
      return -kEndless;
    case Reduce::kMin:
      return kEndless;
    default:
      return 0;
  }
}

double combined(Reduce reduce, double a, double v) {
  switch (reduce) {
    case Reduce::kMax:
      return a > v || a != a ? a : v;
    case Reduce::kMin:
      return a < v || a != a ? a : v;
    default:
      return a * v;
  }
}

int64_t combined(Reduce reduce, DType type, int64_t a, int64_t v) {
  const auto x = static_cast<uint64_t>(a);
  const auto y = static_cast<uint64_t>(v);
  switch (reduce) {
    case Reduce::kSum:
      return wrap_to(type, static_cast<int64_t>(x + y));
    case Reduce::kProd:
      return wrap_to(type, static_cast<int64_t>(x * y));
    case Reduce::kMax:
      return std::max(a, v);
    case Reduce::kMin:
      return std::min(a, v);
    case Reduce::kAny:
      return (a | v) != 0;
    default:
      return a != 0 && v != 0;
  }
}

bool is_integral_value(double v) {
  // Fixed by: the format of f64.
  constexpr double kMagic = 0x1.8p52;
  return (v + kMagic) - kMagic == v;
}

}  // namespace

RunningValues::RunningValues(const ir::Stage& stage, bool bounds, double flushed)
    : reduce_(stage.reduce), type_(stage.accumulate), bounds_(bounds), flushed_(flushed) {}

void RunningValues::start(int n) {
  if (reduce_ == Reduce::kNone) return;
  std::fill_n(f_, n, empty_float(reduce_));
  std::fill_n(i_, n, empty_int(reduce_, type_));
  std::fill_n(lost_, n, 0.0);
  std::fill_n(e_, n, 0.0);
  std::fill_n(size_, n, 0.0);
  std::fill_n(count_, n, int64_t{0});
  std::fill_n(whole_, n, uint8_t{1});
  std::fill_n(small_, n, 1.0);
  std::fill_n(reach_, n, 0.0);
  std::fill_n(nan_, n, uint8_t{0});
  std::fill_n(norm_, n, 0.0);
  std::fill_n(range_, n, 0.0);
  for (int l = 0; l < n; ++l) values_[l].clear();
}

void RunningValues::add(const Terms& terms) {
  if (reduce_ == Reduce::kLast) return take_last(terms);
  if (!is_float(type_)) return add_ints(terms);
  if (reduce_ == Reduce::kSum) return add_sum(terms);
  add_other(terms);
}

void RunningValues::take_last(const Terms& t) {
  for (int l = 0; l < t.n; ++l) {
    const int at = t.at[l];
    (is_float(type_) ? f_[at] = t.f[l] : i_[at] = t.i[l]);
    if (bounds_) e_[at] = t.e[l];
  }
}

void RunningValues::add_ints(const Terms& t) {
  for (int l = 0; l < t.n; ++l) {
    int64_t& a = i_[t.at[l]];
    a = combined(reduce_, type_, a, t.i[l]);
  }
  if (!bounds_) return;
  const bool sums = reduce_ == Reduce::kSum || reduce_ == Reduce::kProd;
  const int64_t decides = reduce_ == Reduce::kAny;
  for (int l = 0; l < t.n; ++l) {
    const int at = t.at[l];
    e_[at] = sums ? e_[at] + t.e[l] : std::max(e_[at], t.e[l]);
    if (t.e[l] == 0 && t.i[l] == decides) size_[at] = 1;
  }
}

/// A sum of f64 keeps what its roundings lose (Neumaier's summation): a kernel is not to answer for
/// the reference's own errors. Sums of shorter types are exact enough in f64.
void RunningValues::add_exactly(int at, double v) {
  const double a = f_[at], sum = a + v;
  lost_[at] += std::fabs(a) >= std::fabs(v) ? (a - sum) + v : (v - sum) + a;
  f_[at] = sum;
}

void RunningValues::add_sum(const Terms& t) {
  if (type_ == DType::kF64) {
    for (int l = 0; l < t.n; ++l) add_exactly(t.at[l], t.f[l]);
  } else {
    for (int l = 0; l < t.n; ++l) f_[t.at[l]] += t.f[l];
  }
  if (!bounds_) return;
  if (!largest_.empty()) {
    add_largest(t);
  } else if (!t.factors.empty()) {
    add_factors(t);
  }
  for (int l = 0; l < t.n; ++l) {
    const int at = t.at[l];
    e_[at] += t.e[l];
    size_[at] += std::fabs(t.f[l]);
    whole_[at] &= t.e[l] == 0 && is_integral_value(t.f[l]);
    values_[at].add(t.f[l]);
    ++count_[at];
  }
}

/// A product of some factors may leave the range that the whole stays in.
void RunningValues::add_factors(const Terms& t) {
  factors_ = true;
  for (int l = 0; l < t.n; ++l) {
    const int at = t.at[l];
    double large = 1, small = 1;
    for (const double* factor : t.factors) {
      const double size = std::fabs(factor[l]);
      nan_[at] |= size != size;
      if (!(size < kEndless)) continue;
      large *= std::max(size, 1.0);
      if (size > 0) small *= std::min(size, 1.0);
    }
    reach_[at] += large;
    small_[at] = std::min(small_[at], small);
  }
}

void RunningValues::add_largest(const Terms& t) {
  for (int l = 0; l < t.n; ++l) {
    // What the sum goes on from has no factors.
    double norm = t.factors.empty() ? std::fabs(t.f[l]) : 1, range = std::max(norm, 1.0);
    for (size_t f = 0; f < t.factors.size(); ++f) {
      const bool own = largest_[f] != largest_[f];
      const double size = own ? std::fabs(t.factors[f][l]) : largest_[f];
      norm *= size;
      range *= std::max(size, 1.0);
    }
    norm_[t.at[l]] += norm;
    range_[t.at[l]] += range;
  }
}

void RunningValues::add_other(const Terms& t) {
  const bool product = reduce_ == Reduce::kProd;
  for (int l = 0; l < t.n; ++l) {
    const int at = t.at[l];
    const double a = f_[at], v = t.f[l];
    f_[at] = combined(reduce_, a, v);
    if (!bounds_) continue;
    const double e = t.e[l];
    if (!product) {
      e_[at] = std::max(e_[at], e);
      // Of 0 and -0 either may come out.
      const bool either = a == 0 && v == 0 && std::signbit(a) != std::signbit(v);
      if (either) e_[at] = std::max(e_[at], std::numeric_limits<double>::denorm_min());
      continue;
    }
    const double rest = e == 0 ? 0 : (std::fabs(a) + e_[at]) * e;
    e_[at] = rest + (e_[at] == 0 ? 0 : std::fabs(v) * e_[at]);
    const double factor = std::fabs(v);
    if (count_[at] == 0) size_[at] = small_[at] = 1;
    if (factor < kEndless) {
      size_[at] *= std::max(factor, 1.0);
      if (factor > 0) small_[at] *= std::min(factor, 1.0);
    }
    whole_[at] &= e == 0 && is_integral_value(v);
    ++count_[at];
  }
}

RunningValues::Result RunningValues::result(int l) const {
  const bool lacks = std::fabs(f_[l]) < kEndless && std::fabs(lost_[l]) > 0;
  return {lacks ? f_[l] + lost_[l] : f_[l], i_[l], bound(l)};
}

/// What combinations of neighbours lose: their errors are those of the largest elements, and grow
/// by the factors that neighbours have.
double RunningValues::bound_normwise(int l, double carried) const {
  // Chosen: four results of three taps grow by 50 at most along one index, and by 2500 along two.
  // Roundings wander, so that it is near the root of that (not measured).
  constexpr double kGrowth = 48;
  const DType type = compute_type(type_);
  if (!(kGrowth * norm_[l] + carried <= largest_of(type))) return kEndless;
  const double steps_taken = std::max(kGrowth, steps(l));
  return carried + steps_taken * epsilon_of(type) * (norm_[l] + carried) +
         kGrowth * flushed_ * range_[l];
}

double RunningValues::bound(int l) const {
  double e = e_[l];
  const bool product = reduce_ == Reduce::kProd;
  const bool rounds = product || reduce_ == Reduce::kSum;
  if (!is_float(type_)) {
    // One certain term decides an `any` or an `all`.
    const bool logic = reduce_ == Reduce::kAny || reduce_ == Reduce::kAll;
    if (logic && size_[l] > 0) e = 0;
    if (product && e > 0) e = kEndless;
    return rounds && e > 0 && may_wrap(type_, i_[l], e) ? kEndless : e;
  }
  if (e != e) e = kEndless;
  if (!rounds) return e;
  if (!largest_.empty()) return bound_normwise(l, e);
  const DType type = compute_type(type_);
  const double eps = epsilon_of(type);
  const double size = product ? std::fabs(f_[l]) : size_[l];
  // In another order a product of some factors may leave the range that the whole stays in.
  const bool endless = !(size < kEndless);
  const bool leaves =
      product && (size_[l] > largest_of(type) || (endless && small_[l] < kLeastFactor));
  if (leaves) return kEndless;
  // Infinite terms of both signs, or times 0, come to NaN. Summed before, their factors may not. An
  // infinite one comes to NaN where the others are so small that their product is 0.
  const bool vanishes = factors_ && small_[l] < kLeastFactor;
  if (factors_ && (reach_[l] > largest_of(type) || (f_[l] != f_[l] && !nan_[l]))) return kEndless;
  if (vanishes && std::fabs(f_[l]) == kEndless) return kEndless;
  // Which class the terms give is certain unless one of them is uncertain.
  if (!(std::fabs(f_[l]) < kEndless)) return e < kEndless ? 0 : kEndless;
  if (size > largest_of(type) || !(e < kEndless)) return kEndless;
  if (whole_[l] && !vanishes && size <= 2 / eps) return e;
  // What a product of some factors loses near 0, the other factors may make larger.
  const double count = static_cast<double>(count_[l]) * (product ? size_[l] : 1);
  return e + steps(l) * eps * (size + e) + flushed_ * (factors_ ? reach_[l] : count);
}

/// Roundings of the whole by which a result may differ. Errors of a sum wander like a random walk.
/// A long sum of terms that have few values rounds each of them the same way again and again. Those
/// roundings are of the running sum, whose mean is half of the final one, and n values' cancel but
/// for one in sqrt(n).
double RunningValues::steps(int l) const {
  // Chosen: up to 16 values may all round one way (not measured).
  constexpr double kDeviations = 2;
  const auto count = static_cast<double>(count_[l]);
  if (reduce_ == Reduce::kProd) return count;
  const int values = values_[l].count();
  const double again =
      values == 0 ? 1.0 / 64 : std::min(0.5, kDeviations / std::sqrt(static_cast<double>(values)));
  return std::max(4 * std::sqrt(count), count * again);
}

}  // namespace hone::jit
