// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "bench/contender.h"
#include "bench/peer.h"
#include "bench/speed/results.h"
#include "runtime/engine/engine_state.h"
#include "runtime/kernel_check/kernel_call.h"
#include "runtime/measure/bound.h"
#include "runtime/measure/limits.h"
#include "runtime/measure/work.h"

namespace hone::bench {

/// A schedule that may serve a problem, and where it comes from.
struct TunedSchedule {
  std::string text;
  std::string from;
};

/// A kernel of hone's on sets of operands.
struct OwnKernel {
  std::string name;  ///< default or tuned
  std::string from;
  std::shared_ptr<const runtime::KernelState> kernel;
  std::vector<std::unique_ptr<runtime::KernelCall>> calls;  ///< one for each fixture
  std::vector<std::vector<int64_t>> slots;                  ///< of raw calls, for each set
  double error = 0;                                         ///< in units of the reference's bound
  std::string wrong;                                        ///< why results are; empty: right
  int64_t status = 0;                                       ///< of raw calls
};

/// All launches of a call.
struct RawCall {
  std::vector<runtime::RawLaunch> launches;
  void operator()() const {
    for (const runtime::RawLaunch& launch : launches) launch();
  }
};

/// One problem of a row with its operands and kernels.
class SpeedProblem {
 public:
  /// Compiles the default schedule, and the tuned one if there is one, on as many sets of operands
  /// as the row says.
  static Result<std::unique_ptr<SpeedProblem>> create(runtime::EngineState& engine,
                                                      ops::Problem problem,
                                                      const RowOperands& operands,
                                                      const TunedSchedule* tuned);

  /// Compares what the kernels compute with the definition.
  Result<Done> check();
  /// How far the outputs of the first set are from those that were found right, as a share of the
  /// largest element; infinite where they are no numbers, or other integers.
  double apart() const;
  void reset() { fixtures_[0].reset(); }
  /// Contenders that run the kernels; they and this must stay where they are.
  std::vector<Contender> contenders();
  /// The bound, with the footprint of all sets.
  runtime::TimeBound bound(runtime::Limits* limits) const;
  const runtime::Work& work() const { return work_; }

  const ops::Problem& problem() const { return problem_; }
  const std::vector<OperandSet>& sets() const { return sets_; }
  const runtime::Fixture& first() const { return fixtures_[0]; }
  const std::vector<std::unique_ptr<OwnKernel>>& kernels() const { return kernels_; }

 private:
  explicit SpeedProblem(ops::Problem problem) : problem_(std::move(problem)) {}

  Result<Done> make_sets(const RowOperands& operands, const ir::Target& target);
  Result<Done> add_fixture();
  void pack_sets(int64_t count);
  std::vector<RawCall> raw_calls(OwnKernel* own) const;
  Result<Done> add_kernel(std::shared_ptr<const runtime::KernelState> kernel,
                          const std::string& name, const std::string& from);
  Result<Done> check_on(runtime::Fixture& fixture);

  ops::Problem problem_;
  std::vector<int64_t> dims_;
  std::vector<runtime::Fixture> fixtures_;
  std::vector<OperandSet> sets_;         ///< the first lies in the first fixture
  std::unique_ptr<std::byte[]> packed_;  ///< small sets, side by side
  std::vector<std::unique_ptr<OwnKernel>> kernels_;
  runtime::Work work_;
};

}  // namespace hone::bench
