// SPDX-License-Identifier: Apache-2.0
#include "jit/cuda/report/peaks.h"

#include "jit/ir/device_limits.h"

namespace hone::jit {
namespace {

/// Fixed by: data sheets.
constexpr DevicePeaks kPeaks[] = {
    {70, "V100", 1530, 15.7, 125, 0, 900},        {75, "T4", 1590, 8.1, 65, 130, 320},
    {80, "A100", 1410, 19.5, 312, 624, 2039},     {86, "A10", 1695, 31.2, 125, 250, 600},
    {87, "Orin", 1300, 5.3, 42, 85, 204},         {89, "L40S", 2520, 91.6, 362, 733, 864},
    {90, "H200", 1980, 67, 989, 1979, 4800},      {100, "B200", 1965, 80, 2250, 4500, 8000},
    {120, "RTX 5090", 2407, 105, 419, 838, 1792},
};

}  // namespace

DevicePeaks device_peaks(const ir::Target& target) {
  DevicePeaks out = kPeaks[0];
  for (const DevicePeaks& row : kPeaks) {
    if (row.sm <= target.sm) out = row;
  }
  const int large = ir::device_limits(target.sm).multiprocessors;
  double share = static_cast<double>(ir::multiprocessors(target)) / large;
  if (target.mhz > 0) {
    share *= static_cast<double>(target.mhz) / out.mhz;
    out.mhz = target.mhz;
  }
  out.operations *= share;
  out.tensor_operations *= share;
  out.tensor_integers *= share;
  return out;
}

}  // namespace hone::jit
