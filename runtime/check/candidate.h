// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "jit/backend.h"
#include "ops/op.h"
#include "runtime/build/compile.h"
#include "runtime/check/tile_edges.h"
#include "runtime/device/backend.h"

namespace hone::runtime {

/// One schedule of one problem, ready to be called.
struct Candidate {
  std::shared_ptr<const jit::Code> code;
  std::shared_ptr<const jit::Executable> executable;
  TileEdges edges;    ///< of the tensors it writes
  double jit_us = 0;  ///< from schedule text to callable code

  const ir::Nest& nest() const { return code->nest(); }
  /// True where some launch of a call may run on several threads.
  bool parallel() const;
};

/// Applies `schedule`, compiles and loads; the loaded code belongs to the place. The interpreter is
/// no candidate: a program that the target's back end refuses is rejected.
Result<Candidate, ir::Reject> build_candidate(const ops::Problem& problem, const ir::Target& target,
                                              const std::string& schedule, const DevicePlace& place,
                                              const BuildOptions& options = {});

/// Begins to compile a candidate for a GPU, so that it is ready sooner when it is built.
void compile_ahead(const ops::Problem& problem, const ir::Target& target,
                   const std::string& schedule, const DevicePlace& place);

}  // namespace hone::runtime
