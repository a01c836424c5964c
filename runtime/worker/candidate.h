// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "include/hone/error.h"
#include "jit/code.h"
#include "jit/ir/nest.h"
#include "jit/memory.h"
#include "ops/op.h"
#include "runtime/worker/tile_edges.h"

namespace hone::runtime {

/// The signature of a launch; see ir::Launch.
using LaunchFunction = void (*)(const int64_t* args, int64_t begin, int64_t end, void* scratch);

/// Machine code of one schedule of one problem, ready to be called.
struct Candidate {
  ir::Nest nest;
  jit::Code code;
  jit::ExecutableSpan span;
  std::vector<LaunchFunction> functions;  ///< per launch
  TileEdges edges;                        ///< of the tensors it writes
  double jit_us = 0;                      ///< from schedule text to callable code
};

/// Why a schedule has no machine code: a value, not an error.
struct Refused {
  std::string reason;
};

/// Applies `schedule`, lowers, compiles and publishes. The span belongs to `memory`.
Result<Candidate, Refused> build_candidate(const ops::Problem& problem, const ir::Target& target,
                                           const std::string& schedule,
                                           jit::ExecutableMemory& memory);

}  // namespace hone::runtime
