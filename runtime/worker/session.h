// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/worker/fixture.h"

namespace hone::runtime {

/// What a candidate turned out to be.
struct Verdict {
  std::string word = "ok";  ///< ok, refused, wrong, nondeterministic, clobbers, overwrites
  std::string note;         ///< what it looked like
  double median_us = 0;     ///< geometric mean over the dims that the problem should be good at
  std::vector<double> samples_us;
  double max_err = 0;  ///< largest error in units of the reference's bound
  double jit_us = 0;
  jit::Report report;
};

/// How a candidate is timed.
struct Timing {
  int samples = 5;
  double sample_us = 1000;  ///< shortest sample
  double give_up_us = 0;    ///< one sample is enough for candidates slower than this; 0: never
};

/// A problem opened for trials: data sets, references, and the ways to check and time a candidate.
class Session {
 public:
  /// `problem` and `target` are canonical texts.
  static Result<std::unique_ptr<Session>> open(const std::string& problem,
                                               const std::string& target);

  /// Builds, checks on every data set, and times.
  Verdict try_schedule(const std::string& schedule, const Timing& timing);
  /// The same for machine code with one launch, for tests of the checks themselves.
  Verdict try_code(const std::vector<uint8_t>& bytes);

 private:
  Session() = default;
  Result<std::monostate> prepare();
  Verdict check(const Candidate& candidate);
  bool check_on(const Candidate& candidate, size_t fixture, Verdict& verdict);
  void compare_whole(size_t fixture, Verdict& verdict);
  std::vector<double> sample(const Candidate& candidate, CallFrame& frame, const Timing& timing);
  void time(const Candidate& candidate, const Timing& timing, Verdict& verdict);
  std::vector<std::vector<int64_t>> dim_points(bool for_timing) const;

  std::unique_ptr<ops::Problem> problem_;
  ir::Target target_;
  jit::ExecutableMemory memory_;
  std::unique_ptr<ThreadPool> pool_;
  std::unique_ptr<GuardedCall> call_;
  std::vector<Fixture> fixtures_;  ///< to check on
  std::vector<Fixture> timing_;    ///< to time on
  /// Per fixture whose reference is a sample: what the default schedule wrote, checked itself.
  std::vector<std::vector<std::vector<uint8_t>>> baseline_;
};

}  // namespace hone::runtime
