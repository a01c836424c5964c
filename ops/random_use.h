// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ops/random_maker.h"
#include "ops/syntax.h"

namespace hone::ops {

/// Writes a statement of a random op that uses an op of the library: `t2[u0,u1] = softmax(A1)`, or
/// `_, t2[u0] = add_layernorm(...)`, an op of several results.
class RandomUse {
 public:
  RandomUse(ProblemMaker& maker, RandomTensor& target, bool output, bool several)
      : maker_(maker), target_(target), output_(output), several_(several) {}

  /// Empty where no op that is tried fits the tensors there are.
  std::string statement();

 private:
  bool fits(const Definition& d);
  bool make_results(const Definition& d);
  std::string left_side(const RandomTensor& t);
  bool take(const Argument& a);
  bool matches(const Argument& a, const RandomTensor& t, size_t extra);
  int dim(const std::string& name);

  ProblemMaker& maker_;
  RandomTensor& target_;
  bool output_;
  bool several_;
  std::vector<int> batch_;
  std::map<std::string, int> dims_;
  std::map<std::string, RandomTensor> types_;  ///< of dtype parameters: one that has the type
  std::vector<std::string> args_;
  std::vector<RandomTensor> made_;  ///< of each result
};

}  // namespace hone::ops
