// SPDX-License-Identifier: Apache-2.0
#include "jit/cuda/report/peaks.h"

namespace hone::jit {
namespace {

constexpr DevicePeaks kPeaks[] = {
    {70, "V100", 80, 15.7, 125, 900},       {75, "T4", 40, 8.1, 65, 320},
    {80, "A100", 108, 19.5, 312, 2039},     {86, "A10", 72, 31.2, 125, 600},
    {87, "Orin", 16, 5.3, 42, 204},         {89, "L40S", 142, 91.6, 362, 864},
    {90, "H200", 132, 67, 989, 4800},       {100, "B200", 148, 80, 2250, 8000},
    {120, "RTX 5090", 170, 105, 419, 1792},
};

}  // namespace

const DevicePeaks& device_peaks(int sm) {
  const DevicePeaks* found = kPeaks;
  for (const DevicePeaks& row : kPeaks) {
    if (row.sm <= sm) found = &row;
  }
  return *found;
}

}  // namespace hone::jit
