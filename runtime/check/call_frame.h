// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "include/hone/thread_pool.h"
#include "runtime/check/candidate.h"
#include "runtime/check/fixture.h"
#include "runtime/check/frame_slots.h"
#include "runtime/check/guarded_call.h"
#include "runtime/check/guarded_memory.h"

namespace hone::runtime {

/// The memory of one candidate's call and its argument slots.
class CallFrame {
 public:
  /// Workspace, scratch and bound buffers for `candidate` on `fixture`, guarded on the fixture's
  /// side and filled with NaN. They are from `pool`, which must outlive the frame.
  static Result<CallFrame> create(const Candidate& candidate, const Fixture& fixture,
                                  GuardedPool& pool);
  CallFrame(CallFrame&&) = default;
  CallFrame& operator=(CallFrame&&) = delete;
  ~CallFrame();

  /// Runs every launch under guard, each range in uneven parts. What it broke, or "".
  std::string run_guarded(GuardedCall& call, const Candidate& candidate);
  /// Processor time of that run, the launches at bind left out.
  double run_us() const { return run_us_; }
  /// Scratch for `workers` threads, which `run` with a pool of that size needs.
  Result<Done> share(int workers);
  /// Packs the constants, unguarded.
  void bind(const Candidate& candidate);
  /// Runs the launches as a kernel does; `pool` for the parallel ones (null: this thread alone),
  /// for all of whose threads there is scratch.
  void run(const Candidate& candidate, ThreadPool* pool);
  /// Where the status word after a run is not what the definition says of the fixture's data: bad
  /// data that is none, or that went unreported. Else "".
  std::string misreported(const Fixture& fixture) const;
  /// The first of workspace, scratch and bound buffers whose surroundings were written, or "".
  std::string overwritten() const;

 private:
  CallFrame(GuardedPool& pool, FrameSlots slots) : pool_(&pool), slots_(std::move(slots)) {}
  int64_t extent(const ir::Launch& launch) const;
  /// The arguments of a launch: at bind, no more than what bind knows.
  const int64_t* slots_of(const ir::Launch& launch) const;

  GuardedPool* pool_;
  double run_us_ = 0;
  std::vector<int64_t> dims_;
  std::unique_ptr<int64_t> status_;
  FrameSlots slots_;
  std::vector<int64_t> bind_slots_;
  GuardedMemory workspace_;
  std::vector<GuardedMemory> scratch_;  ///< per worker
  std::vector<GuardedMemory> bound_;
};

}  // namespace hone::runtime
