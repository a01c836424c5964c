// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "jit/ir/program.h"
#include "jit/ir/target.h"
#include "schedules/model/model.h"

namespace hone::schedules {

/// What launches of one program take under the steps that rules try: each is lowered and examined
/// once. Copies of loop bodies multiply, so trials end when they have come to many instructions.
class LaunchTrials {
 public:
  /// The work of `launch` in `program` as `steps` have made it, or why there is none: it does not
  /// lower, or enough was tried.
  Result<Work, ir::Reject> work_of(const ir::Program& program, const ir::Target& target,
                                   const std::string& launch, const std::string& steps);
  /// As many more as one derivation may take.
  void extend();

 private:
  /// By the launch and the text of the steps: several stages try the same cuts of the loops around.
  std::map<std::string, Result<Work, ir::Reject>> works_;
  double code_ = 0;  ///< instructions of all that were examined
  double most_ = 0;
};

}  // namespace hone::schedules
