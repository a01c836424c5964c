// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/check/candidate.h"
#include "runtime/check/device_mirror.h"
#include "runtime/check/fixture.h"
#include "runtime/check/frame_slots.h"
#include "runtime/measure/samples.h"

namespace hone::runtime {

/// The memory of a candidate's calls on a GPU, and its argument slots: one set for each copy of the
/// tensors.
class DeviceFrame {
 public:
  /// Workspace and bound buffers, guarded and filled with NaNs. `mirror` must outlive the frame.
  static Result<DeviceFrame> create(const Candidate& candidate, const Fixture& fixture,
                                    const DeviceMirror& mirror);

  /// Packs the constants of every copy, and waits.
  Result<Done> bind(const Candidate& candidate);
  /// Runs the launches on the first copy, waits, and reads the status word. What the device said.
  Result<Done> run(const Candidate& candidate);
  /// What that took on the device's clock, in microseconds.
  double run_us() const { return run_us_; }
  /// Runs the launches `n` times, each time on the next copy; `us` is what that took on the
  /// device's clock.
  Result<Done> run_many(const Candidate& candidate, int64_t n, double* us);
  /// Where the status word after `run` is not what the definition says of the fixture's data, or
  /// "".
  std::string misreported(const Fixture& fixture) const;
  /// The workspace or the bound buffer around which memory was written, or "".
  Result<std::string> overwritten() const;

 private:
  explicit DeviceFrame(std::shared_ptr<Gpu> gpu) : gpu_(std::move(gpu)) {}
  Result<Done> fill(const Candidate& candidate, const Fixture& fixture, const DeviceMirror& mirror);
  Result<Done> enqueue(const Candidate& candidate, size_t copy, bool at_bind);

  std::shared_ptr<Gpu> gpu_;
  std::vector<FrameSlots> slots_;  ///< per copy
  GuardedDeviceMemory status_;
  GuardedDeviceMemory workspace_;
  std::vector<GuardedDeviceMemory> bound_;  ///< of all copies
  int64_t found_ = 0;                       ///< the status word after `run`
  double run_us_ = 0;
};

}  // namespace hone::runtime
