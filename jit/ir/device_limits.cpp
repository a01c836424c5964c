// SPDX-License-Identifier: Apache-2.0
#include "jit/ir/device_limits.h"

namespace hone::ir {
namespace {

/// Fixed by: the unit.
constexpr int64_t kKilo = 1 << 10;

// Fixed by: CUDA.
//   sm  threads blocks registers unit unit  shared       of a block   reserved  multiprocessors
constexpr DeviceLimits kLimits[] = {
    {70, 2048, 32, 65536, 256, 256, 96 * kKilo, 96 * kKilo, 0, 80},
    {75, 1024, 16, 65536, 256, 256, 64 * kKilo, 64 * kKilo, 0, 40},
    {80, 2048, 32, 65536, 256, 128, 164 * kKilo, 163 * kKilo, kKilo, 108},
    {86, 1536, 16, 65536, 256, 128, 100 * kKilo, 99 * kKilo, kKilo, 72},
    {87, 1536, 16, 65536, 256, 128, 164 * kKilo, 163 * kKilo, kKilo, 16},
    {89, 1536, 24, 65536, 256, 128, 100 * kKilo, 99 * kKilo, kKilo, 142},
    {90, 2048, 32, 65536, 256, 128, 228 * kKilo, 227 * kKilo, kKilo, 132},
    {100, 2048, 32, 65536, 256, 128, 228 * kKilo, 227 * kKilo, kKilo, 148},
    {120, 1536, 24, 65536, 256, 128, 100 * kKilo, 99 * kKilo, kKilo, 170},
};

}  // namespace

const DeviceLimits& device_limits(int sm) {
  const DeviceLimits* found = kLimits;
  for (const DeviceLimits& row : kLimits) {
    if (row.sm <= sm) found = &row;
  }
  return *found;
}

int multiprocessors(const Target& target) {
  return target.sms > 0 ? target.sms : device_limits(target.sm).multiprocessors;
}

std::span<const DeviceLimits> all_device_limits() { return kLimits; }

}  // namespace hone::ir
