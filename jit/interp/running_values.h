// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "jit/interp/tape.h"
#include "jit/ir/program.h"

namespace hone::jit {

/// About how many values the terms of a reduction have, as long as they are few. Those that are
/// small beside the largest do not count: what rounds is the sum of the others.
class FewValues {
 public:
  void clear() { *this = {}; }
  void add(double v) {
    const double size = std::fabs(v);
    if (size < largest_ / kSmall) return;
    if (size / kSmall > largest_) seen_ = {};
    largest_ = std::max(largest_, size);
    // Fixed by: the golden ratio in 64 bits, as in multiplicative hashing.
    constexpr uint64_t kSpread = 0x9e3779b97f4a7c15;
    const uint64_t hash = (std::bit_cast<uint64_t>(v) * kSpread) >> (64 - kBits);
    seen_[hash / 64] |= uint64_t{1} << (hash % 64);
  }
  /// Not more than there are; 0: many.
  int count() const {
    int set = 0;
    for (const uint64_t word : seen_) set += std::popcount(word);
    return set < kMany ? set : 0;
  }

 private:
  /// Chosen: some hundreds of values are many (not measured).
  static constexpr int kBits = 8, kMany = 224;
  /// Chosen: terms of less add few of the roundings (not measured).
  static constexpr double kSmall = 16;
  double largest_ = 0;
  std::array<uint64_t, (1 << kBits) / 64> seen_{};
};

/// Running values of up to kLanes reductions of a stage, and what bounds their errors.
class RunningValues {
 public:
  /// Terms, a lane each: their values, in `f` or `i` by the type, and their bounds. Term l goes to
  /// reduction `at[l]`.
  struct Terms {
    int n = 0;
    const double* f = nullptr;
    const int64_t* i = nullptr;
    const double* e = nullptr;
    const int* at = nullptr;
    /// The factors that each is the product of, where a kernel may multiply them in another order.
    std::vector<const double*> factors = {};
  };
  /// A reduction's result and the bound of its error.
  struct Result {
    double f = 0;
    int64_t i = 0;
    double e = 0;
  };

  /// `bounds`: errors are wanted. `flushed`: a step of a sum may lose so much by underflow.
  RunningValues(const ir::Stage& stage, bool bounds, double flushed);

  /// Errors of sums are judged beside what the terms would be with the largest elements of the
  /// tensors that they read. `largest`: for each factor of a term; NaN: its own value.
  void judge_normwise(std::vector<double> largest) { largest_ = std::move(largest); }

  /// Begins `n` reductions.
  void start(int n);
  void add(const Terms& terms);
  Result result(int lane) const;

 private:
  void take_last(const Terms& terms);
  void add_ints(const Terms& terms);
  void add_sum(const Terms& terms);
  void add_exactly(int at, double v);
  void add_factors(const Terms& terms);
  void add_largest(const Terms& terms);
  void add_other(const Terms& terms);
  double bound(int lane) const;
  double bound_normwise(int lane, double carried) const;
  double steps(int lane) const;

  ir::Reduce reduce_;
  DType type_;
  bool bounds_;
  double flushed_;
  double f_[kLanes];
  double lost_[kLanes];  ///< what the sum in `f_` lacks
  int64_t i_[kLanes];
  double e_[kLanes];     ///< sum of the terms' bounds (max, min: the largest)
  double size_[kLanes];  ///< sum of abs(term); of products: product of max(1, abs(factor))
  int64_t count_[kLanes];
  double small_[kLanes];      ///< of products: product of min(1, abs(factor)); of sums the least
  double reach_[kLanes];      ///< sum of the terms' products of max(1, abs(factor))
  uint8_t nan_[kLanes];       ///< a factor is NaN
  bool factors_ = false;      ///< there are terms whose factors may be taken in another order
  uint8_t whole_[kLanes];     ///< all terms exact integers so far
  FewValues values_[kLanes];  ///< of a sum's terms
  std::vector<double> largest_;
  double norm_[kLanes];   ///< sum of the terms' products of largest factors
  double range_[kLanes];  ///< sum of the terms' products of max(1, largest factor)
};

}  // namespace hone::jit
