// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace hone {

/// What one kernel takes, in bytes.
struct KernelMemory {
  int64_t code = 0;       ///< machine code, once
  int64_t constants = 0;  ///< what bind packed or copied, once; 0 where nothing is bound
  int64_t workspace = 0;  ///< of a call: what its launches leave for one another
  int64_t worker = 0;     ///< scratch of each worker of a call
  int64_t call = 0;       ///< workspace of a call in all: CallOptions::workspace takes so much
};

/// What an engine takes, in bytes.
struct EngineMemory {
  int64_t used = 0;     ///< workspaces, kept for later calls as well, and bound constants
  int64_t ceiling = 0;  ///< that they may take; see EngineOptions::memory_ceiling
  int64_t code = 0;     ///< machine code of all kernels, on the host
};

}  // namespace hone
