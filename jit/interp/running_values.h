// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "jit/interp/tape.h"
#include "jit/ir/program.h"

namespace hone::jit {

/// The values of a reduction's terms, as long as they are few.
class FewValues {
 public:
  void clear() { count_ = 0; }
  void add(double v) {
    if (count_ > kMost) return;
    for (int k = 0; k < count_; ++k) {
      if (values_[k] == v) return;
    }
    if (count_ < kMost) values_[count_] = v;
    ++count_;
  }
  bool few() const { return count_ <= kMost; }

 private:
  /// Chosen: few enough to look at one by one (not measured).
  static constexpr int kMost = 16;
  int count_ = 0;
  double values_[kMost];
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
  void add_other(const Terms& terms);
  double bound(int lane) const;
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
};

}  // namespace hone::jit
