// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace hone::tests {

/// What the environment asks of the emulated GPU; read whenever cuInit is called.
struct Settings {
  int devices = 1;             ///< HONE_GPU_DEVICES
  std::vector<int> sm{90};     ///< HONE_GPU_SM: of each device, the last for all further ones
  int driver = 13000;          ///< HONE_GPU_DRIVER: 1000 * major + 10 * minor
  size_t memory = 8ull << 30;  ///< HONE_GPU_MEMORY: bytes of each device
  uint64_t seed = 1;           ///< HONE_GPU_SEED: of the order in which independent work runs
  int64_t hang = 0;            ///< HONE_GPU_HANG=N: the Nth launch never ends
  int64_t fault = 0;           ///< HONE_GPU_FAULT=N: the Nth launch touches what is not there
  int64_t ramp = 0;            ///< HONE_GPU_RAMP=N: launch i of the first N waits N - i times 25 us
  bool sticky = false;         ///< HONE_GPU_STICKY=1: a fault outlives its context
  bool idle = false;           ///< HONE_GPU_RUN=0: launches are checked and forgotten
  int taken = -1;              ///< HONE_GPU_TAKEN=N: GPU N is another process's alone
  bool capturing = false;      ///< HONE_GPU_CAPTURING=1: streams say that they are captured
  bool quiet = false;          ///< HONE_GPU_QUIET=1: faults are not told on stderr
  std::string fail;            ///< HONE_GPU_FAIL=FUNCTION:N:CODE: the Nth call gives CODE
};

/// The settings that the environment states now.
Settings settings_of_environment();

}  // namespace hone::tests
