// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "include/hone/thread_pool.h"
#include "jit/interp/compare.h"
#include "jit/interp/data.h"
#include "ops/op.h"
#include "runtime/worker/candidate.h"
#include "runtime/worker/guarded_call.h"
#include "runtime/worker/guarded_memory.h"

namespace hone::runtime {

/// The tensors of one problem at one choice of its dims, filled with one data set, in guarded
/// memory, with what the definition says of the outputs.
class Fixture {
 public:
  /// Tensor i lies i*stagger bytes from its guard. Fails for want of memory only.
  static Result<Fixture> create(const ops::Problem& problem, std::vector<int64_t> dims,
                                jit::DataSet set, Guard guard, uint64_t seed, size_t stagger = 0);

  /// Evaluates the definition: of every element up to 2^24 scalar operations, else of a sample
  /// with the corners and the edges of tiles in it.
  Result<std::monostate> refer();

  /// Outputs to "unwritten", inout tensors to what they held.
  void reset();
  /// Inputs writable or not.
  void protect_inputs(bool readable_only);

  const ops::Problem& problem() const { return *problem_; }
  const std::vector<int64_t>& dims() const { return dims_; }
  const std::vector<jit::TensorView>& params() const { return params_; }
  const std::vector<double>& scalars() const { return scalars_; }
  const jit::ReferenceOutcome& reference() const { return reference_; }
  Guard guard() const { return guard_; }
  jit::DataSet set() const { return set_; }
  /// Outputs and inout tensors, in the reference's order.
  std::vector<jit::TensorView> outputs() const;
  /// The first parameter whose surroundings were written, or "".
  std::string overwritten() const;
  /// True when the reference covers every element.
  bool whole() const { return whole_; }

 private:
  const ops::Problem* problem_ = nullptr;
  std::vector<int64_t> dims_;
  Guard guard_ = Guard::kAfter;
  jit::DataSet set_ = jit::DataSet::kIntegers;
  bool whole_ = true;
  std::vector<GuardedMemory> memory_;            ///< per parameter
  std::vector<std::vector<uint8_t>> originals_;  ///< of inout parameters
  std::vector<jit::TensorView> params_;
  std::vector<double> scalars_;
  jit::ReferenceOutcome reference_;
};

/// The memory of one candidate's call and its argument slots.
class CallFrame {
 public:
  /// Workspace, scratch and bound buffers for `candidate` on `fixture`, guarded on the fixture's
  /// side and filled with NaN.
  static Result<CallFrame> create(const Candidate& candidate, const Fixture& fixture);

  /// Runs every launch under guard, each range in uneven parts. What it broke, or "".
  std::string run_guarded(GuardedCall& call, const Candidate& candidate);
  /// Packs the constants, unguarded.
  void bind(const Candidate& candidate);
  /// Runs the launches as a kernel does; `pool` for the parallel ones (null: this thread alone).
  void run(const Candidate& candidate, ThreadPool* pool);
  /// The status word after a run: INT64_MAX when fine.
  int64_t status() const { return *status_; }
  /// The first of workspace, scratch and bound buffers whose surroundings were written, or "".
  std::string overwritten() const;

 private:
  int64_t extent(const Candidate& candidate, size_t launch) const;

  std::vector<int64_t> dims_;
  std::unique_ptr<int64_t> status_;
  std::vector<int64_t> slots_;
  GuardedMemory workspace_;
  std::vector<GuardedMemory> scratch_;  ///< per worker
  std::vector<GuardedMemory> bound_;
};

}  // namespace hone::runtime
