// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "jit/ir/program.h"

namespace hone::tests {

/// A problem of the diff suite.
struct DiffProblem {
  std::string op;    ///< what it is a case of
  std::string text;  ///< for the repro line
  ir::Program program;
  std::vector<int64_t> dims;  ///< values of those known at the call
};

/// All problems: programs built by hand, and every small case of the stock library.
std::vector<DiffProblem> diff_problems();

/// Ops whose indices, ranges or dims are hard to see through, and whose plain loops run all the
/// same, since the check takes them.
std::vector<DiffProblem> valid_problems();

}  // namespace hone::tests
