// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "jit/ir/build.h"
#include "jit/ir/nest.h"
#include "jit/ir/target.h"

namespace hone::tests {

/// Targets that this machine can run, of avx2 and avx512.
std::vector<ir::Target> runnable_targets();
ir::Target avx2_target();
ir::Target avx512_target();

/// A nest of one launch under construction.
struct NestMaker {
  ir::Nest nest;

  /// A new loop's number.
  int loop(const std::string& name);
  /// A tensor of the call; returns the buffer's number.
  int tensor(const std::string& name, DType type, int64_t elements);
  int tensor(const std::string& name, DType type, ir::Expr elements);
  int worker(const std::string& name, DType type, int64_t elements);
  int registers(const std::string& name, DType type, int64_t elements);
  /// A dim known at the call, and its value in this test.
  ir::Expr dim(const std::string& name, int64_t lo, int64_t hi, int64_t value);
  ir::Expr scalar(const std::string& name, DType type);
  ir::Expr var(int loop) const;
  ir::Expr load(int buffer, ir::Expr offset) const;
  ir::Expr guarded(int buffer, ir::Expr offset, ir::Expr condition, ir::Expr otherwise) const;

  /// A loop from 0 to `extent`.
  ir::StmtRef loop_over(int loop, ir::Mark mark, int64_t extent,
                        std::vector<ir::StmtRef> body) const;
  /// The launch: `range` in [0, extent).
  void launch(int range, ir::Expr extent, std::vector<ir::StmtRef> body);

  std::vector<int64_t> dim_values;
  std::vector<double> scalar_values;
};

/// What the tests of one nest found.
struct NestRun {
  std::string refusal;  ///< why code was not made
  std::string error;    ///< first difference from the executor, or a fault
  std::string lir;
  int inner_spills = 0;
};

/// Compiles `maker.nest` for `target`, runs it on tensors whose end (or start) touches a page that
/// must not be touched, and compares with NestExecutor. `tolerance` is relative to the largest
/// magnitude of a result, for floats; integers and bools agree exactly.
NestRun check_nest(const NestMaker& maker, const ir::Target& target, bool at_start = false,
                   double tolerance = 1e-5, double scale = 1);

}  // namespace hone::tests
