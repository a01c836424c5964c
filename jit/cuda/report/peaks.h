// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace hone::jit {

/// What a GPU does at most: the roof under which a kernel runs.
struct DevicePeaks {
  int sm = 0;          ///< compute capability, ten times
  const char* device;  ///< whose figures these are
  int multiprocessors = 0;
  double operations = 0;         ///< f32 operations a second, in 10^12; two of a fused one
  double tensor_operations = 0;  ///< f16 operations of tensor cores a second, in 10^12
  double bandwidth = 0;          ///< of device memory, in 10^9 bytes a second
};

/// Figures of a GPU of compute capability `sm`, as its maker gives them; of one that has no row,
/// those of the nearest row below.
const DevicePeaks& device_peaks(int sm);

}  // namespace hone::jit
