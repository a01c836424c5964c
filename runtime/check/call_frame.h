// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/check/candidate.h"
#include "runtime/check/frame_slots.h"
#include "runtime/check/operands.h"
#include "runtime/machine/evict.h"

namespace hone::runtime {

/// The memory of a candidate's calls beside their operands, and their argument slots: one set for
/// each copy of the operands.
class CallFrame {
 public:
  /// Status word, workspace, scratch and bound buffers at the operands' site, guarded on the
  /// fixture's side and filled with NaNs. Candidate and operands must outlive the frame.
  static Result<CallFrame> create(const Candidate& candidate, const Operands& operands);

  /// Clears the status word, packs the constants of every copy, and waits.
  Result<Done> bind();
  /// Binds, runs the launches on the first copy, waits, and reads the status word. How long the
  /// launches took beside those at bind, as Site::timed says.
  Result<double> call();
  /// Runs the launches `n` times on what `bind` has packed, each time on the next copy. On a device
  /// they are only begun.
  Result<Done> run(int64_t n);
  /// What bind has packed of the parameters marked in `params`, in the first copy.
  std::vector<MemorySpan> packed_of(const std::vector<bool>& params) const;
  /// Where the status word after `call` is not what the definition says of the fixture's data, or
  /// "".
  std::string misreported() const;
  /// The first of workspace, scratch and bound buffers whose surroundings were written, or "".
  Result<std::string> overwritten() const;

 private:
  CallFrame(const Candidate& candidate, const Operands& operands)
      : candidate_(&candidate), operands_(&operands) {}
  Result<void*> take(const char* what, int64_t bytes);
  Result<Done> take_all();
  Result<Done> add_copy(int copy);
  Result<Done> run_all(const std::vector<SiteLaunch>& launches);

  const Candidate* candidate_;
  const Operands* operands_;
  std::vector<std::pair<const char*, std::unique_ptr<Block>>> blocks_;  ///< by what they are
  Block* status_ = nullptr;
  void* workspace_ = nullptr;
  std::vector<void*> scratch_;                    ///< per worker
  std::vector<FrameSlots> slots_;                 ///< per copy
  std::vector<std::vector<int64_t>> bind_slots_;  ///< per copy: no more than what bind knows
  std::vector<std::vector<SiteLaunch>> packs_;    ///< per copy, at bind
  std::vector<std::vector<SiteLaunch>> calls_;    ///< per copy, of a call
  std::vector<MemorySpan> bound_;                 ///< of the first copy, in the nest's order
  int64_t found_ = 0;                             ///< the status word after `call`
};

}  // namespace hone::runtime
