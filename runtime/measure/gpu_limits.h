// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "include/hone/dtype.h"
#include "jit/ir/target.h"
#include "runtime/device/gpu.h"

namespace hone::runtime {

/// 10^9 floating-point operations a second of a GPU's own units, a multiply-add as two, at the
/// clock that the driver tells.
double gpu_gflops(const ir::Target& target, bool doubles);

/// 10^9 operations a second of its tensor cores, for factors of a type.
double gpu_tensor_gflops(const ir::Target& target, DType factors);

/// 10^9 bytes a second that the device copies, reads and writes together, between buffers of
/// `footprint` bytes in all; measured.
Result<double> gpu_copy_gbps(Gpu& gpu, int64_t footprint);

}  // namespace hone::runtime
