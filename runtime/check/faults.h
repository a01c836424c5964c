// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace hone::runtime {

/// Limits of a worker process.
struct WorkerLimits {
  int64_t memory_bytes = 0;  ///< address space; 0: as inherited
};

/// Makes faults of this process a last line on `fd` ("crash signal=SIGSEGV address=...") and its
/// end; ties its life to its parent's; sets the limits. For the worker program only.
void confine_process(int fd, const WorkerLimits& limits);

/// Limits the processor time of what comes next to `seconds` per core of the machine; what came
/// before does not count. Past it is a fault as above.
void limit_cpu(int64_t seconds = 600);

}  // namespace hone::runtime
