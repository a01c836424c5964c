// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jit/ir/target.h"

namespace hone::jit {

/// What a GPU does at most: the roof under which a kernel runs.
struct DevicePeaks {
  int sm = 0;                    ///< compute capability, ten times
  const char* device;            ///< whose figures these are
  int mhz = 0;                   ///< of the multiprocessors, at most
  double operations = 0;         ///< f32 operations a second, in 10^12; two of a fused one
  double tensor_operations = 0;  ///< f16 operations of tensor cores a second, in 10^12
  double tensor_integers = 0;    ///< those of 8-bit integers; 0: tensor cores have none
  double bandwidth = 0;          ///< of device memory, in 10^9 bytes a second
};

/// Peak figures of a target's GPU, for its number of multiprocessors and its clock. They are the
/// maker's for a GPU of its compute capability, or of the nearest below.
DevicePeaks device_peaks(const ir::Target& target);

}  // namespace hone::jit
