// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "ops/random_maker.h"

namespace hone::ops {

/// Makes a random statement one that goes on from what earlier steps wrote, so that its values stay
/// moderate.
class RandomRecurrence {
 public:
  /// The statement defines `target` over the indices in `scope`.
  RandomRecurrence(ProblemMaker& maker, const RandomTensor& target,
                   const std::vector<RandomIndex>& scope)
      : maker_(maker), target_(target), scope_(scope) {}

  /// `value` and what earlier elements make of it. `before` is a statement that is to stand before
  /// this one, with which it goes on together; or nothing.
  std::string value(std::string value, std::string& before);

 private:
  std::string states(DType stored, std::string value);
  std::string companion(std::string& value);
  std::string chain(std::string& value);
  std::string earlier();
  std::string both(const std::string& value, const std::string& other);

  ProblemMaker& maker_;
  const RandomTensor& target_;
  const std::vector<RandomIndex>& scope_;
};

}  // namespace hone::ops
