// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "jit/cuda/source.h"
#include "schedules/schedule.h"
#include "tests/cuda/emulated_code.h"
#include "tests/diff/problems.h"

namespace hone::tests {

/// A GPU that has everything that the printer uses.
ir::Target gpu();

/// The problem of a text.
DiffProblem problem(const std::string& text);

/// The kernels of a problem under a schedule.
struct Printed {
  ir::Nest nest;
  jit::CudaSource source;
};
/// What is printed, or why nothing is.
Result<Printed, std::string> print(const ir::Program& program, const schedules::Schedule& schedule,
                                   const ir::Target& target = gpu());
Result<Printed, std::string> print(const DiffProblem& problem, const schedules::Schedule& schedule,
                                   const ir::Target& target = gpu());

/// What is printed by the default schedule.
Result<Printed, std::string> print_default(const ir::Program& program,
                                           const ir::Target& target = gpu());

/// Problems under schedules, compiled together and checked one after the other. At effort smoke one
/// of six is; the others are printed.
class Batch {
 public:
  /// Takes a candidate in; why it is refused, or "". One that `narrows` drops bits of its inputs,
  /// so that only small integers need come out right.
  std::string add(const DiffProblem& problem, schedules::Schedule schedule, bool narrows = false);
  /// Compiles and runs all of them against the definition.
  void check();

 private:
  struct Candidate {
    const DiffProblem* problem;
    schedules::Schedule schedule;
    ir::Nest nest;
    int source = 0;  ///< among the compiled ones
    bool narrows = false;
  };
  size_t added_ = 0;
  std::vector<Candidate> candidates_;  ///< those that are checked
  EmulatedCode code_;
};

}  // namespace hone::tests
