// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>

#include "ops/random_maker.h"

namespace hone::ops {

/// Makes a statement whose elements are told by positions. Some dims have indices of their own.
/// Places along the others are looked up, or reckoned from indices of terms.
class RandomScatter {
 public:
  using Scope = ProblemMaker::Scope;

  /// `scope`: the indices of the target's dims, which are those of the terms beside others after.
  RandomScatter(ProblemMaker& maker, RandomTensor target, Scope scope)
      : maker_(maker), target_(std::move(target)), scope_(std::move(scope)) {}

  /// All of the statement: `Y[B[j0],i1] += value for j0 in 0..D2`.
  std::string statement();

 private:
  void choose_indices();
  std::string position(int dim);
  std::string left();
  std::string value(const std::string& assign);

  ProblemMaker& maker_;
  const RandomTensor target_;
  Scope scope_;
  std::vector<bool> placed_;     ///< per dim: told by a position
  Scope terms_;                  ///< indices that positions name
  Scope all_;                    ///< those that a term's value may name
  std::set<std::string> alone_;  ///< indices that are positions by themselves
  bool skips_ = false;
  bool looked_up_ = false;  ///< tensors bound the indices of terms
};

}  // namespace hone::ops
