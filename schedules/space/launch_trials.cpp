// SPDX-License-Identifier: Apache-2.0
#include "schedules/space/launch_trials.h"

#include "jit/passes/lower.h"

namespace hone::schedules {
namespace {

/// Instructions that the trials of one derivation may come to.
/// Chosen: two of 151 random problems come to more (not measured).
constexpr double kMostTried = 48'000;

}  // namespace

Result<Work, ir::Reject> LaunchTrials::work_of(const ir::Program& program, const ir::Target& target,
                                               const std::string& launch,
                                               const std::string& steps) {
  std::string key = launch + " " + steps;
  const auto known = works_.find(key);
  if (known != works_.end()) return known->second;
  if (code_ >= most_) return ir::Reject{"enough was tried"};
  const auto nest = jit::lower_launch(program, target, launch);
  Result<Work, ir::Reject> out =
      nest ? Result<Work, ir::Reject>(examine(*nest, target)) : nest.failure();
  if (out) code_ += out->code;
  return works_.emplace(std::move(key), std::move(out)).first->second;
}

void LaunchTrials::extend() { most_ += kMostTried; }

}  // namespace hone::schedules
