// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "runtime/check/candidate.h"
#include "runtime/check/fixture.h"

namespace hone::runtime {

/// `problem` with each fixed dim as small as possible, so that the same loops run, tails included.
/// Every factor of `schedule` leaves the same remainder as before, and fits twice where it did.
/// Nothing where the result is still too large to evaluate, or no smaller than `problem`.
std::optional<ops::Problem> shrunken(const ops::Problem& problem, const std::string& schedule);

/// A kernel of the default schedule, whose results stand for the definition's where that would take
/// too long to evaluate.
class ReferenceKernel {
 public:
  /// Builds it; with `check` also compares every element of a shrunken problem with the definition.
  /// References must outlive it.
  static Result<ReferenceKernel> create(const ops::Problem& problem, const ir::Target& target,
                                        const DevicePlace& place, bool check);

  /// Runs it on `fixture`, holds the result against the definition's sample, and keeps it as what
  /// every element is compared with.
  Result<Done> refer(Fixture& fixture);

 private:
  ReferenceKernel(const ops::Problem& problem, std::string schedule, Candidate candidate,
                  DevicePlace place)
      : problem_(&problem),
        schedule_(std::move(schedule)),
        place_(std::move(place)),
        candidate_(std::move(candidate)) {}
  Result<Done> check_shrunken(const ir::Target& target) const;
  Failure disagrees(const std::string& problem, const std::string& how) const;

  const ops::Problem* problem_;
  std::string schedule_;
  DevicePlace place_;
  Candidate candidate_;
};

}  // namespace hone::runtime
