// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "runtime/check/call_frame.h"
#include "runtime/check/fresh_data.h"
#include "runtime/check/reference_kernel.h"
#include "runtime/check/results.h"
#include "runtime/device/compiler.h"

namespace hone::runtime {

/// What a candidate turned out to be.
struct Verdict {
  /// ok, slow, refused, bug (an assertion of hone failed), wrong, nondeterministic, clobbers,
  /// overwrites, faulted (a GPU's context)
  std::string word = "ok";
  std::string note;      ///< details of the verdict
  double median_us = 0;  ///< geometric mean over the dims that the problem should be good at
  std::vector<double> samples_us;
  std::vector<double> points_us;  ///< medians at each of those dims
  bool disturbed = false;         ///< other work took cores from all samples
  double cores = 0;               ///< at work while it was timed
  double max_err = 0;             ///< largest error in units of the reference's bound
  double jit_us = 0;
  jit::Report report;

  /// Sets a verdict other than ok; returns 0, for callers that return a time.
  double fail(std::string what, std::string why) {
    word = std::move(what);
    note = std::move(why);
    return 0;
  }
};

/// How a candidate is timed.
struct Timing {
  int samples = 5;
  double sample_us = 1000;  ///< shortest sample
  double give_up_us = 0;    ///< one sample is enough for candidates slower than this; 0: never
  /// A candidate whose first checked run takes longer than this is `slow`, and that is the end of
  /// it; 0: never.
  double hopeless_us = 0;
  double wait_ms = 0;  ///< a GPU that takes longer has hung; 0: never
  /// Where operands lie on the host: timings of other numbers have them elsewhere.
  int64_t placement = 0;
};

/// A problem opened for trials: data sets, references, and the ways to check and time a candidate.
class Session {
 public:
  /// `problem` and `target` are canonical texts; `gpu` is where candidates run for a target that is
  /// one. `again`: an earlier session has opened this problem, so that what its reference kernel
  /// makes of a shrunken one is known.
  /// `busy` is called now and then while it works.
  static Result<std::unique_ptr<Session>> open(
      const std::string& problem, const std::string& target, int gpu, bool again,
      std::function<void()> busy = [] {});

  /// Builds, checks on every data set, and times. A schedule that has passed is not checked again.
  Verdict try_schedule(const std::string& schedule, const Timing& timing);
  /// Begins to compile a candidate that will be tried; for GPUs, whose compiler is slow.
  void expect(const std::string& schedule) { compile_ahead(*problem_, target_, schedule, place()); }
  /// Builds a candidate that is tried next: what the compiler takes is not the candidate's time.
  void build(const std::string& schedule);
  /// Candidates from now on are made by that back end, not by the target's.
  void use_backend(const jit::Backend* backend) { options_.backend = backend; }
  /// The verdict on machine code with one launch, for tests of the checks themselves.
  Verdict try_code(const std::vector<uint8_t>& bytes);

 private:
  Session() = default;
  Result<Done> prepare(bool again);
  Verdict check(const Candidate& candidate, const Timing& timing);
  Result<Done> find_sites(int gpu);
  DevicePlace place() { return {&memory_, gpu_, compiler_ ? &*compiler_ : nullptr}; }
  double check_runs(const Candidate& candidate, const Fixture& fixture, Results& results,
                    Verdict& verdict);
  double run_checked(CallFrame& frame, Results& results, Verdict& verdict);
  double time(const Candidate& candidate, const Timing& timing, Verdict& verdict);
  std::optional<Samples> time_at(size_t point, CallFrame& frame, bool parallel,
                                 SampleOptions options, Verdict& verdict);
  Result<Done> make_fixtures();
  Result<Done> make_timing_fixtures();
  Result<Done> refer_large(bool again);
  Result<Done> place_operands();
  void place_timed(int64_t placement);
  std::vector<std::vector<int64_t>> points_to_check() const;

  std::function<void()> busy_;
  std::unique_ptr<ops::Problem> problem_;
  ir::Target target_;
  BuildOptions options_;
  jit::ExecutableMemory memory_;
  std::unique_ptr<ThreadPool> pool_;
  std::shared_ptr<Gpu> gpu_;  ///< where candidates run on one
  std::optional<GpuCompiler> compiler_;
  std::shared_ptr<Site> checks_at_, times_at_;
  std::vector<Fixture> fixtures_;                       ///< to check on
  std::vector<Fixture> timing_;                         ///< to time on, on the CPU
  std::optional<BlockCompare> compare_;                 ///< on a GPU
  std::vector<Results> checked_;                        ///< per fixture
  std::vector<Operands> timed_;                         ///< per point to time
  int64_t placement_ = 0;                               ///< of those on the CPU
  std::vector<FreshData> fresh_;                        ///< the same, on the CPU
  std::optional<Result<Candidate, ir::Reject>> built_;  ///< for the next trial,
  std::string built_schedule_;                          ///< of this schedule
  std::unordered_set<std::string> passed_;              ///< schedules
};

}  // namespace hone::runtime
