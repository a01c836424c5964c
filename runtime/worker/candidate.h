// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "include/hone/error.h"
#include "jit/code.h"
#include "jit/ir/nest.h"
#include "jit/memory.h"
#include "ops/op.h"
#include "runtime/device/compiler.h"
#include "runtime/device/gpu_program.h"
#include "runtime/worker/tile_edges.h"

namespace hone::runtime {

/// The signature of a launch; see ir::Launch.
using LaunchFunction = void (*)(const int64_t* args, int64_t begin, int64_t end, void* scratch);

/// Where candidates become callable: executable memory, or a GPU.
struct CandidatePlace {
  jit::ExecutableMemory* memory = nullptr;
  std::shared_ptr<Gpu> gpu;  ///< null: the CPU
  GpuCompiler* compiler = nullptr;
};

/// Machine code of one schedule of one problem, ready to be called.
struct Candidate {
  ir::Nest nest;
  jit::Code code;
  jit::ExecutableSpan span;
  std::vector<LaunchFunction> functions;      ///< per launch
  std::shared_ptr<const GpuProgram> program;  ///< on a GPU, instead of code, span and functions
  CandidatePlace place;
  TileEdges edges;    ///< of the tensors it writes
  double jit_us = 0;  ///< from schedule text to callable code

  /// True where some launch of a call may run on several threads.
  bool parallel() const {
    return std::any_of(code.launches.begin(), code.launches.end(),
                       [](const jit::CodeLaunch& l) { return l.parallel && !l.at_bind; });
  }
};

/// Why a schedule has no machine code: a value, not an error.
struct Refused {
  std::string reason;
};

/// Applies `schedule`, lowers, compiles and publishes. The span belongs to the place's memory.
Result<Candidate, Refused> build_candidate(const ops::Problem& problem, const ir::Target& target,
                                           const std::string& schedule,
                                           const CandidatePlace& place);

/// Begins to compile a candidate for a GPU, so that it is ready sooner when it is built.
void compile_ahead(const ops::Problem& problem, const ir::Target& target,
                   const std::string& schedule, const CandidatePlace& place);

/// Gives back what a candidate holds of its place.
void release(Candidate& candidate);

}  // namespace hone::runtime
